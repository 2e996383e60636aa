"""What a pop reads from its queues, and the answer that it makes of it.

The group's offset moves by `advance`. A group that never consumed a queue begins at its start or, when it
asks for the end, before the last message: but at 0 as long as the queue's first message is in memory. An
offset that the queue does not have is corrected and committed at once.

In the answer, messages from the group's retry topic have the topic that was asked for, with their receipt
handle among the properties: that is how the client tells them from the others. Loop thread only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from engine.broker.delivery.parked_messages import encoded_as
from engine.broker.offsets.offset_table import ConsumerOffsets
from engine.broker.pop.orders import OrderTable
from engine.broker.pulling.filters import MessageFilter
from engine.net.outcomes import Reply
from engine.protocol.codes import ResponseCode
from engine.protocol.headers.pop import PopMessageResponse
from engine.protocol.names import is_retry_topic
from engine.protocol.pop_handles import (
    NORMAL,
    PopHandle,
    QueueMark,
    encode_offsets,
    encode_order_counts,
    encode_start_offsets,
    retry_flag,
)
from engine.protocol.properties import Property
from engine.protocol.record_layout import RECORD_HEAD
from engine.protocol.records import decode_records
from engine.store.queues.message_queues import MessageQueues
from engine.store.results import GetResult, GetStatus

INIT_MAX = 1
_CORRECTED = {
    GetStatus.OFFSET_TOO_SMALL,
    GetStatus.OFFSET_OVERFLOW_BADLY,
    GetStatus.NO_MATCHED_MESSAGE,
    GetStatus.MESSAGE_WAS_REMOVING,
}
_MAX_STEPS = 8
"""A pop skips messages that its filter rejects, in at most so many reads: other requests wait."""


def queue_offsets(body: bytes) -> list[int]:
    """Of the records that follow each other in this body."""
    offsets: list[int] = []
    at = 0
    while at < len(body):
        head = RECORD_HEAD.unpack_from(body, at)
        offsets.append(head[5])
        at += head[0]
    return offsets


@dataclass(eq=False, repr=False)
class QueueReads:
    queues: MessageQueues
    offsets: ConsumerOffsets
    orders: OrderTable

    def position(self, topic: str, group: str, queue_id: int, init_mode: int) -> int:
        if self.offsets.take_reset(topic, group, queue_id) is not None:
            self.orders.forget(topic, group, queue_id)
        committed = self.offsets.committed(topic, group, queue_id)
        if committed is not None:
            return committed
        begin = self._first(topic, queue_id, init_mode)
        if self.queues.max_offset(topic, queue_id):
            self.advance(topic, group, queue_id, begin)
        return begin

    def _first(self, topic: str, queue_id: int, init_mode: int) -> int:
        low = self.queues.min_offset(topic, queue_id)
        if init_mode != INIT_MAX or is_retry_topic(topic):
            return low
        if low == 0 and self.queues.is_hot(topic, queue_id, 0):
            return 0
        return max(self.queues.max_offset(topic, queue_id) - 1, low)

    def advance(self, topic: str, group: str, queue_id: int, queue_offset: int) -> None:
        self.offsets.give(topic, group, queue_id, queue_offset)

    def rest(self, topic: str, group: str, queue_id: int) -> int:
        """How many messages the group has not been given yet."""
        committed = self.offsets.committed(topic, group, queue_id)
        begin = self.queues.min_offset(topic, queue_id) if committed is None else committed
        return max(0, self.queues.max_offset(topic, queue_id) - begin)

    def read(
        self, topic: str, group: str, queue_id: int, count: int, wanted: MessageFilter, init_mode: int
    ) -> tuple[int, GetResult | None]:
        """Where the read begins, and its result; None: there is nothing to pop now."""
        begin = self.position(topic, group, queue_id, init_mode)
        for _ in range(_MAX_STEPS):
            if begin == self.queues.max_offset(topic, queue_id):
                return begin, None
            result = self.queues.get(topic, queue_id, begin, count, None, wanted.tags, wanted.wanted)
            if result.status in (GetStatus.FOUND, GetStatus.MESSAGE_DAMAGED):
                return begin, result
            if result.status not in _CORRECTED or result.next_begin_offset == begin:
                return begin, None
            begin = result.next_begin_offset
            self.advance(topic, group, queue_id, begin)
        return begin, None


@dataclass(eq=False, repr=False)
class PopAnswer:
    topic: str
    group: str
    broker_name: str
    pop_time_ms: int
    invisible_ms: int
    revive_queue_id: int
    _bodies: list[bytes] = field(default_factory=list, init=False)
    _starts: dict[QueueMark, int] = field(default_factory=dict, init=False)
    _offsets: dict[QueueMark, Sequence[int]] = field(default_factory=dict, init=False)
    _counts: dict[QueueMark, dict[int, int]] = field(default_factory=dict, init=False)
    count: int = field(default=0, init=False)
    rest: int = field(default=0, init=False)

    def add(
        self,
        topic: str,
        queue_id: int,
        start_offset: int,
        queue_offsets: Sequence[int],
        body: bytes,
        counts: dict[int, int] | None = None,
    ) -> None:
        mark = retry_flag(topic, self.group), queue_id
        if mark[0] != NORMAL and topic != self.topic:
            body = self._shown(mark, start_offset, body)
        self._bodies.append(body)
        self._starts[mark] = start_offset
        self._offsets[mark] = queue_offsets
        if counts:
            self._counts[mark] = counts
        self.count += len(queue_offsets)

    def _shown(self, mark: QueueMark, start_offset: int, body: bytes) -> bytes:
        """The same records as messages of the topic that was asked for."""
        flag, queue_id = mark
        shown: list[bytes] = []
        for record in decode_records(body, check_crc=False):
            handle = PopHandle(
                start_offset,
                self.pop_time_ms,
                self.invisible_ms,
                self.revive_queue_id,
                flag,
                self.broker_name,
                queue_id,
                record.queue_offset,
            )
            properties = {**record.properties, Property.POP_CK: handle.encode()}
            shown.append(encoded_as(record, self.topic, queue_id, properties))
        return b"".join(shown)

    def reply(self) -> Reply:
        header = PopMessageResponse(
            self.pop_time_ms,
            self.invisible_ms,
            self.revive_queue_id,
            self.rest,
            encode_start_offsets(self._starts),
            encode_offsets(self._offsets),
            encode_order_counts(self._counts),
        )
        return Reply(ResponseCode.SUCCESS, "FOUND", header.encode(), b"".join(self._bodies))

    def nothing(self, code: ResponseCode) -> Reply:
        header = PopMessageResponse(self.pop_time_ms, self.invisible_ms, self.revive_queue_id, self.rest)
        return Reply(code, "NO_MESSAGE_IN_QUEUE", header.encode())
