"""Whether two logs without a common history are the same: by the last bytes of the shorter one.

Two members that copied the same plain master (RocketMQ's own stream) have the same bytes and no epochs. When
one of them becomes master, the other shows how its log ends; every record there holds its own offset and
times, so equal bytes at equal offsets come from one master. Blocks for a megabyte at most.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from typing import Any

from engine.store.message_store import MessageStore

TAIL_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Tail:
    """The bytes [start, end) of a commit log, as a digest."""

    start: int
    end: int
    digest: str


def tail_of(store: MessageStore) -> Tail | None:
    """Of the whole records; None when there are none."""
    end = store.replica.whole_end()
    start = max(store.log.min_offset, end - TAIL_BYTES)
    return Tail(start, end, _digest(store, start, end)) if start < end else None


def has_tail(store: MessageStore, tail: Tail) -> bool:
    if not store.log.min_offset <= tail.start < tail.end <= store.log.max_offset:
        return False
    return hmac.compare_digest(_digest(store, tail.start, tail.end), tail.digest)


def tail_to_json(tail: Tail) -> list[Any]:
    return [tail.start, tail.end, tail.digest]


def tail_from_json(content: Any) -> Tail | None:
    """None for what is not one: who shows nothing gets nothing."""
    match content:
        case [int(start), int(end), str(digest)] if 0 <= start < end <= start + TAIL_BYTES:
            return Tail(start, end, digest)
    return None


def _digest(store: MessageStore, start: int, end: int) -> str:
    digest = hashlib.sha256()
    while start < end:
        piece = store.replica.read(start, end - start)
        if not piece:
            return ""
        digest.update(piece)
        start += len(piece)
    return digest.hexdigest()
