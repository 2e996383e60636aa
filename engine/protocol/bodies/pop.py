"""Bodies of POP consumption: acknowledging many messages at once (200151), and what lies in
rmq_sys_REVIVE_LOG_<cluster>, in RocketMQ's JSON.

The acknowledged offsets of one handle are a bit set relative to the handle's first offset: base64 of bytes in
which bit 0 of byte 0 is the first offset. A message of the revive log has one of three tags:

    ck    which messages of one queue were popped, and until when they stay invisible
    ack   one of them was acknowledged
    bAck  several were

An acknowledgement names its checkpoint by topic, group, queue, start offset and pop time.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from typing import ClassVar

from msgspec import field

from engine.errors import BadRequest
from engine.protocol.wire import Body, Int32, Int64

MAX_BIT_SET_BYTES = 4096
"""A pop gives at most 32 messages; anything near this size is not an acknowledgement."""

LONG_NAMES = {
    "ao": "ackOffset",
    "aol": "ackOffsetList",
    "b": "bitSet",
    "bm": "bitMap",
    "bn": "brokerName",
    "c": "consumerGroup",
    "d": "queueOffsetDiff",
    "it": "invisibleTime",
    "n": "num",
    "pt": "popTime",
    "q": "queueId",
    "r": "retry",
    "ro": "reviveOffset",
    "rq": "reviveQueueId",
    "so": "startOffset",
    "t": "topic",
}
"""What older brokers and clients write in the bodies of pops, by the short names of today."""


class BatchAck(Body, frozen=True):
    """Short names are written, long ones read too; retry is "0", "1" or "2" as in the handle."""

    also: ClassVar = LONG_NAMES

    consumer_group: str = field(default="", name="c")
    topic: str = field(default="", name="t")
    retry: str = field(default="0", name="r")
    start_offset: Int64 = field(default=0, name="so")
    queue_id: Int32 = field(default=0, name="q")
    revive_queue_id: Int32 = field(default=0, name="rq")
    pop_time: Int64 = field(default=0, name="pt")
    invisible_time: Int64 = field(default=0, name="it")
    bit_set: str = field(default="", name="b")

    def acked_offsets(self) -> list[int]:
        """Queue offsets, ascending."""
        bits = self._bits()
        return [self.start_offset + index for index in range(bits.bit_length()) if bits >> index & 1]

    def acked_of(self, queue_offsets: Iterable[int]) -> list[int]:
        """Those of these offsets that are acknowledged: a set of many bits costs no more than one of few."""
        bits, start = self._bits(), self.start_offset
        return [offset for offset in queue_offsets if offset >= start and bits >> offset - start & 1]

    def _bits(self) -> int:
        if len(self.bit_set) > MAX_BIT_SET_BYTES:
            raise BadRequest("the bit set of a batch acknowledgement is too long")
        try:
            octets = base64.b64decode(self.bit_set, validate=True)
        except (binascii.Error, ValueError):
            raise BadRequest("the bit set of a batch acknowledgement is not base64") from None
        return int.from_bytes(octets, "little")


def encode_bit_set(start_offset: int, offsets: Iterable[int]) -> str:
    bits = 0
    for offset in offsets:
        bits |= 1 << (offset - start_offset)
    return base64.b64encode(bits.to_bytes((bits.bit_length() + 7) // 8, "little")).decode("ascii")


class BatchAckMessageRequestBody(Body, frozen=True):
    broker_name: str = ""
    acks: tuple[BatchAck, ...] = ()


CHECKPOINT_TAG = "ck"
ACK_TAG = "ack"
BATCH_ACK_TAG = "bAck"

CheckpointKey = tuple[str, str, int, int, int]
"""(topic, group, queue id, start offset, pop time)"""


class PopCheckpoint(Body, frozen=True):
    also: ClassVar = LONG_NAMES | {"c": "cid"}

    start_offset: Int64 = field(default=0, name="so")
    pop_time: Int64 = field(default=0, name="pt")
    invisible_time: Int64 = field(default=0, name="it")
    bit_map: Int32 = field(default=0, name="bm")
    num: Int32 = field(default=0, name="n")
    queue_id: Int32 = field(default=0, name="q")
    topic: str = field(default="", name="t")
    group: str = field(default="", name="c")
    revive_offset: Int64 = field(default=0, name="ro")
    diffs: tuple[Int32, ...] = field(default=(), name="d")
    broker_name: str | None = field(default=None, name="bn")

    @property
    def key(self) -> CheckpointKey:
        return self.topic, self.group, self.queue_id, self.start_offset, self.pop_time

    @property
    def revive_time_ms(self) -> int:
        return self.pop_time + self.invisible_time

    def offsets(self) -> list[int]:
        """Without diffs (as old brokers write it) the messages follow each other."""
        diffs = self.diffs or range(self.num)
        return [self.start_offset + diff for diff in diffs]

    def unique_key(self) -> str:
        return _unique_key(self, str(self.start_offset), CHECKPOINT_TAG)


class PopAck(Body, frozen=True):
    """`offsets` is there when several were acknowledged (bAck), and `offset` is then the first."""

    also: ClassVar = LONG_NAMES

    offset: Int64 = field(default=0, name="ao")
    start_offset: Int64 = field(default=0, name="so")
    group: str = field(default="", name="c")
    topic: str = field(default="", name="t")
    queue_id: Int32 = field(default=0, name="q")
    pop_time: Int64 = field(default=0, name="pt")
    broker_name: str | None = field(default=None, name="bn")
    offsets: tuple[Int64, ...] | None = field(default=None, name="aol")

    @property
    def key(self) -> CheckpointKey:
        return self.topic, self.group, self.queue_id, self.start_offset, self.pop_time

    @property
    def tag(self) -> str:
        return ACK_TAG if self.offsets is None else BATCH_ACK_TAG

    def acked_offsets(self) -> tuple[int, ...]:
        return (self.offset,) if self.offsets is None else self.offsets

    def unique_key(self) -> str:
        what = str(self.offset) if self.offsets is None else str(list(self.offsets))
        return _unique_key(self, what, self.tag)


def _unique_key(body: PopCheckpoint | PopAck, offset: str, tag: str) -> str:
    return f"{body.topic}@{body.queue_id}@{offset}@{body.group}@{body.pop_time}@{body.broker_name}@{tag}"
