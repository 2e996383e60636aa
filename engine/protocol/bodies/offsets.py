"""Tables of offsets: what groups have consumed, where they are sent back to, how far delays are delivered.

`ConsumerOffsetSerializeWrapper` is also consumerOffset.json, `DelayOffsetSerializeWrapper` delayOffset.json,
`OffsetSerializeWrapper` the file in which a broadcasting client keeps its own offsets.
"""

from __future__ import annotations

from typing import Any, Self

from msgspec import field

from engine.protocol import fastjson
from engine.protocol.bodies.basics import DataVersion, MessageQueue
from engine.protocol.wire import Body, Int32, Int64


class ConsumerOffsetSerializeWrapper(Body, frozen=True):
    """Answer to 43; keys are `topic@group`, then queue ids."""

    offset_table: dict[str, dict[Int32, Int64]] = field(default_factory=dict)
    data_version: DataVersion | None = None


class DelayOffsetSerializeWrapper(Body, frozen=True):
    """Answer to 45; keys are delay levels. Older files have no version."""

    offset_table: dict[Int32, Int64] = field(default_factory=dict)
    data_version: DataVersion | None = None


class OffsetSerializeWrapper(Body, frozen=True):
    offset_table: dict[MessageQueue, Int64] = field(default_factory=dict)


class QueueOffset(Body, frozen=True):
    """One item of the list form."""

    topic: str
    broker_name: str
    queue_id: Int32
    offset: Int64

    @property
    def queue(self) -> MessageQueue:
        return MessageQueue(self.topic, self.broker_name, self.queue_id)


class ResetOffsetBody(Body, frozen=True):
    """Answer to 222 and body of 220; the C++ client knows it only as a list."""

    offset_table: dict[MessageQueue, Int64] = field(default_factory=dict)

    @classmethod
    def from_json(cls, obj: Any) -> Self:
        table = obj.get("offsetTable") if isinstance(obj, dict) else None
        if isinstance(table, list):
            listed = [QueueOffset.from_json(item) for item in table]
            return cls({item.queue: item.offset for item in listed})
        # Named, because slots=True replaces the class after super() has bound it.
        return super().from_json(obj)

    def encode_list_form(self) -> bytes:
        items = [
            QueueOffset(queue.topic, queue.broker_name, queue.queue_id, offset).to_json()
            for queue, offset in self.offset_table.items()
        ]
        return fastjson.dumps({"offsetTable": items})


class GetConsumerStatusBody(Body, frozen=True):
    """Answer to 221 (message_queue_table) and to 223 (consumer_table, by client id)."""

    message_queue_table: dict[MessageQueue, Int64] = field(default_factory=dict)
    consumer_table: dict[str, dict[MessageQueue, Int64]] = field(default_factory=dict)


class QueryCorrectionOffsetBody(Body, frozen=True):
    """Answer to 308."""

    correction_offsets: dict[Int32, Int64] = field(default_factory=dict)
