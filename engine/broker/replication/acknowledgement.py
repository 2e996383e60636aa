"""What an acknowledged send waits for, and how far the log is confirmed. Pure. Loop thread only.

ASYNC_MASTER                    nothing
SYNC_MASTER                     inSyncReplicas members, the master among them (1: nothing, as RocketMQ 5)
  minInSyncReplicas             at least so many; a smaller in-sync set refuses the send with 1
  allAckInSyncStateSet          every member of the in-sync set
and only if the message wants it (waitStoreMsgOK, which is `acks=all` of our producer). A send is refused
before the append; after it, the send waits in `ReplicaWaits` and is answered once: True when its offset was
reached, False when its time is up or this broker is no longer master.

The confirmed offset (Kafka's high watermark) is the end of the log that the in-sync set has.
`ConfirmedOffset` is the only code that moves it; the store shows readers nothing behind it. None: no member
confirms (a master that is alone in its group, or a slave of a plain master), and all of the log may be
read.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from engine.broker.storage.log_events import LogEvents
from engine.errors import Refused
from engine.store.log.replica_log import ReplicaLog

ALL_IN_SYNC = -1
"""A `count` that asks for every member of the set (allAckInSyncStateSet)."""


class Replicas(Protocol):
    """The in-sync set, as far as sends need it."""

    def is_enough(self) -> bool: ...

    def has_slaves(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class AckRule:
    in_sync_replicas: int = 1
    min_in_sync_replicas: int = 1
    all_ack: bool = False

    @property
    def count(self) -> int:
        """How many members must hold the message; ALL_IN_SYNC for the whole set, 1 for the master alone."""
        return ALL_IN_SYNC if self.all_ack else max(self.in_sync_replicas, self.min_in_sync_replicas)

    def check(self, replicas: Replicas | None) -> None:
        """Refuse a send that could not be acknowledged, before it is stored."""
        if self.min_in_sync_replicas > 1 and (replicas is None or not replicas.is_enough()):
            raise Refused(
                f"in-sync replicas not enough: minInSyncReplicas={self.min_in_sync_replicas} are wanted"
            )

    def needs_replicas(self) -> bool:
        return self.count != 1

    def finds_none(self, replicas: Replicas | None) -> bool:
        """Whether no slave is connected that could acknowledge: do not wait, answer 11."""
        return self.needs_replicas() and not self.all_ack and (replicas is None or not replicas.has_slaves())


class _Wait(NamedTuple):
    commit_log_offset: int
    deadline: float
    done: Callable[[bool], None]


class ReplicaWaits:
    def __init__(self) -> None:
        self._rows: dict[int, deque[_Wait]] = {}

    def add(self, count: int, commit_log_offset: int, deadline: float, done: Callable[[bool], None]) -> None:
        self._rows.setdefault(count, deque()).append(_Wait(commit_log_offset, deadline, done))

    def advance(self, confirmed: int, reached: Callable[[int], int]) -> None:
        """`reached(count)` is asked once per row."""
        for count, row in self._rows.items():
            if row:
                offset = confirmed if count == ALL_IN_SYNC else reached(count)
                while row and row[0].commit_log_offset <= offset:
                    row.popleft().done(True)

    def expire(self, now: float) -> None:
        for count, row in list(self._rows.items()):
            late = [wait for wait in row if wait.deadline <= now]
            if late:
                self._rows[count] = deque(wait for wait in row if wait.deadline > now)
            for wait in late:
                wait.done(False)

    def fail_all(self) -> None:
        rows, self._rows = self._rows, {}
        for row in rows.values():
            for wait in row:
                wait.done(False)


@dataclass(eq=False, repr=False)
class ConfirmedOffset:
    replica: ReplicaLog
    events: LogEvents

    @property
    def value(self) -> int | None:
        return self.replica.confirmed_offset

    def move(self, commit_log_offset: int | None) -> None:
        """Also backwards: a role begins with the confirmed offset on this member's disk."""
        self.replica.confirmed_offset = commit_log_offset
        self.events.visible()

    def advance(self, commit_log_offset: int) -> None:
        """To what the master reports, which may arrive late."""
        if commit_log_offset > (self.value or 0):
            self.move(commit_log_offset)
