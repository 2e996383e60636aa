"""The damaged records that this broker knows of, and which groups have skipped them. Pure. Loop thread
only.

    config/damagedRecords.json   {"records":[…],"repaired":2}
    a row, also on the wire      {"offset":1048576,"size":231,"file":"00000000000000000000","topic":"Orders",
                                  "queueId":0,"queueOffset":41,"foundMs":…,"repairedMs":0,
                                  "skips":{"billing":{"atMs":…,"way":"pull","redeliveredMs":0}}}

A row that cannot be read is left out. A record that the scrub found has no queue yet: its topic is empty.
A skipped record stays in the list until it was redelivered and its part of the log has expired. The list
is bounded: records that no group waits for are dropped first, then the oldest.

Which groups skipped what is shared by the broker group (`skip_exchange`); what is damaged is known by
each member for its own disk.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import orjson

from engine.store.results import Damage

DAMAGE_FILE = "damagedRecords.json"
MAX_RECORDS = 10_000
_NO_QUEUE = ("", -1, -1)
MAX_SKIPS = 1_000
"""The most groups that one record lists."""
WAIT_MS = 15_000
"""How long a read waits for a repair; longer than one attempt takes."""
RepairWait = Callable[[Damage], Awaitable[bool]]
"""Waits for the repair of a damaged record; whether it may be read now."""

WAYS = ("pull", "pop", "delay", "timer")
Key = tuple[str, int, int, int]
"""Topic, queue id, queue offset, commit log offset."""


@dataclass(slots=True)
class Skip:
    """The group has not received the record since, as long as `redelivered_ms` is 0."""

    at_ms: int
    way: str
    """How it was read: "pull" or "pop" by a group, "delay" or "timer" by the delivery to a topic."""
    redelivered_ms: int = 0
    appended: tuple[int, int] | None = None
    """Epoch and commit-log end of the redelivery, until that is on disk and confirmed; not saved, so that a
    start repeats it."""


@dataclass(slots=True)
class DamagedRecord:
    damage: Damage
    found_ms: int
    """0: another member reported that it was skipped, and this one has not checked its own copy yet."""
    repaired_ms: int = 0
    skips: dict[str, Skip] = field(default_factory=dict)
    tried_ms: int = 0
    """When the last repair failed; not saved, so that a start tries again."""

    @property
    def key(self) -> Key:
        damage = self.damage
        return damage.topic, damage.queue_id, damage.queue_offset, damage.commit_log_offset

    @property
    def is_owed(self) -> bool:
        """Whether a group has skipped it and has not received it since."""
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
    """As many rows as fit, in order."""
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
    """None: this is not a list of records."""
    try:
        return rows_of(orjson.loads(data))
    except orjson.JSONDecodeError:
        return None


def describe(damage: Damage) -> str:
    """For the log: where it is, as far as that is known."""
    where = f"commit-log offset {damage.commit_log_offset} in {damage.file} ({damage.size} bytes)"
    if damage.commit_log_offset < 0:
        where = "an unknown commit-log offset (its queue unit is unreadable)"
    if not damage.topic:
        return f"damaged bytes at {where}"
    return (
        f"damaged record at {where}: queue offset {damage.queue_offset} of {damage.topic}@{damage.queue_id}"
    )


def wait_key(damage: Damage) -> Hashable:
    return "damage", damage.commit_log_offset, damage.size


class Repairs(Protocol):
    """The repairs, as readers see them."""

    def note(self, damage: Damage) -> DamagedRecord: ...

    def is_given_up(self, record: DamagedRecord) -> bool: ...

    def begin(self, record: DamagedRecord) -> object: ...

    async def wait_for_delivery(self, damage: Damage) -> bool: ...


class DamagedRecords:
    def __init__(self) -> None:
        self._records: dict[Key, DamagedRecord] = {}
        self.repaired_count = 0
        """Since the list was created."""
        self.skipped_since_start = 0
        self.repaired_since_start = 0
        self.revision = 0
        """Grows with every skip and every redelivery."""
        self._last: dict[str, object] | None = None

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[DamagedRecord]:
        return iter(list(self._records.values()))

    # -- what happens to them -------------------------------------------------------------------------------

    def note(self, damage: Damage, now_ms: int) -> tuple[DamagedRecord, bool]:
        """The record, and whether its damage was unknown (or thought to be repaired)."""
        key = damage.topic, damage.queue_id, damage.queue_offset, damage.commit_log_offset
        record = self._records.get(key) or self._same_place(damage)
        if record is not None and not record.repaired_ms:
            is_new = not record.found_ms
            record.found_ms = record.found_ms or now_ms
            return record, is_new
        skips = record.skips if record is not None else {}
        self._make_room()
        self._records[key] = record = DamagedRecord(damage, now_ms, skips=skips)
        return record, True

    def _same_place(self, damage: Damage) -> DamagedRecord | None:
        """The first reader may not have known its queue: now the record has one."""
        offset = damage.commit_log_offset
        if damage.topic:
            record = self._records.get((*_NO_QUEUE, offset))
            if record is None or record.repaired_ms:
                return None
            if record.damage.size != damage.size:
                if not record.skips:
                    del self._records[record.key]
                return None
            del self._records[record.key]
            named = replace(record, damage=damage)
            self._records[named.key] = named
            return named
        same = (record for record in self._records.values() if record.damage.commit_log_offset == offset)
        return next((record for record in same if not record.repaired_ms), None)

    def _make_room(self) -> None:
        while len(self._records) >= MAX_RECORDS:
            settled = (key for key, record in self._records.items() if not record.is_owed)
            del self._records[next(settled, next(iter(self._records)))]
            self.revision += 1

    def skip(self, record: DamagedRecord, group: str, way: str, now_ms: int) -> bool:
        """Whether the group had not skipped it before."""
        known = record.skips.get(group)
        if known is not None and not known.redelivered_ms:
            return False
        if known is None and len(record.skips) >= MAX_SKIPS:
            del record.skips[next(iter(record.skips))]
        record.skips[group] = Skip(now_ms, way)
        self.revision += 1
        self.skipped_since_start += 1
        self._note_last(record, "skipped", now_ms)
        return True

    def repaired(self, start: int, end: int, now_ms: int) -> list[DamagedRecord]:
        """The records in [start, end) of the log, which is sound again."""
        found = [
            record
            for record in self._records.values()
            if not record.repaired_ms
            and start <= record.damage.commit_log_offset
            and record.damage.commit_log_offset + record.damage.size <= end
        ]
        was_damaged = [record for record in found if record.found_ms]
        for record in found:
            record.repaired_ms = now_ms
        if was_damaged:
            self.repaired_count += 1
            self.repaired_since_start += 1
            self._note_last(was_damaged[0], "repaired", now_ms)
        return found

    def redelivered(self, skip: Skip, now_ms: int) -> None:
        """The group that skipped it has it, and keeps it."""
        skip.redelivered_ms, skip.appended = now_ms, None
        self.revision += 1

    def merge(self, given: DamagedRecord, file: str, *, is_masters: bool) -> bool:
        """Merge another member's skips of a record; whether any was new. The master's list counts for a
        slave, unless the slave has a later skip; a slave can only add skips that its master does not have.
        This member's own copy of the record may be sound: it is checked later."""
        damage = given.damage._replace(file=file)
        record = self._records.get(given.key) or self._same_place(damage)
        news = {
            name: skip
            for name, skip in given.skips.items()
            if _is_news(record.skips.get(name) if record is not None else None, skip, is_masters)
        }
        if not news or (record is None and len(self._records) >= MAX_RECORDS):
            return False
        if record is None:
            record = self._records[given.key] = DamagedRecord(damage, found_ms=0)
        for name, skip in news.items():
            if name in record.skips or len(record.skips) < MAX_SKIPS:
                record.skips[name] = Skip(skip.at_ms, skip.way, skip.redelivered_ms if is_masters else 0)
        self.revision += 1
        return True

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
        """Retention has deleted the log up to here: no member can have these any more."""
        gone = [
            key
            for key, record in self._records.items()
            if 0 <= record.damage.commit_log_offset < log_min_offset
        ]
        for key in gone:
            del self._records[key]
            self.revision += 1
        return len(gone)

    # -- who asks -------------------------------------------------------------------------------------------

    def broken(self) -> list[DamagedRecord]:
        """Not repaired yet, and those that this member has not looked at."""
        return [record for record in self._records.values() if not record.repaired_ms]

    def owed(self) -> list[DamagedRecord]:
        """Repaired, and not yet redelivered to every group that skipped them."""
        return [record for record in self._records.values() if record.repaired_ms and record.is_owed]

    def known_count(self) -> int:
        """Damaged here, as far as this member has seen."""
        return sum(1 for record in self._records.values() if record.found_ms and not record.repaired_ms)

    def skips(self) -> Iterator[tuple[Key, str, Skip]]:
        """Every skip: the record, and who has skipped it."""
        for key, record in self._records.items():
            for name, skip in record.skips.items():
                yield key, name, skip

    def section(self, skipped_count: int) -> dict[str, object] | None:
        """For the collector's snapshot; None while nothing was ever damaged here."""
        has_own = any(record.found_ms for record in self._records.values())
        if not (has_own or skipped_count or self.repaired_count) and self._last is None:
            return None
        section: dict[str, object] = {"skipped": skipped_count, "repaired": self.repaired_count}
        return section if self._last is None else {**section, "last": self._last}

    # -- on disk and on the wire ----------------------------------------------------------------------------

    def rows(self, group: str | None = None) -> list[dict[str, Any]]:
        """All, or those that the group has skipped."""
        return [
            to_row(record, group)
            for record in self._records.values()
            if group is None or group in record.skips
        ]

    def snapshot(self) -> dict[str, Any]:
        last = {"last": self._last} if self._last is not None else {}
        return {"records": self.rows(), "repaired": self.repaired_count, **last}

    def load(self, content: Any) -> None:
        for record in rows_of(content)[:MAX_RECORDS]:
            self._records[record.key] = record
        if isinstance(content, dict):
            repaired, last = content.get("repaired"), content.get("last")
            self.repaired_count = repaired if isinstance(repaired, int) else 0
            self._last = last if isinstance(last, dict) else None


def _is_news(known: Skip | None, given: Skip, is_masters: bool) -> bool:
    if known is None:
        return True
    if is_masters:
        same = (known.at_ms, known.redelivered_ms) == (given.at_ms, given.redelivered_ms)
        return not same and given.at_ms >= known.at_ms
    return given.at_ms > known.at_ms


def encode_records(snapshot: dict[str, Any]) -> bytes:
    return orjson.dumps(snapshot, option=orjson.OPT_INDENT_2)
