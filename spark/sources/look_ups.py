"""Where the queues of wanted topics can be followed instead of walking through the log.

Looking up must find what walking would find, so queues are believed only where they are complete: behind
their first unit (a topic that was deleted and made again left messages without units before it) and before
the place that dispatch had certainly reached. What no queue ever lists, in no broker, are messages that a
client itself marked as prepared or rolled back: a filter on a topic does not find these.
"""

from __future__ import annotations

from collections.abc import Sequence

from spark.sources.boundaries import CLOCK_MARGIN_MS, PART_BYTES, boundaries
from spark.sources.files import File
from spark.sources.logs import Log
from spark.sources.queue_units import QueueReader, open_queue, queue_folders
from spark.sources.record_search import store_time_at
from spark.sources.segments import Segment
from spark.sources.stores import Store
from spark.sources.wanted import FIRST, LAST, Span, Wanted

__all__ = ["look_up_bytes", "looked_up"]

_MOST_TOPICS = 64
_UNITS_PER_PART = 50_000


def looked_up(log: Log, wanted: Wanted, span: Span) -> tuple[Span, tuple[str, ...]]:
    """The part of the span in which the wanted topics' queues are complete, and their folders."""
    nothing = Span(0, 0), ()
    if wanted.topics is None or not 0 < len(wanted.topics) <= _MOST_TOPICS or log.store.is_archive:
        return nothing
    folders: list[str] = []
    for topic in sorted(wanted.topics):
        of_topic = queue_folders(log.store.place, topic)
        if of_topic is None:
            return nothing
        folders += of_topic
    if wanted.queue_ids is not None:
        folders = [folder for folder in folders if int(folder.rpartition("/")[2]) in wanted.queue_ids]
    complete_from = _first_unit(log, folders)
    return span.within(complete_from, _dispatched(log)), tuple(folders)


def _first_unit(log: Log, folders: Sequence[str]) -> int:
    """Where in the log the queues begin: from there on, every message of theirs has a unit."""
    firsts = []
    for folder in folders:
        queue = open_queue(folder)
        if queue is not None:
            firsts.append(_begins_at(queue, log.start_offset))
            queue.close()
    return min((first for first in firsts if first is not None), default=LAST)


def _begins_at(queue: QueueReader, log_start: int) -> int | None:
    """None for a queue without units. One whose first units are already deleted, or point before the log,
    was there before the log's beginning."""
    if queue.first == queue.end:
        return None
    first = queue.search(0)
    unit = queue.unit(first)
    if queue.first > 0 and first == queue.first:
        return log_start
    return None if unit is None else max(unit[0], log_start)


def _dispatched(log: Log) -> int:
    """The place that dispatch had certainly reached: of other brokers only a time is known."""
    if log.dispatched_offset is not None:
        return log.dispatched_offset
    if log.dispatched_ms is None:
        return FIRST
    for segment in reversed(log.segments):
        with File(segment.place) as file:
            reached = _reached_in(log.store, file, segment, log.dispatched_ms - CLOCK_MARGIN_MS)
        if reached is not None:
            return reached
    return FIRST


def _reached_in(store: Store, file: File, segment: Segment, before_ms: int) -> int | None:
    """The last boundary of a segment that was stored before that time; None when all of it is younger."""
    borders = boundaries(store, file, segment, segment.base_offset, segment.end_offset, PART_BYTES // 4)
    for border in [*reversed(borders), segment.base_offset]:
        stored_ms = store_time_at(file, segment, border)
        if stored_ms is not None and stored_ms < before_ms:
            return border
    return None


def look_up_bytes(folders: Sequence[str], span: Span) -> int:
    """How much of the log a task should look along, so that it finds enough to be worth its start."""
    units = 0
    for folder in folders:
        queue = open_queue(folder)
        if queue is not None:
            units += queue.search(span.end) - queue.search(span.start)
            queue.close()
    return (span.end - span.start) * _UNITS_PER_PART // max(units, 1)
