"""Follows the log up to the gate and builds what is derived from it: queue units and index entries.

Runs in slices on the writer's thread. One slice writes each touched queue once. Everything it writes is
placed by what the record says, so a slice that failed half way (disk full) is simply run again, and
replaying any part of the log any number of times ends in the same files.

Units of records that cannot be read (*gap units*) have offset and length of the damaged part of the log, and
a tag code that passes every filter (that of an address in RocketMQ's extended queues): whoever follows such a
unit finds the damage, so no message is skipped in silence. The real unit takes its place once the part is
repaired.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container

from engine.protocol._records_cy import Derived
from engine.protocol.layouts.store_files import CQ_UNIT, CQ_UNIT_SIZE
from engine.store.flushing.file_sync import PASSING
from engine.store.index.index import Index
from engine.store.log.commit_log import CommitLog
from engine.store.log.log_end import record_after
from engine.store.log.message_log import MessageLog
from engine.store.queues.consume_queue import BLANK_UNIT_SIZE, ConsumeQueue
from engine.store.queues.consume_queues import ConsumeQueues
from engine.store.results import Arrival, QueueKey, StoreStats

_SIZE_AND_MAGIC = 8
_MARKS = 4
_SMALLEST_RECORD = 92
_LARGEST_SIZE = 0x7FFF_FFFE
_ANY_TAG = -(1 << 63)


def gap_unit(start: int, end: int) -> bytes:
    """A unit that leads to the damaged part [start, end) of the log."""
    return CQ_UNIT.pack(start, min(end - start, _LARGEST_SIZE), _ANY_TAG)


class Dispatcher:
    def __init__(
        self,
        log: CommitLog,
        messages: MessageLog,
        queues: ConsumeQueues,
        index: Index | None,
        stats: StoreStats,
        *,
        delay_level_ms: tuple[int, ...],
        verify_on_open_bytes: int,
    ) -> None:
        self._log = log
        self._messages = messages
        self._queues = queues
        self._index = index
        self._stats = stats
        self._delay_level_ms = delay_level_ms
        self._verify_bytes = verify_on_open_bytes
        self._marks: deque[int] = deque([0])
        self.offset = 0
        self.gaps: list[tuple[int, int]] = []
        """Parts of the log without a whole record that were passed over."""
        self.touched: set[QueueKey] = set()
        """Queues that got units since `MessageQueues.take_touched`."""
        self.when_damaged: Callable[[int, int], object] = lambda start, end: None
        self.store_timestamp = 0
        """Store time of the newest record that queues and index know of."""

    @property
    def verify_from(self) -> int:
        """A record boundary some way behind the dispatched offset: the next open begins to check there."""
        return self._marks[0]

    def start_at(self, offset: int, verify_from: int) -> None:
        self.offset = offset
        self._marks.clear()
        self._marks.append(min(verify_from, offset))

    def has_work(self) -> bool:
        return self.offset < self._log.readable_end()

    def dispatch(self, max_records: int, awaited: Container[QueueKey] | None = None) -> list[Arrival]:
        """Build queue units and index entries for the next readable records; arrivals of `awaited` queues
        (None: of all). Empty also when the disk is full: puts are then refused, and a later call tries
        again. Any other error of the disk fences the store."""
        try:
            arrivals = self._dispatch(max_records, awaited)
        except OSError as error:
            if error.errno not in PASSING:
                self._messages.fence()
            self._messages.note_full(True)
            return []
        self._messages.note_full(False)
        return arrivals

    def _dispatch(self, max_records: int, awaited: Container[QueueKey] | None) -> list[Arrival]:
        """OSError leaves the offset where it was, for another try."""
        end = self._log.readable_end()
        while self.offset < end:
            derived = self.derive(self.offset, end, max_records)
            next_offset = derived.next
            if next_offset == self.offset:
                if self.is_partial(next_offset, end):
                    break
                follower = record_after(self._log.files, next_offset, end)
                if follower is None:
                    break  # damaged, and nothing whole behind it yet
                self.note_gap(next_offset, follower[0])
                self.offset = follower[0]
                continue
            arrivals = self.apply(derived, awaited)
            self.offset = next_offset
            self._mark(next_offset)
            # Again when there was only a segment's blank end: where all is awaited, an empty answer must mean
            # that there is no more.
            if arrivals or (derived.count and awaited is not None):
                return arrivals
        return []

    def _mark(self, offset: int) -> None:
        """Remember a few record boundaries, the oldest `verify_on_open_bytes` behind or more."""
        marks = self._marks
        if offset - marks[-1] >= self._verify_bytes // _MARKS:
            marks.append(offset)
            while len(marks) > 1 and offset - marks[1] >= self._verify_bytes:
                marks.popleft()

    def is_partial(self, commit_log_offset: int, end: int) -> bool:
        """On a slave the log may end in the middle of a record, whose rest is still to come. No record is
        longer than the rest of its segment: a size beyond it is damage."""
        head = self._log.read(commit_log_offset, _SIZE_AND_MAGIC)[: end - commit_log_offset]
        if len(head) < _SIZE_AND_MAGIC:
            return True
        file_size = self._log.file_size
        room = file_size - commit_log_offset % file_size
        return end - commit_log_offset < int.from_bytes(head[:4], "big") <= room

    def note_gap(self, start: int, end: int) -> None:
        is_known = any(low <= start and end <= high for low, high in self.gaps)
        if not is_known:
            self.gaps.append((start, end))
            self.when_damaged(start, end)

    def derive(
        self,
        commit_log_offset: int,
        end_offset: int,
        max_records: int,
        *,
        check_crc: bool = False,
        index_from: int = 0,
        only: Container[QueueKey] | None = None,
    ) -> Derived:
        """What is to be written for the next records of one segment. Recovery narrows it: keys of records
        from `index_from` on, and units of the queues in `only`."""
        return self._log.derive(
            commit_log_offset,
            end_offset,
            max_records,
            check_crc=check_crc,
            only=only,
            delay_level_ms=self._delay_level_ms,
            index_from=index_from,
        )

    def apply(self, derived: Derived, awaited: Container[QueueKey] | None) -> list[Arrival]:
        """Write units and index entries. Arrivals are returned for `awaited` queues (None: for all)."""
        arrivals: list[Arrival] = []
        for topic, queue_id, first, units in derived.runs:
            queue = self._queues.get_or_make(topic, queue_id)
            if queue is None:
                self._stats.unnamable_count += len(units) // CQ_UNIT_SIZE
            elif first == queue.end or self._is_placed(queue, first, units):
                queue.write(first, units)
            key = topic, queue_id
            self.touched.add(key)
            if awaited is None or key in awaited:
                arrivals += _arrivals(topic, queue_id, first, units)
        if self._index is not None:
            self._index.put(derived.keys)
        if derived.newest is not None:
            self.store_timestamp = max(self.store_timestamp, derived.newest.store_timestamp)
        self._stats.dispatched_count += derived.count
        return arrivals

    def _is_placed(self, queue: ConsumeQueue, queue_offset: int, units: bytearray) -> bool:
        """Whether units that do not continue their queue belong where their records say. No checksum covers a
        record's queue offset: one damaged byte must neither cut a queue nor fill the disk with blanks."""
        offset, size, _ = CQ_UNIT.unpack_from(units)
        if len(units) == CQ_UNIT_SIZE and queue.keep_if_at(offset, size):
            self.note_gap(offset, offset + size)
            return False
        if queue_offset < queue.end:
            return True  # the log's order wins
        last = queue.unit(queue.end - 1)
        behind = last[0] + last[1] if last is not None and 0 < last[1] < BLANK_UNIT_SIZE else 0
        for part in queue.keep_units(behind, offset, queue_offset):
            self.note_gap(*part)  # what its record says now leads elsewhere
        if queue.first == queue.end:
            if self.gaps and self._log.min_offset == 0:  # else retention may have taken the others
                self._fill(queue, queue_offset, 0)
            return True
        if queue_offset - queue.end > max(offset - behind, 0) // _SMALLEST_RECORD:
            self.note_gap(offset, offset + size)  # there is no room in the log for so many before it
            return False
        self._fill(queue, queue_offset, behind)
        return True

    def _fill(self, queue: ConsumeQueue, queue_offset: int, behind: int) -> None:
        """The units of records that lie in a damaged part: they lead there, so that nobody passes over their
        messages in silence. Not more of them than the part has room for."""
        for start, end in self.gaps:
            count = queue_offset - queue.end
            if start >= behind and 0 < count <= (end - start) // _SMALLEST_RECORD:
                queue.write(queue.end, gap_unit(start, end) * count)
                return


def _arrivals(topic: str, queue_id: int, first: int, units: bytearray) -> list[Arrival]:
    return [
        Arrival(topic, queue_id, queue_offset, tags_code)
        for queue_offset, (_, _, tags_code) in enumerate(CQ_UNIT.iter_unpack(units), first + 1)
    ]
