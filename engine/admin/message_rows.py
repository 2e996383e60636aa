"""Messages as results: rows of a list, or one message in full."""

from __future__ import annotations

from collections.abc import Iterable

from engine.admin.results import Facts, Table
from engine.admin.times import shown_time
from engine.client import ReceivedMessage
from engine.errors import CorruptRecord

_COLUMNS = ("Message ID", "Broker Name", "QID", "Offset", "Tags", "Keys", "Stored", "Body")
_PREVIEW_CHARACTERS = 60


def message_list(messages: Iterable[ReceivedMessage], *, with_body: bool = True) -> Table:
    rows = [
        (
            message.msg_id,
            message.queue.broker_name,
            message.queue.queue_id,
            message.queue_offset,
            message.tags,
            " ".join(message.keys) or None,
            shown_time(message.store_timestamp),
            _preview(_body_text(message)) if with_body else None,
        )
        for message in messages
    ]
    return Table(_COLUMNS, rows)


def _preview(text: str) -> str:
    if len(text) <= _PREVIEW_CHARACTERS:
        return text
    return f"{text[:_PREVIEW_CHARACTERS]}… ({len(text)} characters)"


def _body_text(message: ReceivedMessage) -> str:
    """UTF-8 if it is, else hexadecimal; a body that cannot be decompressed says so."""
    try:
        body = message.body
    except CorruptRecord as error:
        return f"<{error.text}>"
    try:
        return body.decode()
    except UnicodeDecodeError:
        return body.hex()


def message_details(message: ReceivedMessage) -> Facts:
    record = message.record
    return Facts(
        {
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
            "Body": _body_text(message),
        }
    )


def _host(host: tuple[str, int]) -> str:
    return f"{host[0]}:{host[1]}"
