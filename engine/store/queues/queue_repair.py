"""Mends single units of a consume queue from the log.

Whoever follows a unit and finds something else than the record it promises reports the place. The units
between the nearest two neighbours that do lead to their records are then written anew from that stretch of
the log; what the log does not hold any more becomes blank. Where the log itself is damaged, units that still
lead there stay as they are, and others are made to lead to the damaged part (a *gap unit*: its offset and
size): whoever follows them complains again, and a message is never skipped in silence.
"""

from __future__ import annotations

from collections import deque

from engine.protocol.layouts.store_files import CQ_BLANK, CQ_UNIT_SIZE
from engine.protocol.record_layout import RECORD_HEAD
from engine.store.log.commit_log import CommitLog
from engine.store.log.log_end import record_after
from engine.store.queues.consume_queue import BLANK_UNIT_SIZE, ConsumeQueue, Unit
from engine.store.queues.consume_queues import ConsumeQueues
from engine.store.queues.dispatch import Dispatcher, gap_unit

_SLICE = 4096
_MAX_SPAN_UNITS = 100_000


class QueueRepair:
    def __init__(self, log: CommitLog, queues: ConsumeQueues, dispatcher: Dispatcher) -> None:
        self._log = log
        self._queues = queues
        self._dispatcher = dispatcher
        self.reports: deque[tuple[str, int, int]] = deque(maxlen=1000)
        """(topic, queue id, queue offset); any thread may append."""

    def mend_reported(self) -> None:
        while self.reports:
            topic, queue_id, queue_offset = self.reports.popleft()
            queue = self._queues.get(topic, queue_id)
            if queue is not None:
                self.mend(queue, queue_offset)

    def mend_unit(self, topic: str, queue_id: int, queue_offset: int) -> bool:
        """Whether the unit was wrong, and could be mended."""
        queue = self._queues.get(topic, queue_id)
        return queue is not None and self.mend(queue, queue_offset)

    def mend(self, queue: ConsumeQueue, queue_offset: int) -> bool:
        """Whether a unit was changed."""
        first, end = self._suspect_span(queue, queue_offset)
        before, behind = queue.unit(first - 1), queue.unit(end)
        start, log_min = before[0] if before is not None else 0, self._log.min_offset
        stop = behind[0] if behind is not None else self._dispatcher.offset
        stretch = max(start, log_min), min(stop, self._dispatcher.offset)
        found, gaps = self._units_in_log(queue, *stretch)
        is_changed = False
        for offset in range(first, end):
            unit = found.get(offset)
            if unit is None and start < log_min:
                unit = CQ_BLANK  # retention took it: the stretch began before the log does
            if unit is None and gaps and not _leads_into(queue, offset, *stretch):
                unit = gap_unit(*gaps[0])
            if unit is not None and unit != queue.read(offset, 1):
                queue.patch(offset, unit)
                is_changed = True
        return is_changed

    def mend_range(self, start: int, end: int) -> None:
        """The records in [start, end) were repaired: their units say so too."""
        while start < end:
            derived = self._dispatcher.derive(start, end, _SLICE, index_from=end)
            for topic, queue_id, first, units in derived.runs:
                queue = self._queues.get(topic, queue_id)
                if queue is not None and queue.read(first, len(units) // CQ_UNIT_SIZE) != bytes(units):
                    queue.patch(first, bytes(units))
            if derived.next == start:
                break
            start = derived.next

    def _suspect_span(self, queue: ConsumeQueue, queue_offset: int) -> tuple[int, int]:
        """The units around the place that do not lead to their records, at least the one itself."""
        first, end = queue_offset, queue_offset + 1
        limit = _MAX_SPAN_UNITS
        while first > queue.first and limit and not agrees(self._log, queue, first - 1):
            first -= 1
            limit -= 1
        while end < queue.end and limit and not agrees(self._log, queue, end):
            end += 1
            limit -= 1
        return first, end

    def _units_in_log(
        self, queue: ConsumeQueue, start: int, stop: int
    ) -> tuple[dict[int, bytes], list[tuple[int, int]]]:
        """The queue's units by queue offset, and the parts of the log that cannot be read."""
        found: dict[int, bytes] = {}
        gaps: list[tuple[int, int]] = []
        only = {(queue.topic, queue.queue_id)}
        while start < stop:
            derived = self._dispatcher.derive(start, stop, _SLICE, index_from=stop, only=only)
            for _, _, first, units in derived.runs:
                for number, at in enumerate(range(0, len(units), CQ_UNIT_SIZE), first):
                    found[number] = bytes(units[at : at + CQ_UNIT_SIZE])
            if derived.next == start:
                follower = record_after(self._log.files, start, stop)
                gaps.append((start, stop if follower is None else follower[0]))
                start = gaps[-1][1]
            else:
                start = derived.next
        return found, gaps


def _leads_into(queue: ConsumeQueue, queue_offset: int, start: int, stop: int) -> bool:
    unit = queue.unit(queue_offset)
    return unit is not None and 0 < unit[1] < BLANK_UNIT_SIZE and start <= unit[0] and sum(unit[:2]) <= stop


def agrees(log: CommitLog, queue: ConsumeQueue, queue_offset: int, unit: Unit | None = None) -> bool:
    """Whether the unit leads to a record of this queue and offset, or to one that retention took."""
    unit = unit or queue.unit(queue_offset)
    if unit is None:
        return False
    offset, size, _ = unit
    if size == BLANK_UNIT_SIZE:
        return True
    file = log.files.at(offset)
    if file is None:
        return 0 <= offset < log.min_offset and size > 0
    at = offset - file.base_offset
    head = log.files.mapped(file)[at : at + RECORD_HEAD.size]  # recovery looks at one for each queue
    if len(head) < RECORD_HEAD.size:
        return False
    head_size, _, _, queue_id, _, own_queue_offset, own_offset, _ = RECORD_HEAD.unpack(head)
    return (head_size, queue_id, own_queue_offset, own_offset) == (size, queue.queue_id, queue_offset, offset)
