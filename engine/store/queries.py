"""Reads that do not follow a queue: by place in the log, by key, by time.

A place may come from the wire (a message id), so it is believed only when a whole record lies there that says
so itself. A hash found in the index is not yet the key: the record decides.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.protocol._records_cy import scan_records
from engine.protocol.hashes import index_key_hash
from engine.protocol.records import Record, decode_record
from engine.protocol.sys_flags import TRANSACTION_COMMIT, TRANSACTION_MASK
from engine.store.commit_log import CommitLog
from engine.store.consume_queue import ConsumeQueue
from engine.store.gate import Gate
from engine.store.index import Index, Place
from engine.store.results import QueryResult

_SIZE_SIZE = 4
_MAX_QUERY = 64
_MAX_STEPS = 4_096
"""Entries that one query looks at: a key in a million messages must not hold up the writer."""
_SCAN_ROWS = 4096
_STORE_TIME_END = 76
_SYS_FLAG_AT, _BORN_V6 = 39, 0x10


class Queries:
    def __init__(self, log: CommitLog, gate: Gate, index: Index | None) -> None:
        self._log = log
        self._gate = gate
        self._index = index

    def raw_record_at(self, commit_log_offset: int, size: int | None = None) -> bytes | None:
        """The stored bytes of the whole, readable record at this place (of this size, if one is expected)."""
        readable_end = self._gate.readable_end()
        if commit_log_offset < 0:
            return None
        head = self._log.read(commit_log_offset, _SIZE_SIZE)
        length = int.from_bytes(head, "big", signed=True)
        if length <= 0 or commit_log_offset + length > readable_end or (size is not None and size != length):
            return None
        data = self._log.read(commit_log_offset, length)
        rows, _, _ = scan_records(data, 0, len(data), True, 1, commit_log_offset)
        return data if rows else None

    def record_at(self, commit_log_offset: int) -> Record | None:
        data = self.raw_record_at(commit_log_offset)
        return decode_record(data, 0, False) if data is not None else None

    def commits_from(self, commit_log_offset: int) -> Iterator[int]:
        """Of every committed transaction from this record on: where its half record lies. Reads all of it."""
        end_offset = self._gate.readable_end()
        while commit_log_offset < end_offset:
            begin = commit_log_offset
            rows, commit_log_offset, _ = self._log.scan(begin, end_offset, _SCAN_ROWS, check_crc=False)
            for _, _, _, _, _, place, sys_flag, *_ in rows:
                if sys_flag & TRANSACTION_MASK == TRANSACTION_COMMIT:
                    record = self.record_at(place)
                    if record is not None:
                        yield record.prepared_transaction_offset
            if commit_log_offset == begin:
                return

    def query(
        self,
        topic: str,
        key: str,
        max_num: int,
        begin_ms: int,
        end_ms: int,
        continuation: str | None = None,
    ) -> QueryResult:
        """Messages with this key, the newest first: not merely with its hash. `continuation` is what an
        earlier result said; where the result has one again, there may be more."""
        wanted = max(0, min(max_num, _MAX_QUERY))
        if self._index is None or not wanted:
            return QueryResult((), (), 0, 0)
        found: dict[int, bytes] = {}
        following: Place | None = None
        start = read_place(continuation) if continuation else None
        entries = self._index.walk(index_key_hash(topic, key), begin_ms, end_ms, start)
        for steps, (place, offset) in enumerate(entries, 1):
            data = self.raw_record_at(offset) if offset is not None else None
            if data is not None and offset is not None and _has_key(data, offset, topic, key):
                found[offset] = data
            if len(found) >= wanted or steps >= _MAX_STEPS:
                following = place
                break
        last_timestamp, last_offset = self._index.last_update
        return QueryResult(
            tuple(found),
            tuple(found.values()),
            last_timestamp,
            last_offset,
            write_place(following) if following is not None else None,
        )

    def store_time(self, commit_log_offset: int) -> int | None:
        """Store time of the record at a place that a queue gave."""
        head = self._log.read(commit_log_offset, _STORE_TIME_END)
        if len(head) < _STORE_TIME_END:
            return None
        at = 68 if head[_SYS_FLAG_AT] & _BORN_V6 else 56
        return int.from_bytes(head[at : at + 8], "big", signed=True)

    def store_time_at(self, queue: ConsumeQueue, queue_offset: int) -> int | None:
        unit = queue.unit(queue_offset)
        return self.store_time(unit[0]) if unit is not None else None

    def offset_by_time(self, queue: ConsumeQueue, timestamp_ms: int, *, upper: bool) -> int:
        """Lower: the first message stored at or after the time (the end when there is none). Upper: the last
        one stored at or before it (0 when there is none)."""
        low = queue.min_offset(self._log.min_offset)
        border = timestamp_ms + 1 if upper else timestamp_ms
        first = queue.search(low, lambda unit: (self.store_time(unit[0]) or 0) >= border)
        if upper:
            return first - 1 if first > low else 0
        return first


def write_place(place: Place) -> str:
    return f"{place.file_name}-{place.number}"


def read_place(text: str) -> Place:
    """It comes back from outside: anything that is not a place ends the search."""
    name, _, number = text.partition("-")
    return Place(name, int(number)) if number.isdecimal() and len(number) <= 10 else Place("", 0)


def _has_key(data: bytes, commit_log_offset: int, topic: str, key: str) -> bool:
    rows, _, _ = scan_records(data, 0, len(data), False, 1, commit_log_offset)
    _, _, record_topic, *_, uniq_key, keys, _, _ = rows[0]
    return record_topic == topic and (key == uniq_key or (keys is not None and key in keys.split()))
