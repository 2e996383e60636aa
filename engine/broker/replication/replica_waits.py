"""Sends that wait for replicas: for `count` members, or for all of the in-sync set. Loop thread only.

Each is called back once: True when its offset was reached, False when its time is up or this broker is no
longer master. Offsets only grow, so in each row the first to wait is the first to be reached.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

ALL_IN_SYNC = -1
"""A `count` that asks for every member of the set (allAckInSyncStateSet)."""


class _Wait(NamedTuple):
    commit_log_offset: int
    deadline: float
    done: Callable[[bool], None]


class ReplicaWaits:
    def __init__(self) -> None:
        self._rows: dict[int, deque[_Wait]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._rows.values()))

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
