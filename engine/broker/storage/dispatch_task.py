"""Builds queues and index behind the appends: bounded slices on the loop, never in a second Python thread.

A slice runs soon after an append (or after a flush, when only flushed records may be read) and wakes the long
polls that its messages concern. Between slices the loop serves others.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Container
from dataclasses import dataclass, field

from engine.store.log.message_log import MessageLog
from engine.store.queues.message_queues import MessageQueues
from engine.store.results import Arrival

log = logging.getLogger(__name__)

RECORDS_PER_SLICE = 1024
RETRY_S = 1.0


@dataclass(eq=False, repr=False)
class Dispatching:
    loop: asyncio.AbstractEventLoop
    log: MessageLog
    queues: MessageQueues
    awaited: Container[tuple[str, int]]
    arrived: Callable[[list[Arrival]], None]
    fenced: Callable[[], None]
    _is_scheduled: bool = field(default=False, init=False)
    _is_stopped: bool = field(default=False, init=False)
    _retry: asyncio.TimerHandle | None = field(default=None, init=False)

    def schedule(self) -> None:
        """Cheap and idempotent: call it after every append and every flush."""
        if not self._is_scheduled and not self._is_stopped:
            self._is_scheduled = True
            self.loop.call_soon(self._slice)

    def _slice(self) -> None:
        self._is_scheduled = False
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None
        if self._is_stopped:
            return
        before = self.queues.dispatched_offset
        arrivals = self.queues.dispatch(RECORDS_PER_SLICE, self.awaited)
        if arrivals:
            self.arrived(arrivals)
        if not self.queues.has_undispatched():
            return
        if self.queues.dispatched_offset > before:
            self.schedule()
        elif self.log.is_fenced:
            self._is_stopped = True
            log.critical("the disk failed while queues were written: the store is fenced")
            self.fenced()
        else:
            # The disk is full: the log has the messages, and the queues follow once there is room. (Or a
            # slave's log ends within a record: the next append comes before this.)
            self._retry = self.loop.call_later(RETRY_S, self._slice)

    def finish(self) -> None:
        """Everything that may be read is in the queues; nothing runs afterwards."""
        self._is_stopped = True
        while self.queues.has_undispatched() and self.queues.dispatch(RECORDS_PER_SLICE):
            pass
