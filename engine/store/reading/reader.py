"""Pulls: turns units of a queue into ranges of the log, and ranges into one body.

A range is hot when it lies in the last `hot_window_bytes` of the log and was written or checked by this
process: it is copied from the map at once. Everything else is cold: `read_cold` fetches it in a thread, with
descriptors of its own, and checks every record against its CRC and against the queue that led to it, because
nobody has looked at those bytes since they were written. A segment deleted meanwhile simply yields nothing.

Queues normally end at the log's readable end. After a restart, and when a term begins, they reach to the end
of the log, whose last records no replica may have confirmed: `get` holds those back as if they had not
arrived.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from engine.protocol._units_cy import plain_spans
from engine.protocol.layouts.store_files import CQ_UNIT, CQ_UNIT_SIZE, is_ext_address
from engine.protocol.records import raw_properties
from engine.store.log.commit_log import CommitLog
from engine.store.options import ReadLimits
from engine.store.queues.consume_queue import BLANK_UNIT_SIZE, ConsumeQueue
from engine.store.queues.consume_queues import ConsumeQueues
from engine.store.queues.dispatch import Dispatcher
from engine.store.queues.queue_repair import QueueRepair
from engine.store.reading.cold_reads import read_ranges
from engine.store.recovery.damaged_ranges import DamagedRanges
from engine.store.results import (
    ColdBody,
    ColdRange,
    ColdRanges,
    Damage,
    GetResult,
    GetStatus,
    RecordFilter,
    StoreStats,
)

Matches = Callable[[int], bool]

_MIN_SCAN_UNITS = 16_000 // CQ_UNIT_SIZE
_MAX_BODY_BYTES = 128 << 20
_NOWHERE = -1
UNKNOWN_OFFSET = -1


class _Batch:
    """What one pull has gathered: spans of the log, each from an even to an odd index of `spans`."""

    __slots__ = ("count", "next_offset", "removed", "size", "spans")

    def __init__(self) -> None:
        self.next_offset = 0
        self.spans: list[int] = []
        self.count = 0
        self.size = 0
        self.removed = False


class Reader:
    def __init__(
        self,
        log: CommitLog,
        queues: ConsumeQueues,
        dispatcher: Dispatcher,
        repair: QueueRepair,
        damaged: DamagedRanges,
        limits: ReadLimits,
        stats: StoreStats,
    ) -> None:
        self._log = log
        self._queues = queues
        self._dispatcher = dispatcher
        self._repair = repair
        self._limits = limits
        self._stats = stats
        self._damaged = damaged
        """Known damage; hot reads that touch it are checked like cold ones."""

    def get(
        self,
        topic: str,
        queue_id: int,
        queue_offset: int,
        max_messages: int,
        max_bytes: int | None = None,
        matches: Matches | None = None,
        wanted: RecordFilter | None = None,
    ) -> GetResult:
        """`matches` is asked about tag codes, `wanted` about properties, of hot records only: of cold ones
        all are in the result, for the caller to choose from (`select_records`)."""
        if self._dispatcher.offset <= self._log.readable_end():
            return self._get(topic, queue_id, queue_offset, max_messages, max_bytes, matches, wanted)
        return self._get_visible(topic, queue_id, queue_offset, max_messages, max_bytes, matches, wanted)

    def _get_visible(
        self,
        topic: str,
        queue_id: int,
        queue_offset: int,
        max_messages: int,
        max_bytes: int | None,
        matches: Matches | None,
        wanted: RecordFilter | None,
    ) -> GetResult:
        """While the queue may have units of records that nobody may see yet."""
        queue, limit = self._queues.get(topic, queue_id), self._log.readable_end()
        if queue is None:
            return self._get(topic, queue_id, queue_offset, max_messages, max_bytes, matches, wanted)
        low = queue.min_offset(self._log.min_offset)
        visible_end = queue.search(low, lambda unit: unit[0] + unit[1] > limit)
        nothing_yet = GetResult(GetStatus.OFFSET_OVERFLOW_ONE, queue_offset, low, queue.end)
        if visible_end <= queue_offset < queue.end:
            return nothing_yet
        max_messages = min(max_messages, max(visible_end - queue_offset, 1))
        result = self._get(topic, queue_id, queue_offset, max_messages, max_bytes, matches, wanted)
        # A filter scans further than it finds: rather nothing for the moment than one too many.
        return nothing_yet if queue_offset < visible_end < result.next_begin_offset else result

    def _get(
        self,
        topic: str,
        queue_id: int,
        queue_offset: int,
        max_messages: int,
        max_bytes: int | None,
        matches: Matches | None,
        wanted: RecordFilter | None,
    ) -> GetResult:
        if self._repair.reports:
            self._repair.mend_reported()
        queue = self._queues.table.get((topic, queue_id))
        if queue is None:
            return GetResult(GetStatus.NO_MATCHED_LOGIC_QUEUE, 0, 0, 0)
        min_offset = queue.min_offset(self._log.files.min_offset)
        if not min_offset <= queue_offset < queue.end:
            return self._outside(queue_offset, min_offset, queue.end)
        max_messages, max_bytes = max(max_messages, 1), max_bytes or _MAX_BODY_BYTES
        batch = self._gather(queue, queue_offset, max_messages, max_bytes, matches, wanted)
        if batch.next_offset == queue_offset:
            self._repair.mend(queue, queue_offset)
            min_offset = queue.min_offset(self._log.files.min_offset)
            batch = self._gather(queue, queue_offset, max_messages, max_bytes, matches, wanted)
        if batch.count:
            return self._found(queue, queue_offset, batch, min_offset)
        self._stats.get_missed_count += 1
        if batch.next_offset == queue_offset:
            damage = Damage(topic, queue_id, queue_offset, UNKNOWN_OFFSET, 0, "")
            status = GetStatus.MESSAGE_DAMAGED
            return GetResult(status, queue_offset, min_offset, queue.end, damage=damage)
        status = GetStatus.MESSAGE_WAS_REMOVING if batch.removed else GetStatus.NO_MATCHED_MESSAGE
        return GetResult(status, batch.next_offset, min_offset, queue.end)

    def _outside(self, queue_offset: int, min_offset: int, max_offset: int) -> GetResult:
        self._stats.get_missed_count += 1
        if max_offset == 0:
            return GetResult(GetStatus.NO_MESSAGE_IN_QUEUE, 0, min_offset, max_offset)
        if queue_offset < min_offset:
            return GetResult(GetStatus.OFFSET_TOO_SMALL, min_offset, min_offset, max_offset)
        if queue_offset == max_offset:
            return GetResult(GetStatus.OFFSET_OVERFLOW_ONE, queue_offset, min_offset, max_offset)
        return GetResult(GetStatus.OFFSET_OVERFLOW_BADLY, max_offset, min_offset, max_offset)

    def _gather(
        self,
        queue: ConsumeQueue,
        queue_offset: int,
        max_messages: int,
        max_bytes: int,
        matches: Matches | None,
        wanted: RecordFilter | None,
    ) -> _Batch:
        if wanted is not None:
            return self._select(queue, queue_offset, max_messages, max_bytes, wanted)
        limits = self._limits
        log_min, log_end = self._log.files.min_offset, self._log.end_offset
        hot_from = self._log.hot_from
        hot_bytes = min(max_bytes, limits.max_transfer_bytes_in_memory)
        hot_count = min(max_messages, limits.max_transfer_count_in_memory)
        if matches is None and queue_offset >= queue.checked_from:
            batch = _plain_batch(
                queue, queue_offset, hot_count, hot_bytes, max(log_min, hot_from, self._log.checked_from)
            )
            if batch is not None:
                return batch
        scan_units = max_messages if matches is None else max(_MIN_SCAN_UNITS, max_messages)
        cold_bytes = min(max_bytes, limits.max_transfer_bytes_on_disk)
        cold_count = min(max_messages, limits.max_transfer_count_on_disk)
        batch = _Batch()
        spans = batch.spans
        count = total = 0
        span_end = -1
        for offset, size, tags_code in CQ_UNIT.iter_unpack(queue.read(queue_offset, scan_units)):
            is_blank = size == BLANK_UNIT_SIZE
            if not is_blank and not (0 < size <= log_end - offset and log_min <= offset):
                break  # damage: from the queue's first message on, every unit leads into the log
            if count:
                if offset >= hot_from:
                    if total + size > hot_bytes or count >= hot_count:
                        break
                elif total + size > cold_bytes or count >= cold_count:
                    break
            if is_blank:
                batch.removed = True
            elif matches is None or matches(tags_code) or is_ext_address(tags_code):
                if offset == span_end:
                    span_end = spans[-1] = offset + size
                else:
                    span_end = offset + size
                    spans += (offset, span_end)
                count += 1
                total += size
            queue_offset += 1
        batch.next_offset = queue_offset
        batch.count = count
        batch.size = total
        return batch

    def _select(
        self, queue: ConsumeQueue, queue_offset: int, max_messages: int, max_bytes: int, wanted: RecordFilter
    ) -> _Batch:
        """What `wanted` wants of the hot records; or, where the queue is cold, the next records as they
        are."""
        log = self._log
        max_bytes = min(max_bytes, self._limits.max_transfer_bytes_in_memory)
        log_min, log_end, properties_at = log.min_offset, log.end_offset, self._properties_at
        batch = _Batch()
        is_hot: bool | None = None
        for offset, size, _ in CQ_UNIT.iter_unpack(queue.read(queue_offset, wanted.max_scan)):
            is_blank = size == BLANK_UNIT_SIZE
            if not is_blank and not (0 < size <= log_end - offset and log_min <= offset):
                break
            if is_blank:
                batch.removed = True
            else:
                if is_hot is None:
                    is_hot = self._is_sound_and_hot(offset, size)
                elif is_hot != self._is_sound_and_hot(offset, size):
                    break
                if not is_hot or wanted.matches(properties_at(offset, size)):
                    if batch.count and (batch.size + size > max_bytes or batch.count >= max_messages):
                        break
                    batch.spans += (offset, offset + size)
                    batch.count += 1
                    batch.size += size
            queue_offset += 1
        batch.next_offset = queue_offset
        return batch

    def _properties_at(self, commit_log_offset: int, size: int) -> bytes:
        file = self._log.files.at(commit_log_offset)
        if file is None or file.map is None or commit_log_offset + size > file.end_offset:
            return raw_properties(self._log.read(commit_log_offset, size))
        return raw_properties(cast(bytes, file.map), commit_log_offset - file.base_offset)

    def wanted_at(self, topic: str, queue_id: int, queue_offset: int, wanted: RecordFilter) -> bool:
        """Whether this message, which has just become readable, is wanted. In doubt True: the pull checks
        again."""
        queue = self._queues.table.get((topic, queue_id))
        unit = queue.unit(queue_offset) if queue is not None else None
        if unit is None or not self._is_sound_and_hot(unit[0], unit[1]):
            return True
        return wanted.matches(self._properties_at(unit[0], unit[1]))

    def _found(self, queue: ConsumeQueue, queue_offset: int, batch: _Batch, min_offset: int) -> GetResult:
        stats = self._stats
        stats.get_found_count += 1
        stats.get_message_count += batch.count
        stats.get_bytes += batch.size
        first = batch.spans[0]
        body, cold = b"", None
        if self._is_hot(first) and not self._touches_damage(batch.spans):
            body = self._copy(batch.spans)
        else:
            cold = self._cold(queue, queue_offset, batch)
        return GetResult(
            GetStatus.FOUND,
            batch.next_offset,
            min_offset,
            queue.end,
            batch.count,
            body,
            cold,
            first,
            batch.size,
        )

    def _is_hot(self, commit_log_offset: int) -> bool:
        """Whether the record may be copied from the map without a look at it and without a page fault."""
        file = self._log.files.at(commit_log_offset)
        return (
            commit_log_offset >= self._log.checked_from
            and commit_log_offset >= self._log.hot_from
            and file is not None
            and file.map is not None
        )

    def _is_sound_and_hot(self, commit_log_offset: int, size: int) -> bool:
        is_damaged = self._damaged and self._damaged.touches(commit_log_offset, commit_log_offset + size)
        return not is_damaged and self._is_hot(commit_log_offset)

    def _touches_damage(self, spans: list[int]) -> bool:
        if not self._damaged:
            return False
        pairs = zip(spans[::2], spans[1::2], strict=True)
        return any(self._damaged.touches(start, end) for start, end in pairs)

    def _copy(self, spans: list[int]) -> bytes:
        starts, ends = spans[::2], spans[1::2]
        file = self._log.files.at(starts[0])
        if file is None or file.map is None or ends[-1] > file.end_offset:
            return b"".join(
                [self._log.read(start, end - start) for start, end in zip(starts, ends, strict=True)]
            )
        base, mapped = file.base_offset, file.map
        if len(starts) == 1:
            return mapped[starts[0] - base : ends[0] - base]
        return b"".join([mapped[start - base : end - base] for start, end in zip(starts, ends, strict=True)])

    def _cold(self, queue: ConsumeQueue, queue_offset: int, batch: _Batch) -> ColdRanges:
        """The same spans again, now with the queue offsets that their records must carry."""
        ranges = []
        spans = iter(zip(batch.spans[::2], batch.spans[1::2], strict=True))
        start, end = next(spans)
        queue_offsets: list[int] = []
        sizes: list[int] = []
        place = start
        units = queue.read(queue_offset, batch.next_offset - queue_offset)
        for offset, size, _ in CQ_UNIT.iter_unpack(units):
            if offset == place and place < end:
                queue_offsets.append(queue_offset)
                sizes.append(size)
                place += size
                if place == end:
                    ranges.append(self._cold_range(start, end, queue_offsets, sizes))
                    start, end = next(spans, (_NOWHERE, _NOWHERE))
                    place, queue_offsets, sizes = start, [], []
            queue_offset += 1
        return ColdRanges(queue.topic, queue.queue_id, tuple(ranges))

    def _cold_range(self, start: int, end: int, queue_offsets: list[int], sizes: list[int]) -> ColdRange:
        file = self._log.files.at(start)
        assert file is not None  # `_gather` takes only offsets that the log has
        where = str(file.path), file.base_offset, start, end - start
        return ColdRange(*where, tuple(queue_offsets), tuple(sizes))

    def read_cold(self, cold: ColdRanges) -> ColdBody:
        """Fetch and check; any thread. Empty when retention has meanwhile taken a segment. What is damaged is
        reported, and mended before the next pull if it was only the queue."""
        read = read_ranges(cold)
        if read.damage is not None:
            self._repair.reports.append((cold.topic, cold.queue_id, read.damage.queue_offset))
        return read


def _plain_batch(
    queue: ConsumeQueue, queue_offset: int, max_count: int, max_bytes: int, hot_from: int
) -> _Batch | None:
    """The everyday pull, without a look at each unit: no filter, all of it hot, all within the limits."""
    units = queue.read(queue_offset, max_count)
    found = plain_spans(units, hot_from, max_bytes)
    if found is None:
        return None
    batch = _Batch()
    batch.count = len(units) // CQ_UNIT_SIZE
    batch.next_offset = queue_offset + batch.count
    batch.spans, batch.size = found
    return batch
