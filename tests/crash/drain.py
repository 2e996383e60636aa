"""Reads every queue from its first message to its last: what is in the log now, as a reader sees it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.crash import requests as rq
from tests.crash.checker.events import CRASH, DRAIN, NEMESIS, Event, History
from tests.crash.load import GROUP, QUEUES, TOPIC, assign_event, front_event, stored_value
from tests.crash.wire import Address, Link, Stored, decode_stored

_PULL_TIMEOUT_S = 10.0


def mark_event(key: str) -> Event:
    now = time.monotonic()
    return Event(NEMESIS, "nemesis", now, now, key=key)


@contextmanager
def crashing(history: History) -> Iterator[None]:
    """Around the kill: the mark lasts until the process is gone, because it answers until then."""
    begun = time.monotonic()
    yield
    history.add(Event(NEMESIS, "nemesis", begun, time.monotonic(), key=CRASH))


def drain(
    address: Address, history: History, *, topic: str = TOPIC, queues: int = QUEUES, node: str = ""
) -> list[Stored]:
    """Marks the history, then reads all; the stored messages come back too, queue by queue."""
    history.add(mark_event(DRAIN))
    proc = f"drain-{time.monotonic():.3f}"
    messages: list[Stored] = []
    with Link(address) as link:
        for queue in range(queues):
            least = first_offset(link, topic, queue)
            found = list(read_queue(link, topic, queue, offset=least))
            first = found[0].queue_offset if found else least
            history.add(assign_event(proc, queue, first, topic), front_event(proc, queue, first, topic, node))
            now = time.monotonic()
            history.add(
                *(
                    Event("pull", proc, now, now, "ok", topic, queue, "", stored_value(m), m.queue_offset)
                    for m in found
                )
            )
            messages.extend(found)
    return messages


def first_offset(link: Link, topic: str, queue: int) -> int:
    """Where the queue begins; 0 when it was never written."""
    answer = link.call(rq.GET_MIN_OFFSET, rq.queue_fields(topic, queue))
    return max(int(answer.fields.get("offset", "0")), 0)


def read_queue(
    link: Link, topic: str, queue: int, *, group: str = GROUP, offset: int | None = None
) -> Iterator[Stored]:
    """From the queue's minimum (or from `offset`) to its end; a queue that was never written is empty."""
    offset = first_offset(link, topic, queue) if offset is None else offset
    while True:
        fields = rq.pull_fields(topic, group, queue, offset)
        answer = link.call(rq.PULL, fields, timeout_s=_PULL_TIMEOUT_S)
        if answer.code not in rq.PULL_CODES:
            raise AssertionError(f"pull at {offset} was answered with {answer.code}: {answer.remark}")
        if answer.code == rq.SUCCESS:
            yield from decode_stored(answer.body)
        following = int(answer.fields["nextBeginOffset"])
        if following <= offset:
            return
        offset = following
