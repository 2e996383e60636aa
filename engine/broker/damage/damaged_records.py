"""The damaged records that this broker knows of, and which group has skipped which of them. Pure.

    config/damagedRecords.json   {"records":[{"offset":1048576,"size":231,"file":"00000000000000000000",
                                  "topic":"Orders","queueId":0,"queueOffset":41,"foundMs":…,"repairedMs":0,
                                  "skips":{"billing":{"atMs":…,"way":"pull","redeliveredMs":0}}}],
                                  "repaired":2}

A record that the scrub found has no queue yet: its topic is empty. What a group skipped stays in the list
until it was redelivered and its part of the log has expired. The list is bounded: the oldest go first, those
that nobody waits for before the others. Loop thread only; `now_ms` is an argument."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from engine.store.results import Damage

DAMAGE_FILE = "damagedRecords.json"
MAX_RECORDS = 10_000
_NO_QUEUE = ("", -1, -1)
MAX_SKIPS = 1_000
"""Groups that one record remembers."""

Key = tuple[str, int, int, int]
"""Topic, queue id, queue offset, commit log offset."""


@dataclass(slots=True)
class Skip:
    at_ms: int
    way: str
    """How the group reads: "pull" or "pop"."""
    redelivered_ms: int = 0


@dataclass(slots=True)
class DamagedRecord:
    damage: Damage
    found_ms: int
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
        """Whether a group has skipped it and has not got it since."""
        return any(not skip.redelivered_ms for skip in self.skips.values())


class DamagedRecords:
    def __init__(self) -> None:
        self._records: dict[Key, DamagedRecord] = {}
        self.repaired_count = 0
        """Since the list was begun."""
        self.skipped_since_start = 0
        self.repaired_since_start = 0
        self._last: dict[str, object] | None = None

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[DamagedRecord]:
        return iter(list(self._records.values()))

    # -- what happens to them -------------------------------------------------------------------------------

    def note(self, damage: Damage, now_ms: int) -> tuple[DamagedRecord, bool]:
        """The record, and whether it was unknown (or thought to be repaired)."""
        key = damage.topic, damage.queue_id, damage.queue_offset, damage.commit_log_offset
        record = self._records.get(key) or self._same_place(damage)
        if record is not None and not record.repaired_ms:
            return record, False
        skips = record.skips if record is not None else {}
        self._make_room()
        self._records[key] = record = DamagedRecord(damage, now_ms, skips=skips)
        return record, True

    def _same_place(self, damage: Damage) -> DamagedRecord | None:
        """Whoever found it first may not have known its queue: now the record has one."""
        offset = damage.commit_log_offset
        if damage.topic:
            record = self._records.pop((*_NO_QUEUE, offset), None)
            if record is None or record.repaired_ms or record.damage.size != damage.size:
                return None
            named = replace(record, damage=damage)
            self._records[named.key] = named
            return named
        same = (record for record in self._records.values() if record.damage.commit_log_offset == offset)
        return next((record for record in same if not record.repaired_ms), None)

    def _make_room(self) -> None:
        while len(self._records) >= MAX_RECORDS:
            settled = (key for key, record in self._records.items() if not record.is_owed)
            del self._records[next(settled, next(iter(self._records)))]

    def skip(self, record: DamagedRecord, group: str, way: str, now_ms: int) -> bool:
        """Whether the group had not skipped it before."""
        known = record.skips.get(group)
        if known is not None and not known.redelivered_ms:
            return False
        if known is None and len(record.skips) >= MAX_SKIPS:
            del record.skips[next(iter(record.skips))]
        record.skips[group] = Skip(now_ms, way)
        self.skipped_since_start += 1
        self._note_last(record, "skipped", now_ms)
        return True

    def repaired(self, start: int, end: int, now_ms: int) -> list[DamagedRecord]:
        """[start, end) of the log is whole again: the records there."""
        found = [
            record
            for record in self._records.values()
            if not record.repaired_ms
            and start <= record.damage.commit_log_offset
            and record.damage.commit_log_offset + record.damage.size <= end
        ]
        for record in found:
            record.repaired_ms = now_ms
        if found:
            self.repaired_count += 1
            self.repaired_since_start += 1
            self._note_last(found[0], "repaired", now_ms)
        return found

    def _note_last(self, record: DamagedRecord, outcome: str, now_ms: int) -> None:
        damage = record.damage
        self._last = {
            "file": damage.file,
            "offset": damage.commit_log_offset,
            "size": damage.size,
            "atMs": now_ms,
            "outcome": outcome,
        }

    def forget_expired(self, log_min_offset: int) -> int:
        """Retention has taken the log up to here: nobody can have these any more."""
        gone = [
            key
            for key, record in self._records.items()
            if 0 <= record.damage.commit_log_offset < log_min_offset
        ]
        for key in gone:
            del self._records[key]
        return len(gone)

    # -- who asks -------------------------------------------------------------------------------------------

    def broken(self) -> list[DamagedRecord]:
        return [record for record in self._records.values() if not record.repaired_ms]

    def owed(self) -> list[DamagedRecord]:
        """Repaired, and not yet redelivered to every group that skipped them."""
        return [record for record in self._records.values() if record.repaired_ms and record.is_owed]

    @property
    def skipped_count(self) -> int:
        """Messages that some group has skipped and not got since."""
        return sum(1 for record in self._records.values() if record.is_owed)

    def section(self) -> dict[str, object] | None:
        """For the collector's snapshot; None while nothing was ever damaged."""
        if not self._records and self._last is None and not self.repaired_count:
            return None
        section: dict[str, object] = {"skipped": self.skipped_count, "repaired": self.repaired_count}
        return section if self._last is None else {**section, "last": self._last}

    # -- on disk and on the wire ----------------------------------------------------------------------------

    def rows(self, group: str | None = None) -> list[dict[str, Any]]:
        """All, or those that the group has skipped."""
        return [
            _to_json(record, group)
            for record in self._records.values()
            if group is None or group in record.skips
        ]

    def snapshot(self) -> dict[str, Any]:
        last = {"last": self._last} if self._last is not None else {}
        return {"records": self.rows(), "repaired": self.repaired_count, **last}

    def load(self, content: Any) -> None:
        """What cannot be read is left out: the list is about messages, it is not one."""
        rows = content.get("records") if isinstance(content, dict) else None
        for row in rows if isinstance(rows, list) else ():
            record = _from_json(row)
            if record is not None and len(self._records) < MAX_RECORDS:
                self._records[record.key] = record
        if isinstance(content, dict):
            repaired, last = content.get("repaired"), content.get("last")
            self.repaired_count = repaired if isinstance(repaired, int) else 0
            self._last = last if isinstance(last, dict) else None


def encode_records(snapshot: dict[str, Any]) -> bytes:
    return orjson.dumps(snapshot, option=orjson.OPT_INDENT_2)


def _to_json(record: DamagedRecord, group: str | None) -> dict[str, Any]:
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


def _from_json(row: Any) -> DamagedRecord | None:
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
        case {"atMs": int(at_ms), "way": "pull" | "pop" as way, "redeliveredMs": int(redelivered_ms)}:
            return Skip(at_ms, way, redelivered_ms)
    return None
