"""What lies in rmq_sys_REVIVE_LOG_<cluster>: checkpoints of pops and acknowledgements, in RocketMQ's JSON.

    ck    which messages of one queue were popped, and until when they stay invisible
    ack   one of them was acknowledged
    bAck  several were

An acknowledgement names its checkpoint by topic, group, queue, start offset and pop time.
"""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from engine.protocol.bodies.pop import LONG_NAMES
from engine.protocol.wire import Body, Int32, Int64

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
