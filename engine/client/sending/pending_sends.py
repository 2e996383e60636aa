"""Sends that wait for their answer: one small object each, no task and no timer per message.

A `Send` takes the place of a future in its connection's table of awaited answers, so an answer goes straight
into the caller's future. A refusal or a lost connection goes to its `Deliveries`, at most once per try.
The window counts what is in flight, makes callers wait for room, and ends sends whose time is over: they all
have the same time-out, so the oldest is always at the left. Loop thread only.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.client.messages import SendResult, SendStatus
from engine.client.sending.drafts import Draft
from engine.client.sending.send_plans import SendPlan, SendTarget
from engine.errors import EngineError, PeerTimeout
from engine.net.connection import Connection
from engine.protocol.codes import ResponseCode
from engine.protocol.commands import Command

if TYPE_CHECKING:
    from engine.client.sending.deliveries import Deliveries

STATUS_OF_CODE = {
    int(ResponseCode.SUCCESS): SendStatus.SEND_OK,
    int(ResponseCode.FLUSH_DISK_TIMEOUT): SendStatus.FLUSH_DISK_TIMEOUT,
    int(ResponseCode.FLUSH_SLAVE_TIMEOUT): SendStatus.FLUSH_SLAVE_TIMEOUT,
    int(ResponseCode.SLAVE_NOT_AVAILABLE): SendStatus.SLAVE_NOT_AVAILABLE,
}
"""Codes 10 to 12 are results: the message is stored, its fate elsewhere is not known."""

SWEEP_S = 0.05


class Send:
    """One message (or batch) in flight. `future` belongs to the caller, which may cancel it at any time."""

    __slots__ = (
        "_connection",
        "_opaque",
        "born_ms",
        "deadline",
        "draft",
        "future",
        "is_batch",
        "is_fixed",
        "is_settled",
        "owner",
        "plan",
        "started_at",
        "target",
        "tries",
    )

    def __init__(
        self,
        owner: Deliveries,
        future: asyncio.Future[SendResult],
        draft: Draft,
        plan: SendPlan,
        target: SendTarget,
        born_ms: int,
        deadline: float,
        is_batch: bool,
        is_fixed: bool,
    ) -> None:
        self.owner = owner
        self.future = future
        self.draft = draft
        self.plan = plan
        self.target = target
        self.born_ms = born_ms
        self.deadline = deadline
        self.is_batch = is_batch
        self.is_fixed = is_fixed
        self.is_settled = False
        self.tries = 1
        self._connection: Connection | None = None
        self._opaque = 0

    def start(self, connection: Connection, now: float) -> None:
        """Send a frame that we built ourselves: a header and a future each would cost a fifth of the send."""
        self.started_at = now
        self._connection = connection
        self._opaque = opaque = connection.expect(self)
        connection.send(self.target.frame(self.draft, self.born_ms, opaque, self.is_batch, False))

    def forget(self) -> None:
        """An answer that still comes is no longer ours."""
        if self._connection is not None:
            self._connection.forget(self._opaque)

    def fail(self, error: EngineError) -> None:
        self.is_settled = True
        if not self.future.done():
            self.future.set_exception(error)

    # -- the part of a future that a connection uses --------------------------------------------------------

    def done(self) -> bool:
        return self.is_settled

    def set_result(self, answer: Command) -> None:
        status = STATUS_OF_CODE.get(answer.code)
        if status is None:
            self.owner.on_refusal(self, answer)
            return
        self.is_settled = True
        self.owner.on_answer(self, answer)
        if not self.future.done():
            self.future.set_result(self._result(status, answer.fields))

    def _result(self, status: SendStatus, fields: dict[str, str]) -> SendResult:
        offset = fields.get("queueOffset", "")
        return SendResult(
            status,
            fields.get("batchUniqId") or self.draft.msg_id,
            fields.get("msgId", ""),
            self.target.queue,
            int(offset) if offset.isdecimal() else -1,
            fields.get("transactionId"),
            fields.get("recallHandle"),
        )

    def set_exception(self, error: EngineError) -> None:
        self.owner.on_lost(self, error)


class SendWindow:
    """At most so many sends and bytes in flight; `room` waits, `sweep` ends what took too long."""

    def __init__(self, max_in_flight: int, max_bytes: int) -> None:
        self._max_in_flight = max_in_flight
        self._max_bytes = max_bytes
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._by_deadline: deque[Send] = deque()
        self._idle: asyncio.Future[None] | None = None
        self.in_flight = 0
        self.bytes_in_flight = 0

    @property
    def is_full(self) -> bool:
        return self.in_flight >= self._max_in_flight or self.bytes_in_flight >= self._max_bytes

    async def room(self) -> None:
        while self.is_full:
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            await waiter

    def enter(self, send: Send) -> None:
        self.in_flight += 1
        self.bytes_in_flight += len(send.draft.body)
        self._by_deadline.append(send)

    def leave(self, send: Send) -> None:
        self.in_flight -= 1
        self.bytes_in_flight -= len(send.draft.body)
        waiters = self._waiters
        while waiters and not self.is_full:
            waiter = waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                # Each woken caller takes one place; the rest stay asleep until there is another.
                break
        if not self.in_flight and self._idle is not None and not self._idle.done():
            self._idle.set_result(None)

    async def drained(self) -> None:
        """Wait until nothing is in flight."""
        while self.in_flight:
            self._idle = asyncio.get_running_loop().create_future()
            await self._idle

    def sweep(self, now: float, on_late: Callable[[Send, EngineError], None]) -> None:
        sends = self._by_deadline
        while sends and (sends[0].is_settled or sends[0].deadline <= now):
            send = sends.popleft()
            if not send.is_settled:
                send.forget()
                address = send.target.address
                on_late(
                    send,
                    PeerTimeout(f"{address} did not answer in time; the message may or may not be stored"),
                )
