"""Transactions whose fate is open: which half messages wait, since when, and which are done with.

Pure. One entry per message, however many copies of it the half queue holds; the table is in the order of the
newest copies, so the first entry says from where the half queue must be read after a start. A decision
counts once: whoever comes later, with whichever copy, finds nothing. `unwritten` are the offsets of the half
queue that are decided but not yet in an op message; all of them are written together, so a decision that no
op message holds lies behind those of the turn before. Loop thread only; rebuilt from the log whenever the
broker begins to be master.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from engine.broker.transactions.half_messages import number, origin_of
from engine.protocol.properties import Property


@dataclass(slots=True)
class OpenTransaction:
    """A half message; `queue_offset` and `commit_log_offset` are those of its newest copy."""

    origin: int
    producer_group: str
    born_ms: int
    immunity_ms: int | None
    check_times: int
    queue_offset: int
    commit_log_offset: int
    copies: tuple[int, ...]

    def is_due(self, now_ms: int, timeout_ms: int) -> bool:
        """Old enough to be asked about; a message from the future tells of a wrong clock, not of youth."""
        age_ms = now_ms - self.born_ms
        return age_ms < 0 or age_ms > (timeout_ms if self.immunity_ms is None else self.immunity_ms)


class ReadFrom(NamedTuple):
    """Where a start reads the half queue and the op queue from; right once the log is on disk to the end."""

    half_offset: int
    op_offset: int
    commit_log_end: int


class TransactionTable:
    def __init__(self) -> None:
        self._open: dict[int, OpenTransaction] = {}
        self._ops: deque[tuple[int, int]] = deque()
        """(op queue offset, highest half offset in it), those that a start would still need."""
        self._half_end = 0
        self._op_start = 0
        self.unwritten: list[int] = []

    def __len__(self) -> int:
        return len(self._open)

    def get(self, origin: int) -> OpenTransaction | None:
        return self._open.get(origin)

    def open(self) -> list[OpenTransaction]:
        return list(self._open.values())

    def due(self, now_ms: int, timeout_ms: int) -> list[OpenTransaction]:
        return [entry for entry in self._open.values() if entry.is_due(now_ms, timeout_ms)]

    def note(
        self, properties: Mapping[str, str], born_ms: int, queue_offset: int, commit_log_offset: int
    ) -> OpenTransaction:
        """A half message, or another copy of one, is in the log."""
        origin = origin_of(properties, queue_offset)
        older = self._open.pop(origin, None)
        immunity_s = number(properties, Property.CHECK_IMMUNITY_TIME_IN_SECONDS, -1)
        entry = self._open[origin] = OpenTransaction(
            origin,
            properties.get(Property.PGROUP, ""),
            born_ms,
            immunity_s * 1000 if immunity_s >= 0 else None,
            number(properties, Property.TRANSACTION_CHECK_TIMES, 0),
            queue_offset,
            commit_log_offset,
            (*(older.copies if older is not None else ()), queue_offset),
        )
        self._half_end = max(self._half_end, queue_offset + 1)
        return entry

    def close(self, origin: int) -> bool:
        """It is decided or given up: True for the first who says so."""
        entry = self._open.pop(origin, None)
        if entry is None:
            return False
        self.unwritten += entry.copies
        return True

    # -- op messages ----------------------------------------------------------------------------------------

    def op_written(self, op_queue_offset: int, half_offsets: Iterable[int]) -> None:
        """An op message with these offsets is in the log, so a start will know of them."""
        done = set(half_offsets)
        self.unwritten = [offset for offset in self.unwritten if offset not in done]
        self._ops.append((op_queue_offset, max(done, default=-1)))

    def read_from(self, commit_log_end: int) -> ReadFrom:
        """Everything before these two offsets is done with."""
        first = next(iter(self._open.values()), None)
        half_offset = self._half_end if first is None else first.queue_offset
        half_offset = min([half_offset, *self.unwritten])
        while self._ops and self._ops[0][1] < half_offset:
            self._op_start = self._ops.popleft()[0] + 1
        return ReadFrom(half_offset, self._op_start, commit_log_end)

    # -- after a start --------------------------------------------------------------------------------------

    def start_at(self, half_offset: int, op_offset: int) -> None:
        """Forget everything: the log from these two offsets on is read next."""
        self._open.clear()
        self._ops.clear()
        self.unwritten = []
        self._half_end, self._op_start = half_offset, op_offset

    def skip(self, queue_offset: int, properties: Mapping[str, str]) -> None:
        """A copy that an op message is about: with it all copies are done with."""
        self._half_end = max(self._half_end, queue_offset + 1)
        self._open.pop(origin_of(properties, queue_offset), None)
