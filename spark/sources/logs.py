"""The logs that one read is about: from the caller's texts to stores, one of each group, and how far each is
read.

    survey(options)  ->  logs  ->  planned by `planning`, or kept as offsets by a stream

A survey is taken once, on the driver, and travels to the planner as JSON (`pack_logs`), so that every action
on one DataFrame sees the same messages although brokers go on writing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from engine.errors import BadInput
from spark.sources.broker_answers import Asking
from spark.sources.files import File
from spark.sources.readable_end import END_MODES, find_end
from spark.sources.segments import Segment, check_segments
from spark.sources.stores import Store, find_stores, store_texts

__all__ = ["Log", "open_log", "pack_logs", "survey", "unpack_logs"]

DAMAGE = ("fail", "skip")
_COMPARED_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Log:
    """One store, and the part of its log that is read: [start_offset, end_offset), whole records."""

    store: Store
    segments: tuple[Segment, ...]
    end_offset: int
    dispatched_offset: int | None = None
    dispatched_ms: int | None = None
    """Up to where the queues are complete: see `readable_end.End`."""
    due_offset: int | None = None
    """Where the log should end, when its last file was cut."""

    @property
    def start_offset(self) -> int:
        return self.segments[0].base_offset if self.segments else self.end_offset


def survey(options: Mapping[str, str], *, must_be_named: bool = False) -> tuple[Log, ...]:
    """What the options of a read name, looked at now. BadInput or CorruptRecord in one line when it cannot be
    read; with `must_be_named` also when a group's replicas are not called so."""
    mode = (options.get("end") or "auto").lower()
    if mode not in END_MODES:
        raise BadInput(f"no such end: {mode} (there are {', '.join(END_MODES)})")
    is_strict = fails_on_damage(options)
    asking = Asking.read(options)
    stores = find_stores(store_texts(options), options.get("cluster") or "")
    logs = [open_log(store, mode, asking, is_strict=is_strict) for store in stores]
    kept = one_of_each_group(logs)
    if must_be_named and len({log.store.key for log in logs}) > len(kept):
        raise BadInput(
            "a stream knows the replicas of one group by their name: write cluster/broker=PLACE for each of "
            + ", ".join(log.store.place for log in logs)
        )
    return kept


def fails_on_damage(options: Mapping[str, str]) -> bool:
    damage = (options.get("damage") or DAMAGE[0]).lower()
    if damage not in DAMAGE:
        raise BadInput(f"no such damage: {damage} (there are {', '.join(DAMAGE)})")
    return damage == DAMAGE[0]


def open_log(store: Store, mode: str, asking: Asking, *, is_strict: bool) -> Log:
    found = find_end(store, mode, asking, is_strict=is_strict)
    if is_strict:
        check_segments(found.segments)
    end = found.end
    return Log(
        store, found.segments, found.offset, end.dispatched_offset, end.dispatched_ms, found.due_offset
    )


def one_of_each_group(logs: Sequence[Log]) -> tuple[Log, ...]:
    """Of stores that hold the same log, the one that reaches furthest. Two that are called the same must."""
    kept: list[Log] = []
    for log in logs:
        twin = next((number for number, other in enumerate(kept) if _are_one_group(log, other)), None)
        if twin is None:
            kept.append(log)
        elif (log.end_offset, -log.start_offset) > (kept[twin].end_offset, -kept[twin].start_offset):
            kept[twin] = log
    return tuple(kept)


def _are_one_group(log: Log, other: Log) -> bool:
    """A replica's log is its master's byte for byte, and each record holds when, where and by whom it was
    stored: the same bytes at the same place are the same log."""
    is_called_so = log.store.is_named and log.store.key == other.store.key
    bases = {segment.base_offset: segment for segment in other.segments}
    shared = [
        (segment, bases[segment.base_offset]) for segment in log.segments if segment.base_offset in bases
    ]
    for mine, others in shared:
        limit = min(log.end_offset, other.end_offset) - mine.base_offset
        if limit <= 0:
            break
        is_same = _head(mine, limit) == _head(others, limit)
        if is_called_so and not is_same:
            raise BadInput(
                f"{log.store.place} and {other.store.place} are both called {log.store.key}, but they hold "
                "different logs"
            )
        return is_same
    return is_called_so


def _head(segment: Segment, limit: int) -> bytes:
    with File(segment.place) as file:
        return file.read(0, min(limit, _COMPARED_BYTES))


def pack_logs(logs: Sequence[Log]) -> str:
    return json.dumps([asdict(log) for log in logs])


def unpack_logs(text: str) -> tuple[Log, ...]:
    return tuple(
        Log(
            Store(**packed["store"]),
            tuple(Segment(**segment) for segment in packed["segments"]),
            packed["end_offset"],
            packed["dispatched_offset"],
            packed["dispatched_ms"],
            packed["due_offset"],
        )
        for packed in json.loads(text)
    )
