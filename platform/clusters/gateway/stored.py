"""A message as it lies on a broker, as a value for the rest of the console, which knows no engine.client.

The body is as its producer sent it: decompressed within the engine's limit, or `None` with the reason in
`body_fault` when that fails. Nothing here decides who may see what.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.client.messages import ReceivedMessage
from engine.errors import EngineError
from engine.protocol.compression import decompress
from engine.protocol.names import is_dlq_topic, is_retry_topic
from engine.protocol.properties import Property
from engine.protocol.sys_flags import COMPRESSED

MAX_BODY_BYTES = 16 * 1024 * 1024
"""No body that the console shows or sends again grows beyond this, whatever its few bytes promise."""


@dataclass(frozen=True, slots=True)
class StoredMessage:
    topic: str
    """Where it lies: of a dead letter, the %DLQ% topic."""
    broker: str
    queue: int
    queue_offset: int
    commit_log_offset: int
    offset_id: str
    msg_id: str
    born_ms: int
    born_host: str
    stored_ms: int
    store_host: str
    size: int
    flag: int
    sys_flag: int
    reconsume_times: int
    properties: dict[str, str]
    body: bytes | None = field(repr=False)
    body_fault: str = ""

    @property
    def keys(self) -> list[str]:
        return self.properties.get(Property.KEYS, "").split()

    @property
    def tags(self) -> str | None:
        return self.properties.get(Property.TAGS)

    @property
    def origin_topic(self) -> str:
        """The topic that it was sent to first, as far as its properties say."""
        properties = self.properties
        if is_dlq_topic(self.topic) or is_retry_topic(self.topic):
            return (
                properties.get(Property.DLQ_ORIGIN_TOPIC)
                or properties.get(Property.RETRY_TOPIC)
                or self.topic
            )
        return properties.get(Property.REAL_TOPIC) or self.topic

    @property
    def topics(self) -> tuple[str, ...]:
        """Every topic whose masks hold for it."""
        return tuple(dict.fromkeys((self.topic, self.origin_topic)))

    @property
    def is_compressed(self) -> bool:
        return bool(self.sys_flag & COMPRESSED)


def stored(message: ReceivedMessage) -> StoredMessage:
    record = message.record
    body, fault = _plain(record.body, record.sys_flag)
    return StoredMessage(
        topic=record.topic,
        broker=message.queue.broker_name,
        queue=record.queue_id,
        queue_offset=record.queue_offset,
        commit_log_offset=record.commit_log_offset,
        offset_id=record.offset_msg_id,
        msg_id=message.msg_id,
        born_ms=record.born_timestamp,
        born_host=_address(record.born_host),
        stored_ms=record.store_timestamp,
        store_host=_address(record.store_host),
        size=record.size,
        flag=record.flag,
        sys_flag=record.sys_flag,
        reconsume_times=record.reconsume_times,
        properties=dict(record.properties),
        body=body,
        body_fault=fault,
    )


def _plain(body: bytes, sys_flag: int) -> tuple[bytes | None, str]:
    try:
        return decompress(body, sys_flag, MAX_BODY_BYTES), ""
    except EngineError as error:
        return None, error.text


def _address(host: tuple[str, int]) -> str:
    return f"[{host[0]}]:{host[1]}" if ":" in host[0] else f"{host[0]}:{host[1]}"
