"""Which reign wrote which part of the log, and where two histories part. Pure.

A history is a row of entries with rising epochs and start offsets that never fall; an entry ends where the
next begins, the last one at the log's end. An entry may be empty: it then says that this member knows of the
reign and holds everything that came before it (docs/adr/0008, rule 6). Entries are never dropped with old
segments: they are few, and the oldest are what two histories are compared by.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from engine.errors import CorruptRecord


@dataclass(frozen=True, slots=True)
class Epoch:
    number: int
    reign: int
    start_offset: int


History = tuple[Epoch, ...]


@dataclass(frozen=True, slots=True)
class Parting:
    """Up to `offset` both logs are the same; `shared` are the entries that tell so."""

    offset: int
    shared: History


def log_epoch(history: Sequence[Epoch]) -> int:
    """The epoch of the last entry; 0 for a log that never had a group."""
    return history[-1].number if history else 0


def check_history(history: Sequence[Epoch]) -> History:
    """The same, or CorruptRecord: whoever cannot believe a history must not cut a log by it."""
    for entry in history:
        if entry.number < 1 or entry.reign < 0 or entry.start_offset < 0:
            raise CorruptRecord(f"epoch entry {entry} is impossible")
    for earlier, later in pairwise(history):
        if earlier.number >= later.number or earlier.start_offset > later.start_offset:
            raise CorruptRecord(f"epoch entries {earlier} and {later} are out of order")
    return tuple(history)


def begin(history: History, number: int, reign: int, log_end: int) -> History:
    """A new master's history: its entry starts at its log's end. The very first covers all of the past."""
    start = log_end if history else 0
    return check_history((*history, Epoch(number, reign, start)))


def parting(mine: History, my_end: int, theirs: History, their_end: int) -> Parting:
    """Where a slave must cut its log before it can go on with its master's."""
    count = 0
    for own, other in zip(mine, theirs, strict=False):
        if own != other:
            break
        count += 1
    if count == 0:
        return Parting(0, ())
    ends = _end_of(mine, count, my_end), _end_of(theirs, count, their_end)
    return Parting(min(ends), mine[:count])


def _end_of(history: History, count: int, log_end: int) -> int:
    return history[count].start_offset if count < len(history) else log_end


def reached(shared: History, theirs: History, log_end: int) -> History:
    """The entries of a master's history that a slave holds whose log has come this far."""
    return (*shared, *(entry for entry in theirs[len(shared) :] if entry.start_offset <= log_end))
