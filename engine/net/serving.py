"""The one border where outcomes and errors become replies.

Takes a request, finds its handler, and settles the outcome: at once, or when what it waits for has happened.
A one-way request is never answered, not even on error. Nothing else in the engine catches Exception.
Loop thread only; `in_flight` counts what still waits, for a graceful drain.

A client whose requests wait in great number is not served further meanwhile (`begin_wait`), and what was
waited for is not answered before the client has read what it was sent (`run_step`): a request that waits
costs up to two kilobytes (a long poll a quarter of one), an answer up to four megabytes.
"""

from __future__ import annotations

import asyncio
import errno
import logging
from collections.abc import Callable, Mapping

from engine.errors import EngineError
from engine.net.cold_reads import ColdReads
from engine.net.connection import Connection
from engine.net.outcomes import (
    Announce,
    ColdRead,
    EncodedReply,
    Handler,
    HeldRequest,
    Hold,
    LogWaits,
    Outcome,
    Persist,
    PlainHandler,
    Relay,
    Reply,
    Slices,
    WaitFlush,
    WaitReplicas,
    Waits,
    Work,
)
from engine.protocol.codes import ResponseCode
from engine.protocol.commands import ONEWAY_FLAG, Command, encode_reply

log = logging.getLogger(__name__)

Proceed = Callable[[Callable[[], Outcome]], None]
Authorize = Callable[[Command, Connection], None]
"""Raises if the request may not go on; asked before any handler is."""

MOST_WAITING_OF_CLIENT = 16_384
MOST_WAITING = 16_384
"""Requests that wait in all, long polls apart. Beyond it each client may still have a few."""
FEW_WAITING = 4

_GO_AWAY_ABOVE_VERSION = 475
_END = object()


class _Waiting:
    """A request that waits for something; long polls are `HeldRequest`s."""

    __slots__ = ("_is_costly", "_serving", "_step", "client", "request")

    def __init__(self, serving: Serving, request: Command, client: Connection, is_costly: bool) -> None:
        self._serving = serving
        self._is_costly = is_costly
        self.request = request
        self.client = client
        self._step: Callable[[], Outcome] | None = None

    def proceed(self, step: Callable[[], Outcome]) -> None:
        self._step = step
        self.client.run_step(self._finish, is_costly=self._is_costly)

    def _finish(self) -> None:
        step = self._step
        if step is not None:
            self._step = None
            self._serving.finish(self, step)


class Serving:
    """Call it with (request, connection)."""

    def __init__(
        self,
        handlers: Mapping[int, PlainHandler],
        waits: Waits,
        loop: asyncio.AbstractEventLoop,
        authorize: Authorize | None = None,
    ) -> None:
        self._handlers: Mapping[int, Handler] = handlers
        self._waits = waits
        self._loop = loop
        self._authorize = authorize
        self._cold_reads = ColdReads(loop)
        self._waiting = 0
        self.in_flight = 0
        self.is_draining = False

    def __call__(self, request: Command, client: Connection) -> None:
        if self.is_draining:
            self._settle(request, client, _go_away(request))
            return
        # Written out instead of `_run(lambda: …)`: a closure per request would cost as much as the look-up.
        try:
            if self._authorize is not None:
                self._authorize(request, client)
            outcome = self._handlers.get(request.code, _unsupported)(request, client)
        except Exception as error:
            outcome = _failed(request, client, error)
        if type(outcome) is EncodedReply:
            if not request.flag & ONEWAY_FLAG:
                client.send(outcome)
        elif type(outcome) is Reply:
            if not request.flag & ONEWAY_FLAG:
                client.send(encode_reply(request, outcome))
        else:
            self._settle(request, client, outcome)

    def _run(self, request: Command, client: Connection, step: Callable[[], Outcome]) -> None:
        try:
            outcome = step()
        except Exception as error:
            outcome = _failed(request, client, error)
        self._settle(request, client, outcome)

    def _settle(self, request: Command, client: Connection, outcome: Outcome) -> None:
        if isinstance(outcome, Reply | EncodedReply):
            if not request.flag & ONEWAY_FLAG:
                client.send(encode_reply(request, outcome) if isinstance(outcome, Reply) else outcome)
            return
        self.in_flight += 1
        self._wait(request, client, outcome)

    def _wait(self, request: Command, client: Connection, outcome: Outcome) -> None:
        if isinstance(outcome, WaitFlush | WaitReplicas):
            request.body = b""  # it is stored; only the answer is still to be made
        self._begin_wait(client)
        is_costly = isinstance(outcome, ColdRead | Slices)
        self._start_wait(outcome, client, _Waiting(self, request, client, is_costly))

    def finish(self, waiting: _Waiting, step: Callable[[], Outcome]) -> None:
        """What it waited for has happened, and it is its turn."""
        self.in_flight -= 1
        client = waiting.client
        if not client.is_closed:
            self._run(waiting.request, client, step)
        self._waiting -= 1
        client.end_wait()

    def _begin_wait(self, client: Connection) -> None:
        self._waiting += 1
        own = client.unanswered + 1
        client.begin_wait(
            own >= MOST_WAITING_OF_CLIENT or (own >= FEW_WAITING and self._waiting >= MOST_WAITING)
        )

    def _start_wait(self, outcome: Outcome, client: Connection, waiting: _Waiting) -> None:
        proceed = waiting.proceed
        if isinstance(outcome, Persist):
            self._waits.when_persisted(
                outcome.file, lambda error: proceed(lambda: _persisted(outcome, error))
            )
        elif isinstance(outcome, Relay):
            self._relay(outcome, proceed)
        elif isinstance(outcome, ColdRead):
            self._cold_reads.start(
                client, outcome.read, lambda done: proceed(lambda: outcome.finish(done.result()))
            )
        elif isinstance(outcome, Slices):
            self._loop.call_soon(proceed, lambda: next_step(outcome))

    def _relay(self, relay: Relay, proceed: Proceed) -> None:
        if relay.client.is_closed:
            proceed(lambda: relay.finish(None))
            return
        future = relay.client.start_request(relay.request)
        timer = self._loop.call_later(relay.timeout_ms / 1000.0, future.cancel)

        def answered(done: asyncio.Future[Command]) -> None:
            timer.cancel()
            relay.client.forget(relay.request.opaque)
            answer = None if done.cancelled() or done.exception() is not None else done.result()
            proceed(lambda: relay.finish(answer))

        future.add_done_callback(answered)


class LogServing(Serving):
    """For a daemon with a log: long polls, and answers that wait for the disk or for replicas."""

    def __init__(
        self,
        handlers: Mapping[int, Handler],
        waits: LogWaits,
        loop: asyncio.AbstractEventLoop,
        authorize: Authorize | None = None,
    ) -> None:
        super().__init__({}, waits, loop, authorize)
        self._handlers = handlers
        self._log_waits = waits
        self._works: set[asyncio.Task[Reply]] = set()
        self._finish_poll = self.finish_poll  # one bound method for all of them

    def _wait(self, request: Command, client: Connection, outcome: Outcome) -> None:
        if not isinstance(outcome, Hold):
            super()._wait(request, client, outcome)
            return
        held = HeldRequest(
            outcome.poll,
            client,
            self._finish_poll,
            request.code,
            request.opaque,
            request.flag,
            request.serialize_type,
        )
        self._log_waits.when_woken(held, outcome.timeout_ms)

    def finish_poll(self, held: HeldRequest) -> None:
        """What it waited for is there, or its time is up."""
        self.in_flight -= 1
        if not held.client.is_closed:
            request = Command(held.code, held.opaque, held.flag, serialize_type=held.serialize_type)
            self._run(request, held.client, held.poll.resume)

    def _start_wait(self, outcome: Outcome, client: Connection, waiting: _Waiting) -> None:
        proceed = waiting.proceed
        if isinstance(outcome, WaitFlush):
            self._log_waits.when_flushed(
                outcome.commit_log_offset,
                outcome.timeout_ms,
                lambda ok: proceed(lambda: outcome.reply if ok else outcome.late),
            )
        elif isinstance(outcome, WaitReplicas):
            self._log_waits.when_replicated(
                outcome.commit_log_offset,
                outcome.count,
                outcome.timeout_ms,
                lambda ok: proceed(lambda: outcome.reply if ok else outcome.late),
            )
        elif isinstance(outcome, Announce):
            self._log_waits.when_announced(
                outcome.file, lambda error: proceed(lambda: _persisted(outcome, error))
            )
        elif isinstance(outcome, Work):
            task = self._loop.create_task(outcome.run())
            self._works.add(task)
            task.add_done_callback(self._works.discard)
            task.add_done_callback(lambda done: proceed(done.result))
        else:
            super()._start_wait(outcome, client, waiting)


def _failed(request: Command, client: Connection, error: Exception) -> Reply:
    if isinstance(error, EngineError):
        return Reply(error.code, error.text)
    if isinstance(error, OSError):
        # A failing disk is no bug of ours: one line, and the client is told.
        where = (request.code, request.opaque, client.peer_name)
        log.error("code %d opaque %d from %s failed: %s", *where, error)
        return Reply(ResponseCode.SYSTEM_ERROR, f"the broker's disk failed: {error.strerror or error}")
    log.error(
        "code %d opaque %d from %s failed", request.code, request.opaque, client.peer_name, exc_info=error
    )
    return Reply(ResponseCode.SYSTEM_ERROR, f"{type(error).__name__}: internal error, see the log")


def next_step(slices: Slices) -> Outcome:
    return slices.finish() if next(slices.steps, _END) is _END else slices


def _persisted(outcome: Persist | Announce, error: OSError | None) -> Outcome:
    if error is None:
        return outcome.resume() if outcome.resume is not None else outcome.reply or Reply()
    is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    code = ResponseCode.SERVICE_NOT_AVAILABLE if is_full else ResponseCode.SYSTEM_ERROR
    return Reply(code, f"{outcome.file} could not be written: {error.strerror}")


def _unsupported(request: Command, client: Connection) -> Outcome:
    return Reply(ResponseCode.REQUEST_CODE_NOT_SUPPORTED, f" request type {request.code} not supported")


def _go_away(request: Command) -> Reply:
    """While draining: newer clients know how to move on, older ones retry another broker on 'busy'."""
    if request.version > _GO_AWAY_ABOVE_VERSION:
        return Reply(ResponseCode.GO_AWAY, "the server is shutting down")
    return Reply(ResponseCode.SYSTEM_BUSY, "[REJECTREQUEST]the server is shutting down")
