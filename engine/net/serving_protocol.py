"""The receiving half of a connection: bytes become requests, requests are served, for a slice at a time.

The receive buffer belongs to the loop and is shared by all connections (only an unfinished frame is copied
aside), so 10,000 idle connections cost no buffers. A read is parsed and served in one go and answered with
one write, but for no longer than a slice (`turns`); what is left waits unparsed. A large frame is received
only when it has its place (`intake`).

A server reads nothing from a peer that has requests waiting, that does not take its answers, or whose large
frame has no place yet (docs/adr/0016). A client never stops reading: two sides that both stopped would wait
for each other for ever. Loop thread only.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import deque
from collections.abc import Callable
from time import perf_counter

from engine.errors import ProtocolError
from engine.net.flow import ConnectionLimits
from engine.net.intake import ReceiveRoom
from engine.net.sending_protocol import (
    FLUSH_BYTES,
    FRAME,
    MEMORY,
    SENDING,
    SERVING,
    STOPS,
    WAITING,
    SendingProtocol,
)
from engine.net.shares import Shares
from engine.net.turns import SLICE_S, SMALL_BYTES, WORTH_NOTING_S, Turns
from engine.protocol.commands import Command
from engine.protocol.frames import FrameParser

log = logging.getLogger(__name__)

_NEVER = float("inf")
_TCP_CLOSE = 7
"""The state of a connection that its peer has reset (tcp_states.h)."""
_STEP_BYTES = 512
"""What a request takes that is held back, about."""
_TAKEN_AT_ONCE = 64
_TAKEN_OFWAITING = 8
"""Requests that are parsed but not served in this turn are parsed again later."""


class ServingProtocol(SendingProtocol):
    __slots__ = (
        "_buffer",
        "_frame_room",
        "_has_noted",
        "_held_back",
        "_held_back_bytes",
        "_is_queued",
        "_parser",
        "_room",
        "last_read_at",
        "read_at",
        "unanswered",
    )

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        buffer: memoryview,
        limits: ConnectionLimits,
        remote: tuple[str, int] | None,
        shares: Shares | None,
    ) -> None:
        super().__init__(loop, limits, remote, shares)
        self._buffer = buffer
        self._room = ReceiveRoom(buffer, len(buffer)) if shares is None else shares.room
        self._parser = FrameParser(limits.frames)
        self._frame_room: memoryview | None = None
        """Where the rest of a large frame goes, while one is being received."""
        self._is_queued = False
        self._has_noted = False
        """Whether what waits to be served is counted in the budget."""
        self._held_back: deque[Callable[[], None]] | None = None
        """Steps that wait until it reads, or for their turn; most connections never have any."""
        self._held_back_bytes = 0
        """What of it is counted in the budget for sending."""
        self.read_at = self.last_read_at = loop.time()
        """When what is being served was read, and when this connection was last read or written before that:
        what a client sends upon our answers has not waited while we made them."""
        self.unanswered = 0
        """Requests that wait for something (`serving`), long polls apart."""

    def _take_command(self, command: Command) -> None:
        """A request or an answer of the peer."""
        raise NotImplementedError

    # -- asyncio calls these --------------------------------------------------------------------------------

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._room.view if self._frame_room is None else self._frame_room

    def buffer_updated(self, nbytes: int) -> None:
        times = self.times
        self.last_read_at = times.last_activity_at
        self.read_at = times.last_activity_at = self._loop.time()
        shares = self._shares
        turns = None if shares is None else shares.turns
        may_serve = not self._pauses and (turns is None or not turns.is_full or turns.may_serve_one(nbytes))
        try:
            if self._frame_room is not None:
                if not self._fill_frame(nbytes):
                    return
            elif may_serve and (command := self._parser.receive_single(self._buffer[:nbytes])) is not None:
                self._serve_single(command, turns)
                return
            else:
                self._parser.feed(self._buffer[:nbytes])
        except ProtocolError as error:
            self._refuse(error)
            return
        if turns is None:
            self._serve_some(_TAKEN_AT_ONCE, _NEVER)
            return
        if not may_serve:
            self._wait_for_turn()
            return
        begun = perf_counter()
        self._serve_some(_TAKEN_AT_ONCE, begun if turns.is_full else begun + SLICE_S)
        turns.spent(perf_counter() - begun)

    def _fill_frame(self, size: int) -> bool:
        """Whether the large frame that is being received is whole now."""
        if not self._parser.fill_frame(size):
            self._frame_room = self._parser.frame_room()
            return False
        self._frame_room = None
        # Its room was filled to the brim, so libuv would read on in this turn of the loop, and a client that
        # asks for what was just acknowledged would be faster than its dispatch, which is due in the next.
        self._pause(FRAME)
        self._loop.call_soon(self._resume, FRAME)
        self._has_noted = self._shares is not None  # it is counted until it is served
        return True

    def _serve_single(self, command: Command, turns: Turns | None) -> None:
        """The everyday case: a read that is one whole request."""
        begun = perf_counter()
        self.times.has_spoken = self._is_reading = True
        try:
            self._take_command(command)
        finally:
            self._is_reading = False
            if self._outbox:
                self._flush()
        if turns is not None:
            turns.spent_s += perf_counter() - begun
            if turns.spent_s >= WORTH_NOTING_S:
                turns.spent(0.0)

    def _serve_some(self, taken_at_once: int, until: float) -> None:
        """Serve the requests that were received, until that time; what is left waits for its turn."""
        parser, take_command, has_taken = self._parser, self._take_command, False
        self._is_reading = True
        try:
            while commands := parser.take(taken_at_once):
                has_taken, served = True, 0
                for command in commands:
                    served += 1
                    take_command(command)
                    if self._outbox_bytes > FLUSH_BYTES:
                        self._flush()
                    if self._pauses & STOPS or perf_counter() >= until:
                        break
                if parser.is_dry and served == len(commands):
                    break
                if self._pauses & STOPS or perf_counter() >= until:
                    parser.untake(served)
                    self._wait_for_turn()
                    return
            wanted_bytes = parser.settle()
        except ProtocolError as error:
            self._refuse(error)
            return
        finally:
            self.times.has_spoken |= has_taken
            self._is_reading = False
            if self._outbox:
                self._flush()
        if wanted_bytes or self._pauses or self._has_noted or self.times.frame_begun_at is not None:
            self._note_unfinished(wanted_bytes, has_taken)

    def _note_unfinished(self, wanted_bytes: int, has_taken: bool) -> None:
        """Everything is served; what is left is an unfinished frame of that size, or nothing (0)."""
        times, shares = self.times, self._shares
        if not wanted_bytes:
            times.frame_begun_at = None
        elif has_taken or times.frame_begun_at is None:
            times.frame_begun_at = self.read_at
        if shares is None or self.is_closed:
            return
        if self._has_noted:
            self._has_noted = False
            shares.intake.give_back(self)
        if wanted_bytes > self._own_bytes:
            self._ask_for_room(shares)
        elif self._pauses & MEMORY:
            shares.intake.give_back(self)
            self._resume(MEMORY)
        if self._pauses & SERVING:
            self._resume(SERVING)

    def _ask_for_room(self, shares: Shares) -> None:
        if self._pauses & MEMORY or self._frame_room is not None:
            return
        if shares.intake.take(self, self._parser.wanted_bytes):
            self._open_frame()
        else:
            self._pause(MEMORY)

    def _open_frame(self) -> None:
        self._parser.open_frame()
        self._frame_room = self._parser.frame_room()

    def _refuse(self, error: ProtocolError) -> None:
        log.info("closing %s:%d: %s", *self.remote, error.text)
        self.close()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._note_held_back()

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_closed = True
        self._transport = None
        self._frame_room = None
        self._parser = FrameParser(self._limits.frames)
        self._outbox.clear()
        while self._held_back:
            self._held_back.popleft()()  # whoever counts what waits learns that it is over
        if self._shares is not None:
            self._shares.intake.give_back(self)
            self._shares.outgo.forget(self)

    # -- what connections share (shares.py) calls these -----------------------------------------------------

    @property
    def frame_progress(self) -> int | None:
        """Bytes received of the frame that it holds; None while it is us who keep it waiting."""
        if self._frame_room is not None:
            return self._parser.partial_bytes
        return 0 if self._pauses & SENDING else None

    def may_receive(self) -> None:
        """The large frame that it waited for has its place."""
        if self._parser.wanted_bytes > self._own_bytes:
            self._open_frame()
        self._resume(MEMORY)

    def serve_waiting(self) -> None:
        """One slice of what waits: first what was held back, then requests."""
        self._is_queued = False
        if self.is_closed or self._pauses & STOPS:
            return
        if self._is_reset():
            self.abort()
            return
        until = perf_counter() + SLICE_S
        while self._held_back:
            self._held_back.popleft()()
            if self._outbox_bytes > FLUSH_BYTES:
                self._flush()
            if self._pauses & STOPS or perf_counter() >= until:
                self._wait_for_turn()
                return
        self._serve_some(_TAKEN_OFWAITING, until)

    # -- serving.py calls these -----------------------------------------------------------------------------

    def run_step(self, step: Callable[[], None], *, is_costly: bool) -> None:
        """The rest of a request that waited for something. It waits on while the peer does not read what it
        was sent before, and a costly one (a read) also for its turn."""
        turns = None if self._shares is None else self._shares.turns
        if turns is None or self.is_closed:
            step()
        elif self._pauses & SENDING or (is_costly and (self._held_back or turns.is_full)):
            self.hold_back(step)
        elif is_costly:
            begun = perf_counter()
            step()
            turns.spent(perf_counter() - begun)
        else:
            step()

    def hold_back(self, step: Callable[[], None]) -> None:
        """For later: when it reads again, or is gone."""
        if self._held_back is None:
            self._held_back = deque()
        self._held_back.append(step)
        self._note_held_back()
        self._wait_for_turn()

    def begin_wait(self, is_too_much: bool) -> None:
        """One more of its requests waits for something; with too many of them no more are served."""
        self.unanswered += 1
        if is_too_much and self._shares is not None:
            self._pause(WAITING)

    def end_wait(self) -> None:
        self.unanswered -= 1
        if self._pauses & WAITING:
            self._pauses &= ~WAITING
            self._go_on()

    # -- inside ---------------------------------------------------------------------------------------------

    def _wait_for_turn(self) -> None:
        """What was received and not served waits; for its turn, or until it may be served at all."""
        shares = self._shares
        if shares is None or self.is_closed:
            return
        waiting = self._parser.waiting_bytes
        if waiting > self._own_bytes:
            self._has_noted = True
            shares.intake.note(self, waiting)
        self._pause(SERVING)
        if not self._pauses & STOPS and not self._is_queued:
            self._is_queued = True
            shares.turns.queue(self, is_small=waiting <= SMALL_BYTES and not self._held_back)

    def _go_on(self) -> None:
        """What kept us from serving it is over."""
        if self._pauses & STOPS:
            return
        self._note_held_back()
        if self._held_back or self._pauses & SERVING:
            self._wait_for_turn()
        self._resume(0)

    def _note_held_back(self) -> None:
        """While the peer does not read, what is held back for it counts like what is to be sent: long polls
        that woke up are no longer counted among those that wait."""
        size = len(self._held_back or ()) * _STEP_BYTES if self._pauses & SENDING else 0
        more, self._held_back_bytes = size - self._held_back_bytes, size
        if self._shares is not None and more > 0:
            self._shares.outgo.hold(self, more)
        elif self._shares is not None and more < 0:
            self._shares.outgo.sent(self, -more)

    def _is_reset(self) -> bool:
        """Whether the peer is gone. While a socket is not read nobody is told, and its requests would be
        served to their end for nobody."""
        sock = None if self._transport is None else self._transport.get_extra_info("socket")
        if sock is None or sock.family not in (socket.AF_INET, socket.AF_INET6):
            return False
        return bool(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == _TCP_CLOSE)
