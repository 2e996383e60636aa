"""The history of a log: which epoch wrote which part, and where two logs diverge. Pure.

A history is a row of entries with rising epochs and start offsets that never fall; an entry ends where
the next begins, the last one at the log's end. An entry may be empty: this member then knows of the term
and holds everything that came before it (docs/adr/0008, rule 6). Entries are never dropped with old
segments: they are few, and the oldest are what two histories are compared by.

Two members that copied the same plain master (RocketMQ's own stream) have the same bytes and no epochs.
When one of them becomes master, the other sends a digest of its log's last bytes (`Tail`). Every record
there holds its own offset and times, so equal bytes at equal offsets come from one master. Reading a tail
blocks for a megabyte at most.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from msgspec import Struct

from engine.errors import CorruptRecord
from engine.store.log.message_log import MessageLog
from engine.store.log.replica_log import ReplicaLog

TAIL_BYTES = 1 << 20


class Epoch(Struct, frozen=True, array_like=True):
    """On disk and on the wire an array: [3, 4611686018427387904, 4096]."""

    number: int
    term_id: int
    start_offset: int


History = tuple[Epoch, ...]


@dataclass(frozen=True, slots=True)
class Divergence:
    """Up to `offset` both logs are the same: `shared` are the entries that both have."""

    offset: int
    shared: History


def log_epoch(history: Sequence[Epoch]) -> int:
    """The epoch of the last entry; 0 for a log that never had a group."""
    return history[-1].number if history else 0


def check_history(history: Sequence[Epoch]) -> History:
    """The same, or CorruptRecord: a log must not be cut by an impossible history."""
    for entry in history:
        if entry.number < 1 or entry.term_id < 0 or entry.start_offset < 0:
            raise CorruptRecord(f"epoch entry {entry} is impossible")
    for earlier, later in pairwise(history):
        if earlier.number >= later.number or earlier.start_offset > later.start_offset:
            raise CorruptRecord(f"epoch entries {earlier} and {later} are out of order")
    return tuple(history)


def begin(history: History, number: int, term_id: int, log_end: int) -> History:
    """A new master's history: its entry starts at its log's end. The very first covers all of the past."""
    start = log_end if history else 0
    return check_history((*history, Epoch(number, term_id, start)))


def divergence(mine: History, my_end: int, theirs: History, their_end: int) -> Divergence:
    """Where a slave must cut its log before it can go on with its master's."""
    count = 0
    for own, other in zip(mine, theirs, strict=False):
        if own != other:
            break
        count += 1
    if count == 0:
        return Divergence(0, ())
    ends = _end_of(mine, count, my_end), _end_of(theirs, count, their_end)
    return Divergence(min(ends), mine[:count])


def _end_of(history: History, count: int, log_end: int) -> int:
    return history[count].start_offset if count < len(history) else log_end


def reached(shared: History, theirs: History, log_end: int) -> History:
    """The entries of a master's history that a slave holds whose log ends here."""
    return (*shared, *(entry for entry in theirs[len(shared) :] if entry.start_offset <= log_end))


@dataclass(frozen=True, slots=True)
class Tail:
    """The bytes [start, end) of a commit log, as a digest."""

    start: int
    end: int
    digest: str


def tail_of(log: MessageLog, replica: ReplicaLog) -> Tail | None:
    """Of the complete records; None when there are none."""
    end = replica.whole_end()
    start = max(log.min_offset, end - TAIL_BYTES)
    return Tail(start, end, _digest(replica, start, end)) if start < end else None


def has_tail(log: MessageLog, replica: ReplicaLog, tail: Tail) -> bool:
    if not log.min_offset <= tail.start < tail.end <= log.max_offset:
        return False
    return hmac.compare_digest(_digest(replica, tail.start, tail.end), tail.digest)


def tail_to_json(tail: Tail) -> list[Any]:
    return [tail.start, tail.end, tail.digest]


def tail_from_json(content: Any) -> Tail | None:
    """None for anything else: the peer is then treated like one that sent no tail."""
    match content:
        case [int(start), int(end), str(digest)] if 0 <= start < end <= start + TAIL_BYTES:
            return Tail(start, end, digest)
    return None


def _digest(replica: ReplicaLog, start: int, end: int) -> str:
    digest = hashlib.sha256()
    while start < end:
        piece = replica.read(start, end - start)
        if not piece:
            return ""
        digest.update(piece)
        start += len(piece)
    return digest.hexdigest()
