"""Stores as a broker lays them out, but with segments of a few kilobytes, so that every border is met.

Real brokers write those of the integration tests; here the bytes are made by the same formats, and what was
written is known record by record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.protocol.layouts.checkpoints import Checkpoint, DurableOffsets, encode_checkpoint, encode_page
from engine.protocol.layouts.store_files import CQ_UNIT, CQ_UNIT_SIZE, segment_name
from engine.protocol.record_layout import BLANK_SIZE
from engine.protocol.records import Record, decode_record, encode_blank, encode_record
from spark.schemas import message_schema
from spark.sources.logs import Log, survey
from spark.sources.planning import LogPart, plan_log
from spark.sources.reading import read_part
from spark.sources.wanted import Wanted

SEGMENT_BYTES = 4096
QUEUE_FILE_UNITS = 16
START_MS = 1_700_000_000_000


@dataclass(frozen=True, slots=True)
class Sent:
    topic: str = "orders"
    body: bytes = b"17 teapots"
    queue_id: int = 0
    store_ms: int = START_MS
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Written:
    """`write` appends; `close` or `crash` leave what a broker leaves."""

    root: Path
    segment_bytes: int = SEGMENT_BYTES
    start: int = 0
    records: list[Record] = field(default_factory=list)
    log: bytearray = field(default_factory=bytearray)
    next_offsets: dict[tuple[str, int], int] = field(default_factory=dict)

    @property
    def end_offset(self) -> int:
        return self.start + len(self.log)

    def write(self, messages: Sequence[Sent]) -> Written:
        for message in messages:
            self._append(message)
        self.save()
        return self

    def _append(self, message: Sent) -> None:
        key = message.topic, message.queue_id
        queue_offset = self.next_offsets.get(key, 0)
        self.next_offsets[key] = queue_offset + 1
        size = len(self._encode(message, queue_offset, 0))
        room = self.segment_bytes - len(self.log) % self.segment_bytes
        if size + BLANK_SIZE > room:
            self.log += encode_blank(room).ljust(room, b"\0")
        raw = self._encode(message, queue_offset, self.end_offset)
        self.log += raw
        self.records.append(decode_record(raw))

    def _encode(self, message: Sent, queue_offset: int, commit_log_offset: int) -> bytes:
        return encode_record(
            topic=message.topic,
            body=message.body,
            properties=message.properties,
            queue_id=message.queue_id,
            queue_offset=queue_offset,
            commit_log_offset=commit_log_offset,
            born_timestamp=message.store_ms - 5,
            store_timestamp=message.store_ms,
            born_host=("10.0.0.1", 54321),
            store_host=("127.0.0.1", 1),
        )

    def save(self) -> None:
        self._save_files(self.root / "commitlog", self.start, bytes(self.log), self.segment_bytes)
        units: dict[tuple[str, int], bytearray] = {}
        for record in self.records:
            raw = units.setdefault((record.topic, record.queue_id), bytearray())
            raw += CQ_UNIT.pack(record.commit_log_offset, record.size, 0)
        for (topic, queue_id), raw in units.items():
            folder = self.root / "consumequeue" / topic / str(queue_id)
            self._save_files(folder, 0, bytes(raw), QUEUE_FILE_UNITS * CQ_UNIT_SIZE)

    def _save_files(self, folder: Path, start: int, data: bytes, size: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for at in range(0, max(len(data), 1), size):
            (folder / segment_name(start + at)).write_bytes(data[at : at + size].ljust(size, b"\0"))

    def close(self) -> Written:
        """As our broker leaves it: everything is on disk, and the checkpoint says so."""
        (self.root / "abort").unlink(missing_ok=True)
        self.note(self.end_offset, self.end_offset)
        return self

    def crash(self, flushed: int, dispatched: int) -> Written:
        (self.root / "abort").write_text("1")
        self.note(flushed, dispatched)
        return self

    def note(self, flushed: int, dispatched: int) -> None:
        offsets = DurableOffsets(flushed, dispatched, 0, 1)
        (self.root / "checkpoint").write_bytes(encode_page(Checkpoint(), offsets))

    def note_times(self, physic_ms: int, logics_ms: int) -> None:
        """As Apache's broker does."""
        (self.root / "checkpoint").write_bytes(encode_checkpoint(Checkpoint(physic_ms, logics_ms, physic_ms)))

    def path_at(self, commit_log_offset: int) -> Path:
        at = (commit_log_offset - self.start) // self.segment_bytes * self.segment_bytes
        return self.root / "commitlog" / segment_name(self.start + at)

    def patch(self, commit_log_offset: int, data: bytes) -> None:
        with self.path_at(commit_log_offset).open("r+b") as file:
            file.seek((commit_log_offset - self.start) % self.segment_bytes)
            file.write(data)


def look(*roots: Path | str, **options: str) -> tuple[Log, ...]:
    return survey({"stores": "\n".join(map(str, roots)), **options})


def parts_of(log: Log, wanted: Wanted | None = None, part_bytes: int = 1 << 20) -> list[LogPart]:
    return plan_log(log, wanted or Wanted(), log.start_offset, log.end_offset, part_bytes)


def rows_of(
    log: Log,
    columns: Sequence[str] = ("commit_log_offset",),
    wanted: Wanted | None = None,
    part_bytes: int = 1 << 20,
    is_strict: bool = True,
) -> Iterator[dict[str, Any]]:
    """What tasks would read, one after the other."""
    schema = message_schema(columns)
    for part in parts_of(log, wanted, part_bytes):
        for batch in read_part(part, schema, wanted or Wanted(), is_strict=is_strict):
            yield from batch.to_pylist()


def offsets_in(log: Log, wanted: Wanted | None = None, **reading: Any) -> list[int]:
    return [row["commit_log_offset"] for row in rows_of(log, wanted=wanted, **reading)]
