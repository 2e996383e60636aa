"""What becomes of a message that was damaged while it waited for its time, once it is whole again. Pure.

A delayed message goes to its topic as soon as its level's time has passed. A timed one whose time has passed
goes to its topic, unless it was called back; one whose time is still to come goes back to the timers in a
fresh record, as one does at the end of a window."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from engine.broker.delivery.parked_messages import draft_of, restored, timed_draft
from engine.broker.delivery.timed_messages import delete_keys, exact_time_ms, out_time_ms
from engine.protocol.names import TIMER_TOPIC
from engine.protocol.properties import Property, encode_properties
from engine.protocol.records import Record, decode_record
from engine.store.results import MessageDraft


@dataclass(frozen=True, slots=True)
class Waited:
    """`draft` is None where nothing is left to be delivered; `due_ms` is when it was to be."""

    draft: MessageDraft | None
    due_ms: int


def delayed_message(record: Record, due_ms: int, now_ms: int) -> Waited | None:
    """None: its time has not come yet."""
    return None if due_ms > now_ms else Waited(restored(record, ()), due_ms)


def timed_message(record: Record, now_ms: int) -> Waited:
    out_ms = out_time_ms(record.properties)
    if out_ms is None:
        return Waited(None, now_ms)
    due_ms = exact_time_ms(record.properties, out_ms, record.store_timestamp)
    if due_ms > now_ms:
        properties = encode_properties(dict(record.properties)).encode()
        return Waited(draft_of(record, TIMER_TOPIC, 0, properties), now_ms)
    is_recall = Property.TIMER_DEL_UNIQKEY in record.properties
    return Waited(None if is_recall else timed_draft(record, now_ms), due_ms)


def was_recalled(record: Record, found: Iterable[bytes]) -> bool:
    """Whether one of the timer's records with this message's key calls it back."""
    keys = delete_keys(record.properties)
    return any(
        decode_record(raw, 0, False).properties.get(Property.TIMER_DEL_UNIQKEY) in keys for raw in found
    )
