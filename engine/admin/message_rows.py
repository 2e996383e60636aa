"""How a message is shown: as a row of a list, or whole."""

from __future__ import annotations

from typing import Any

from engine.admin.commands import Facts
from engine.admin.times import shown_time
from engine.client.messages import ReceivedMessage
from engine.errors import CorruptRecord

LIST_COLUMNS = ("Message ID", "Broker Name", "QID", "Offset", "Tags", "Keys", "Stored", "Body")
_PREVIEW = 60


def list_row(message: ReceivedMessage, *, with_body: bool = True) -> tuple[object, ...]:
    return (
        message.msg_id,
        message.queue.broker_name,
        message.queue.queue_id,
        message.queue_offset,
        message.tags,
        " ".join(message.keys) or None,
        shown_time(message.store_timestamp),
        preview(message) if with_body else None,
    )


def preview(message: ReceivedMessage) -> str:
    text = body_text(message)
    return text if len(text) <= _PREVIEW else f"{text[:_PREVIEW]}… ({len(text)} characters)"


def body_text(message: ReceivedMessage) -> str:
    """UTF-8 where it is, else hexadecimal; a body that cannot be decompressed says so."""
    try:
        body = message.body
    except CorruptRecord as error:
        return f"<{error.text}>"
    try:
        return body.decode()
    except UnicodeDecodeError:
        return body.hex()


def whole(message: ReceivedMessage) -> Facts:
    record = message.record
    data: dict[str, Any] = {
        "OffsetID": message.offset_msg_id,
        "Message ID": message.msg_id,
        "Topic": record.topic,
        "Tags": message.tags,
        "Keys": " ".join(message.keys) or None,
        "Broker Name": message.queue.broker_name,
        "Queue ID": message.queue.queue_id,
        "Queue Offset": message.queue_offset,
        "CommitLog Offset": message.commit_log_offset,
        "Reconsume Times": record.reconsume_times,
        "Born Timestamp": shown_time(message.born_timestamp),
        "Store Timestamp": shown_time(message.store_timestamp),
        "Born Host": _host(record.born_host),
        "Store Host": _host(record.store_host),
        "System Flag": record.sys_flag,
        "Properties": record.properties,
        "Body": body_text(message),
    }
    return Facts(data)


def _host(host: tuple[str, int]) -> str:
    return f"{host[0]}:{host[1]}"
