"""Popped messages that come back: in which retry topic, and what they look like there. Pure."""

from __future__ import annotations

from engine.broker.delivery.parked_messages import draft_of
from engine.protocol.names import is_retry_topic, pop_retry_topic, pop_retry_topic_v1
from engine.protocol.properties import Property, encode_properties
from engine.protocol.records import Record
from engine.store.results import MessageDraft


def retry_draft(record: Record, topic: str, pop_time_ms: int) -> MessageDraft:
    """The message once more, in the retry topic, all its properties kept."""
    properties: dict[str, str | None] = {**record.properties}
    properties.setdefault(Property.FIRST_POP_TIME, str(pop_time_ms))
    draft = draft_of(record, topic, 0, encode_properties(properties).encode())
    return draft._replace(reconsume_times=record.reconsume_times + 1)


def comes_back_in(topic: str, group: str, *, is_v2: bool) -> str:
    """The retry topic of a message that was popped from `topic`; what lies in one already stays there."""
    if is_retry_topic(topic):
        return topic
    return pop_retry_topic(group, topic) if is_v2 else pop_retry_topic_v1(group, topic)
