"""A pop or a notification as admitted: whose it is, which queues it is about, until when it waits. Pure."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from msgspec import Struct

from engine.broker.pulling.filters import MessageFilter
from engine.broker.pulling.long_polls import ALL_QUEUES
from engine.protocol.names import is_retry_topic, pop_retry_topic, pop_retry_topic_v1

Place = tuple[str, int]
"""(topic, queue id)"""

RETRY_FIRST_PERCENT = 20
_MARGIN_MS = 50
"""An empty answer leaves this long before the client's own time is up."""
_MAX_POLL_MS = 60_000


class PopRequest(Struct, frozen=True, eq=False, gc=False):
    """Small, because many may wait (`outcomes.Poll`)."""

    topic: str
    group: str
    queue_id: int
    count: int
    invisible_ms: int
    init_mode: int
    is_ordered: bool
    attempt_id: str | None
    wanted: MessageFilter
    deadline_ms: int
    repaired_at: int = -1
    """The commit-log offset of a damaged record that this pop has waited for."""

    @property
    def waiting_key(self) -> Hashable:
        return waiting_key(self.topic, self.group, self.queue_id)


ALL_POPS = ("pops",)
"""What all long polls are counted under."""


def waiting_key(topic: str, group: str, queue_id: int) -> Hashable:
    """What the long polls of one group for one queue (-1: all) are counted and woken under."""
    return "pop", topic, group, queue_id


def poll_deadline_ms(poll_ms: int, now_ms: int) -> int:
    """By our own clock: that of the client may be wrong."""
    return now_ms + min(poll_ms, _MAX_POLL_MS) - _MARGIN_MS


def retry_topics(topic: str, group: str) -> tuple[str, ...]:
    """Where messages of this topic may have come back for this group."""
    if is_retry_topic(topic):
        return ()
    return pop_retry_topic_v1(group, topic), pop_retry_topic(group, topic)


def waited_for(topic: str, group: str, queue_id: int) -> tuple[Place, ...]:
    """What a long poll is parked under: one queue or all of the topic, and what comes back for its group."""
    return (topic, queue_id if queue_id >= 0 else ALL_QUEUES), *((t, 0) for t in retry_topics(topic, group))


def queues_of(topic: str, queue_id: int, queue_nums: int, first: int = 0) -> list[Place]:
    if queue_id >= 0:
        return [(topic, queue_id)]
    return [(topic, (first + number) % queue_nums) for number in range(queue_nums)]


def places_of(
    request: PopRequest, queue_nums: int, retries: list[Place], draw: Callable[[int], int]
) -> list[Place]:
    """The queues in the order in which they are read: from a random one on, what came back mostly last."""
    dice = draw(100)
    places = queues_of(request.topic, request.queue_id, queue_nums, dice)
    if request.is_ordered:
        return places
    return retries + places if dice < RETRY_FIRST_PERCENT else places + retries
