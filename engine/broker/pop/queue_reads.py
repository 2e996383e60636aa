"""Where a group pops next in a queue, and what lies there. Reads; the group's offset moves by `advance`.

A group that never consumed a queue begins at its start or, when it asks for the end, before the last message:
but still at 0 when the queue is so young that its first message is at hand. An offset that the queue does not
have is corrected and committed at once. Loop thread only.
"""

from __future__ import annotations

import struct

from engine.broker.offsets.offset_table import ConsumerOffsets
from engine.broker.pop.orders import OrderTable
from engine.broker.pulling.filters import MessageFilter
from engine.protocol.names import is_retry_topic
from engine.store.message_store import MessageStore
from engine.store.results import GetResult, GetStatus

INIT_MAX = 1
_SIZE_AND_OFFSET = struct.Struct(">i16xq")
_CORRECTED = {
    GetStatus.OFFSET_TOO_SMALL,
    GetStatus.OFFSET_OVERFLOW_BADLY,
    GetStatus.NO_MATCHED_MESSAGE,
    GetStatus.MESSAGE_WAS_REMOVING,
}
_MAX_STEPS = 8
"""A pop goes on behind messages that the group does not want, but not for ever: others wait."""


def queue_offsets(body: bytes) -> list[int]:
    """Of the records that follow each other in this body."""
    offsets: list[int] = []
    at = 0
    while at < len(body):
        size, queue_offset = _SIZE_AND_OFFSET.unpack_from(body, at)
        offsets.append(queue_offset)
        at += size
    return offsets


class QueueReads:
    def __init__(self, store: MessageStore, offsets: ConsumerOffsets, orders: OrderTable) -> None:
        self._store = store
        self._offsets = offsets
        self._orders = orders

    def position(self, topic: str, group: str, queue_id: int, init_mode: int) -> int:
        if self._offsets.take_reset(topic, group, queue_id) is not None:
            self._orders.forget(topic, group, queue_id)
        committed = self._offsets.committed(topic, group, queue_id)
        if committed is not None:
            return committed
        begin = self._first(topic, queue_id, init_mode)
        if self._store.max_offset(topic, queue_id):
            self.advance(topic, group, queue_id, begin)
        return begin

    def _first(self, topic: str, queue_id: int, init_mode: int) -> int:
        low = self._store.min_offset(topic, queue_id)
        if init_mode != INIT_MAX or is_retry_topic(topic):
            return low
        if low == 0 and self._store.is_hot(topic, queue_id, 0):
            return 0
        return max(self._store.max_offset(topic, queue_id) - 1, low)

    def advance(self, topic: str, group: str, queue_id: int, queue_offset: int) -> None:
        self._offsets.give(topic, group, queue_id, queue_offset)

    def rest(self, topic: str, group: str, queue_id: int) -> int:
        """How many messages the group has not been given yet."""
        committed = self._offsets.committed(topic, group, queue_id)
        begin = self._store.min_offset(topic, queue_id) if committed is None else committed
        return max(0, self._store.max_offset(topic, queue_id) - begin)

    def read(
        self, topic: str, group: str, queue_id: int, count: int, wanted: MessageFilter, init_mode: int
    ) -> tuple[int, GetResult | None]:
        """Where the read begins, and what was found; None: nothing for now."""
        begin = self.position(topic, group, queue_id, init_mode)
        for _ in range(_MAX_STEPS):
            if begin == self._store.max_offset(topic, queue_id):
                return begin, None
            result = self._store.get(topic, queue_id, begin, count, None, wanted.tags, wanted.wanted)
            if result.status in (GetStatus.FOUND, GetStatus.MESSAGE_DAMAGED):
                return begin, result
            if result.status not in _CORRECTED or result.next_begin_offset == begin:
                return begin, None
            begin = result.next_begin_offset
            self.advance(topic, group, queue_id, begin)
        return begin, None
