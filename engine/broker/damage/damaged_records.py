"""The damaged records that this broker knows of, and who has skipped which of them. Pure.

    config/damagedRecords.json   {"records":[…],"repaired":2}      the rows are those of `record_rows`

A record that the scrub found has no queue yet: its topic is empty. What was skipped stays in the list until
it was redelivered and its part of the log has expired. The list is bounded: the oldest go first, those that
nobody waits for before the others.

Who skipped what belongs to the whole broker group (`skip_exchange`); what is damaged belongs to the disk of
each member. Loop thread only; `now_ms` is an argument."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Iterator
from dataclasses import replace
from typing import Any, Protocol

import orjson

from engine.broker.damage.record_rows import DamagedRecord, Key, Skip, rows_of, to_row
from engine.store.results import Damage

DAMAGE_FILE = "damagedRecords.json"
MAX_RECORDS = 10_000
_NO_QUEUE = ("", -1, -1)
MAX_SKIPS = 1_000
"""Groups that one record remembers."""


WAIT_MS = 15_000
"""How long a read waits for a repair; longer than one attempt takes."""

RepairWait = Callable[[Damage], Awaitable[bool]]
"""Waits for the repair of a damaged record; whether it may be read now."""


def wait_key(damage: Damage) -> Hashable:
    return "damage", damage.commit_log_offset, damage.size


class Repairs(Protocol):
    """Repairs that run beside the reads."""

    def note(self, damage: Damage) -> DamagedRecord: ...

    def is_given_up(self, record: DamagedRecord) -> bool: ...

    def begin(self, record: DamagedRecord) -> object: ...

    async def wait_for_delivery(self, damage: Damage) -> bool: ...


class DamagedRecords:
    def __init__(self) -> None:
        self._records: dict[Key, DamagedRecord] = {}
        self.repaired_count = 0
        """Since the list was begun."""
        self.skipped_since_start = 0
        self.repaired_since_start = 0
        self.revision = 0
        """Changes with every skip and every redelivery."""
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
        """Whoever found it first may not have known its queue: now the record has one."""
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
        """[start, end) of the log is whole again: the records there."""
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
        """Whoever skipped it has got it, for good."""
        skip.redelivered_ms, skip.appended = now_ms, None
        self.revision += 1

    def hear(self, given: DamagedRecord, file: str, *, is_masters: bool) -> bool:
        """Another member's skips of a record; whether they were news. The master's word counts for a slave,
        unless the slave has seen a later skip; a slave can only tell its master of skips that this has not
        got. This member's own copy of the record may be whole: that is yet to be seen."""
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
        """Retention has taken the log up to here: nobody can have these any more."""
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
