"""Reads that do not follow a queue: by place in the log, by key, by time.

A place may come from the wire (a message id), so it is believed only when a whole record lies there that says
so itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from engine.protocol._records_cy import scan_records
from engine.protocol.record_layout import STORE_TIMESTAMP_END, store_time_of
from engine.protocol.records import Record, decode_record
from engine.protocol.sys_flags import TRANSACTION_COMMIT, TRANSACTION_MASK
from engine.store.index.index import Index
from engine.store.index.key_search import KeySearch
from engine.store.log.commit_log import CommitLog
from engine.store.log.gate import Gate
from engine.store.log.log_end import record_after
from engine.store.queues.consume_queue import ConsumeQueue
from engine.store.reading.record_reads import LogView, OpenFiles, view_log

_SIZE_SIZE = 4
_SCAN_ROWS = 4096


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

    def log_view(self) -> LogView:
        return view_log(self._log, self._gate.readable_end())

    def plan_record(self, commit_log_offset: int) -> Callable[[], bytes | None]:
        log = self.log_view()

        def read() -> bytes | None:
            files = OpenFiles()
            try:
                return log.record(files, commit_log_offset)
            finally:
                files.close()

        return read

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
                follower = record_after(self._log.files, begin, end_offset)
                if follower is None:
                    return
                commit_log_offset = follower[0]

    def search(
        self,
        topic: str,
        key: str,
        max_num: int,
        begin_ms: int,
        end_ms: int,
        continuation: str | None = None,
    ) -> KeySearch:
        index = self._index
        return KeySearch(
            topic,
            key,
            max_num,
            begin_ms,
            end_ms,
            continuation,
            index.views() if index is not None else (),
            self.log_view(),
            index.last_update if index is not None and max_num > 0 else (0, 0),
        )

    def store_time(self, commit_log_offset: int) -> int | None:
        """Store time of the record at a place that a queue gave."""
        return store_time_of(self._log.read(commit_log_offset, STORE_TIMESTAMP_END))

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
