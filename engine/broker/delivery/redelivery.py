"""From a message that waited in a system topic to the message that its consumers get. Pure.

The restored message is the sender's: same body, flags, born data, reconsume count and unique key, in the
topic and queue that it was sent to.
"""

from __future__ import annotations

from collections.abc import Iterable

from engine.protocol.hosts import pack_host
from engine.protocol.names import is_valid_topic
from engine.protocol.properties import Property, encode_properties
from engine.protocol.records import Record, decode_record
from engine.store.results import MessageDraft


def restored(
    record: Record, dropped: Iterable[str], added: dict[str, str] | None = None
) -> MessageDraft | None:
    """The message in its real place, without the properties `dropped`; None when it does not say where."""
    properties = record.properties
    topic, queue_text = properties.get(Property.REAL_TOPIC), properties.get(Property.REAL_QID, "")
    if not is_valid_topic(topic) or not queue_text.isdecimal():
        return None
    assert topic is not None
    without = frozenset(dropped)
    kept: dict[str, str | None] = {name: value for name, value in properties.items() if name not in without}
    if added:
        kept.update(added)
    return draft_of(record, topic, int(queue_text), encode_properties(kept).encode())


def draft_of(record: Record, topic: str, queue_id: int, properties: bytes) -> MessageDraft:
    """The record's message once more, elsewhere and with other properties."""
    return MessageDraft(
        topic,
        queue_id,
        record.flag,
        record.sys_flag,
        record.born_timestamp,
        pack_host(record.born_host),
        record.reconsume_times,
        record.prepared_transaction_offset,
        record.body,
        properties,
    )


def was_delivered(found: Iterable[bytes], draft: MessageDraft, due_ms: int) -> bool:
    """Whether one of these records is the draft's delivery: same place, same try, stored when it was due.
    (A recall bears the key of its message, but not its body.)

    Asked after a start only: what was delivered in the seconds before a crash is in the log, but not yet in
    the file of offsets.
    """
    for data in found:
        record = decode_record(data, 0, False)
        if (
            record.queue_id == draft.queue_id
            and record.reconsume_times == draft.reconsume_times
            and record.store_timestamp >= due_ms
            and record.body == draft.body
        ):
            return True
    return False
