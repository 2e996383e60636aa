"""Damaged records as JSON: in their file, on the wire, and between members. Pure.

    {"offset":1048576,"size":231,"file":"00000000000000000000","topic":"Orders","queueId":0,"queueOffset":41,
     "foundMs":…,"repairedMs":0,"skips":{"billing":{"atMs":…,"way":"pull","redeliveredMs":0}}}

What cannot be read is left out: the list is about messages, it is not one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import orjson

from engine.store.results import Damage

WAYS = ("pull", "pop", "delay", "timer")
Key = tuple[str, int, int, int]
"""Topic, queue id, queue offset, commit log offset."""


@dataclass(slots=True)
class Skip:
    """Who skipped a record has not got it since, as long as `redelivered_ms` is 0."""

    at_ms: int
    way: str
    """How it was read: "pull" or "pop" by a group, "delay" or "timer" by the delivery to a topic."""
    redelivered_ms: int = 0
    appended: tuple[int, int] | None = None
    """Epoch and commit-log end of the redelivery, until that is kept; not saved, so that a start repeats
    it."""


@dataclass(slots=True)
class DamagedRecord:
    damage: Damage
    found_ms: int
    """0: another member said that it was skipped, and this one has not looked at its own copy yet."""
    repaired_ms: int = 0
    skips: dict[str, Skip] = field(default_factory=dict)
    tried_ms: int = 0
    """When the last attempt at a repair failed; not saved, so that a start tries again."""

    @property
    def key(self) -> Key:
        damage = self.damage
        return damage.topic, damage.queue_id, damage.queue_offset, damage.commit_log_offset

    @property
    def is_owed(self) -> bool:
        """Whether somebody has skipped it and has not got it since."""
        return any(not skip.redelivered_ms for skip in self.skips.values())


def to_row(record: DamagedRecord, group: str | None = None) -> dict[str, Any]:
    """With a group, its skip alone."""
    damage = record.damage
    return {
        "offset": damage.commit_log_offset,
        "size": damage.size,
        "file": damage.file,
        "topic": damage.topic,
        "queueId": damage.queue_id,
        "queueOffset": damage.queue_offset,
        "foundMs": record.found_ms,
        "repairedMs": record.repaired_ms,
        "skips": {
            name: {"atMs": skip.at_ms, "way": skip.way, "redeliveredMs": skip.redelivered_ms}
            for name, skip in record.skips.items()
            if group in (None, name)
        },
    }


def from_row(row: Any) -> DamagedRecord | None:
    match row:
        case {
            "offset": int(offset),
            "size": int(size),
            "file": str(file),
            "topic": str(topic),
            "queueId": int(queue_id),
            "queueOffset": int(queue_offset),
            "foundMs": int(found_ms),
            "repairedMs": int(repaired_ms),
            "skips": dict(skips),
        }:
            damage = Damage(topic, queue_id, queue_offset, offset, size, file)
            read = {str(name): skip for name, value in skips.items() if (skip := _skip(value)) is not None}
            return DamagedRecord(damage, found_ms, repaired_ms, read)
    return None


def _skip(value: Any) -> Skip | None:
    match value:
        case {"atMs": int(at_ms), "way": str(way), "redeliveredMs": int(redelivered_ms)} if way in WAYS:
            return Skip(at_ms, way, redelivered_ms)
    return None


def rows_of(content: Any) -> list[DamagedRecord]:
    rows = content.get("records") if isinstance(content, dict) else None
    read = (from_row(row) for row in (rows if isinstance(rows, list) else ()))
    return [record for record in read if record is not None]


def encode_rows(records: Iterable[DamagedRecord], max_bytes: int) -> bytes:
    """As many as fit, the first ones first."""
    rows: list[bytes] = []
    room = max_bytes
    for record in records:
        row = orjson.dumps(to_row(record))
        room -= len(row) + 1
        if room < 0:
            break
        rows.append(row)
    return b'{"records":[' + b",".join(rows) + b"]}"


def decode_rows(data: bytes) -> list[DamagedRecord] | None:
    """None: this is no list of records."""
    try:
        return rows_of(orjson.loads(data))
    except orjson.JSONDecodeError:
        return None


def describe(damage: Damage) -> str:
    """For the log: where it lies, as far as that is known."""
    where = f"commit-log offset {damage.commit_log_offset} in {damage.file} ({damage.size} bytes)"
    if damage.commit_log_offset < 0:
        where = "an unknown commit-log offset (its queue unit is unreadable)"
    if not damage.topic:
        return f"damaged bytes at {where}"
    return (
        f"damaged record at {where}: queue offset {damage.queue_offset} of {damage.topic}@{damage.queue_id}"
    )
