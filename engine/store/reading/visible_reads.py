"""Reads while queues know of records that nobody may see yet.

Queues normally end where the gate is. After a restart, and at the begin of a reign, they reach to the end of
the log, whose last records no replica may have confirmed: those are held back here, as if not yet arrived.
"""

from __future__ import annotations

from engine.store.queues.consume_queue import ConsumeQueue
from engine.store.reading.reader import Matches, Reader
from engine.store.results import GetResult, GetStatus, RecordFilter


def get_visible(
    reader: Reader,
    queue: ConsumeQueue | None,
    limit: int,
    log_min: int,
    topic: str,
    queue_id: int,
    queue_offset: int,
    max_messages: int,
    max_bytes: int | None,
    matches: Matches | None,
    wanted: RecordFilter | None,
) -> GetResult:
    """`limit`: the commit-log offset up to which records may be seen."""
    if queue is None:
        return reader.get(topic, queue_id, queue_offset, max_messages, max_bytes, matches, wanted)
    low = queue.min_offset(log_min)
    visible_end = queue.search(low, lambda unit: unit[0] + unit[1] > limit)
    nothing_yet = GetResult(GetStatus.OFFSET_OVERFLOW_ONE, queue_offset, low, queue.end)
    if visible_end <= queue_offset < queue.end:
        return nothing_yet
    max_messages = min(max_messages, max(visible_end - queue_offset, 1))
    result = reader.get(topic, queue_id, queue_offset, max_messages, max_bytes, matches, wanted)
    # A filter scans further than it finds: rather nothing for the moment than one too many.
    return nothing_yet if queue_offset < visible_end < result.next_begin_offset else result
