"""What applications hand to a producer, what they get back, and what a consumer hands to them.

Values only: nothing here sends, reads a clock or knows a connection. A `Message` is filled by the application
and never changed by us, so it may be sent again; what a send adds (unique key, compression) is kept
elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.compression import decompress
from engine.protocol.hosts import Host
from engine.protocol.properties import Property
from engine.protocol.records import Record
from engine.protocol.sys_flags import COMPRESSED

MAX_PLAIN_BODY_BYTES = 64 * 1024 * 1024
"""The limit of a decompressed body: a short body can expand enormously."""


@dataclass(slots=True)
class Message:
    """A message to be sent.

    `tags` is the one tag that subscriptions select by, `keys` are indexed for queries, `properties` are the
    application's own. At most one of these makes it wait: `delay_level` (1 to 18 of the broker's levels),
    `delay_ms` or `delay_s` from when the broker takes it, or `deliver_at_ms`, a time since 1970. `msg_id` is
    made by the send; to find a message whose answer was lost, set it beforehand (`Producer.new_msg_id`).
    Batches always make their own.

    >>> Message("orders", b"17 teapots", tags="paid", keys=["order-17"]).keys
    ['order-17']
    """

    topic: str
    body: bytes
    tags: str | None = None
    keys: str | Iterable[str] = ()
    properties: dict[str, str] = field(default_factory=dict)
    flag: int = 0
    delay_level: int = 0
    deliver_at_ms: int = 0
    delay_ms: int = 0
    delay_s: float = 0
    msg_id: str = ""

    @property
    def is_for_later(self) -> bool:
        return bool(self.delay_level or self.deliver_at_ms or self.delay_ms or self.delay_s)


class SendStatus(Enum):
    """The result of a send that ended without an error."""

    SEND_OK = "SEND_OK"
    FLUSH_DISK_TIMEOUT = "FLUSH_DISK_TIMEOUT"
    FLUSH_SLAVE_TIMEOUT = "FLUSH_SLAVE_TIMEOUT"
    SLAVE_NOT_AVAILABLE = "SLAVE_NOT_AVAILABLE"
    HANDED_OVER = "HANDED_OVER"
    """One-way (`acks=0`): written to the connection; whether it arrived is unknown."""


class SendResult(NamedTuple):
    """Where a message went. A tuple, because one is made per send.

    For a batch, `msg_id` and `offset_msg_id` are the ids of its messages joined by commas and `queue_offset`
    is that of the first one; the others follow without gaps.
    """

    status: SendStatus
    msg_id: str
    offset_msg_id: str
    queue: MessageQueue
    queue_offset: int
    transaction_id: str | None = None
    recall_handle: str | None = None
    """What `Producer.recall` needs; for messages with a time or a delay (not a level), from RocketMQ 5 on."""


class ReceivedMessage:
    """A message as a consumer gets it.

    `topic` is the one it was sent to, also when it comes back through a retry topic. `queue` and
    `queue_offset` are where it was read. `body` is decompressed at first use and raises CorruptRecord when
    that fails, which a consumer treats as any other failure to consume.
    """

    __slots__ = ("_body", "queue", "reconsume_times", "record", "topic")

    def __init__(self, record: Record, queue: MessageQueue) -> None:
        self.record = record
        self.queue = queue
        self.topic = record.properties.get(Property.RETRY_TOPIC) or record.topic
        self.reconsume_times = record.reconsume_times
        self._body: bytes | None = None if record.sys_flag & COMPRESSED else record.body

    def __repr__(self) -> str:
        return (
            f"<message {self.msg_id} of {self.queue} at {self.queue_offset}, {len(self.record.body)} bytes>"
        )

    @property
    def body(self) -> bytes:
        if self._body is None:
            self._body = decompress(self.record.body, self.record.sys_flag, MAX_PLAIN_BODY_BYTES)
        return self._body

    @property
    def msg_id(self) -> str:
        """The id that the producer gave, which stays the same through retries; else the offset id."""
        return self.record.uniq_key or self.record.offset_msg_id

    @property
    def offset_msg_id(self) -> str:
        return self.record.offset_msg_id

    @property
    def tags(self) -> str | None:
        return self.record.tags

    @property
    def keys(self) -> list[str]:
        return self.record.keys

    @property
    def properties(self) -> dict[str, str]:
        return self.record.properties

    @property
    def flag(self) -> int:
        return self.record.flag

    @property
    def queue_offset(self) -> int:
        return self.record.queue_offset

    @property
    def commit_log_offset(self) -> int:
        return self.record.commit_log_offset

    @property
    def born_timestamp(self) -> int:
        return self.record.born_timestamp

    @property
    def born_host(self) -> Host:
        return self.record.born_host

    @property
    def store_timestamp(self) -> int:
        return self.record.store_timestamp

    @property
    def store_host(self) -> Host:
        return self.record.store_host
