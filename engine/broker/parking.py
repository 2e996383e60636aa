"""Sends that are not for now: which ones, and in which system topic they wait meanwhile. Pure.

Decided behind the checks of the send and before the append; a refusal (13) means that nothing is stored.
"""

from __future__ import annotations

from collections.abc import Mapping

from engine.broker.delays import level_of, park_delayed
from engine.protocol.properties import decode_properties, encode_properties
from engine.store.results import MessageDraft


class Parking:
    """`plan(draft, now_ms)`: the message as it is to be stored, in a system topic if it has to wait."""

    def __init__(self, level_count: int) -> None:
        self._level_count = level_count

    def plan(self, draft: MessageDraft, now_ms: int) -> MessageDraft:
        properties = decode_properties(draft.properties.decode("utf-8", "replace"))
        level = level_of(properties, self._level_count)
        if level:
            return _moved(draft, *park_delayed(draft, properties, level))
        return draft


def _moved(draft: MessageDraft, topic: str, queue_id: int, properties: Mapping[str, str]) -> MessageDraft:
    return draft._replace(
        topic=topic, queue_id=queue_id, properties=encode_properties(dict(properties)).encode()
    )
