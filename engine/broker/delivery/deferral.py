"""Sends that are not for now: which ones, and in which system topic they wait meanwhile. Pure.

Decided behind the checks of the send and before the append; a refusal means that nothing is stored.
"""

from __future__ import annotations

from collections.abc import Mapping

from engine.broker.delivery.delay_levels import level_of, park_delayed
from engine.broker.delivery.timed_messages import asked_time_ms, park_timed, recall_handle
from engine.broker.settings.options import LiveOptions
from engine.errors import Refused
from engine.protocol.message_ids import encode_recall_handle
from engine.protocol.names import TIMER_TOPIC
from engine.protocol.properties import decode_properties, encode_properties
from engine.protocol.sys_flags import TRANSACTION_COMMIT, TRANSACTION_MASK, TRANSACTION_NONE
from engine.store.results import MessageDraft

_MAY_WAIT = (TRANSACTION_NONE, TRANSACTION_COMMIT)


class Parking:
    """`plan(draft, now_ms)`: the message as it is to be stored, in a system topic if it has to wait."""

    def __init__(self, broker_name: str, level_count: int, live: LiveOptions, *, has_timers: bool) -> None:
        self._broker_name = broker_name
        self._level_count = level_count
        self._live = live
        self._has_timers = has_timers

    def plan(self, draft: MessageDraft, now_ms: int) -> MessageDraft:
        if draft.topic == TIMER_TOPIC or draft.sys_flag & TRANSACTION_MASK not in _MAY_WAIT:
            return draft
        properties = decode_properties(draft.properties.decode("utf-8", "replace"))
        level = level_of(properties, self._level_count)
        if level:
            return _moved(draft, *park_delayed(draft, properties, level))
        deliver_ms = asked_time_ms(properties, now_ms)
        if deliver_ms is None:
            return draft
        if not self._has_timers:
            raise Refused("timed messages are switched off: timerWheelEnable=false")
        parked = park_timed(draft, properties, deliver_ms, now_ms, self._live.timer_max_delay_sec)
        return draft if parked is None else _moved(draft, *parked)

    def recall_handle(self, parked: MessageDraft) -> str | None:
        """What the producer of a timed message is given to call it back with."""
        if parked.topic != TIMER_TOPIC:
            return None
        properties = decode_properties(parked.properties.decode("utf-8", "replace"))
        handle = recall_handle(properties, self._broker_name)
        return None if handle is None else encode_recall_handle(handle)


def _moved(draft: MessageDraft, topic: str, queue_id: int, properties: Mapping[str, str]) -> MessageDraft:
    return draft._replace(
        topic=topic, queue_id=queue_id, properties=encode_properties(dict(properties)).encode()
    )
