"""What lies in rmq_sys_REVIVE_LOG_<cluster>: checkpoints of pops and acknowledgements, in RocketMQ's JSON.

    ck    which messages of one queue were popped, and until when they stay invisible
    ack   one of them was acknowledged
    bAck  several were

An acknowledgement names its checkpoint by topic, group, queue, start offset and pop time.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.protocol.wire import Body, Int32, Int64, named

CHECKPOINT_TAG = "ck"
ACK_TAG = "ack"
BATCH_ACK_TAG = "bAck"

CheckpointKey = tuple[str, str, int, int, int]
"""(topic, group, queue id, start offset, pop time)"""


@dataclass(frozen=True, slots=True)
class PopCheckpoint(Body):
    start_offset: Int64 = field(default=0, metadata=named("so", "startOffset"))
    pop_time: Int64 = field(default=0, metadata=named("pt", "popTime"))
    invisible_time: Int64 = field(default=0, metadata=named("it", "invisibleTime"))
    bit_map: Int32 = field(default=0, metadata=named("bm", "bitMap"))
    num: Int32 = field(default=0, metadata=named("n", "num"))
    queue_id: Int32 = field(default=0, metadata=named("q", "queueId"))
    topic: str = field(default="", metadata=named("t", "topic"))
    group: str = field(default="", metadata=named("c", "cid"))
    revive_offset: Int64 = field(default=0, metadata=named("ro", "reviveOffset"))
    diffs: tuple[Int32, ...] = field(default=(), metadata=named("d", "queueOffsetDiff"))
    broker_name: str | None = field(default=None, metadata=named("bn", "brokerName"))

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


@dataclass(frozen=True, slots=True)
class PopAck(Body):
    """`offsets` is there when several were acknowledged (bAck), and `offset` is then the first."""

    offset: Int64 = field(default=0, metadata=named("ao", "ackOffset"))
    start_offset: Int64 = field(default=0, metadata=named("so", "startOffset"))
    group: str = field(default="", metadata=named("c", "consumerGroup"))
    topic: str = field(default="", metadata=named("t", "topic"))
    queue_id: Int32 = field(default=0, metadata=named("q", "queueId"))
    pop_time: Int64 = field(default=0, metadata=named("pt", "popTime"))
    broker_name: str | None = field(default=None, metadata=named("bn", "brokerName"))
    offsets: tuple[Int64, ...] | None = field(default=None, metadata=named("aol", "ackOffsetList"))

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
