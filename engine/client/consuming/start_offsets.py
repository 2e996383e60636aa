"""Where a group begins on a queue: at its stored offset, else where `ConsumeFromWhere` says.

The rules are RocketMQ's (protocol.md §7.6): a broker answers 0 for a young queue, retry queues begin at 0.
"""

from __future__ import annotations

from engine.client.consuming.offset_stores import OffsetStore
from engine.client.consuming.queue_offsets import QueueOffsets
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.bodies.clients import ConsumeFromWhere
from engine.protocol.names import is_retry_topic

HALF_AN_HOUR_MS = 30 * 60 * 1000

_FROM_LAST = {
    ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET,
    ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET_AND_FROM_MIN_WHEN_BOOT_FIRST,
    ConsumeFromWhere.CONSUME_FROM_MAX_OFFSET,
}


class StartOffsets:
    """`of(queue)`: the offset to begin at. An error means "not this time": nothing is ever guessed."""

    def __init__(
        self,
        store: OffsetStore,
        queue_offsets: QueueOffsets,
        from_where: ConsumeFromWhere,
        timestamp_ms: int,
    ) -> None:
        self._store = store
        self._queue_offsets = queue_offsets
        self._from_where = from_where
        self._timestamp_ms = timestamp_ms

    async def of(self, queue: MessageQueue) -> int:
        is_retry = is_retry_topic(queue.topic)
        starts_last = self._from_where in _FROM_LAST and not is_retry
        # The end is asked for first: what arrives while the group's offset is asked for must not be skipped.
        end = await self._queue_offsets.max_offset(queue) if starts_last else 0
        stored = await self._store.load(queue)
        if stored is not None:
            return stored
        if self._from_where is not ConsumeFromWhere.CONSUME_FROM_TIMESTAMP:
            # A retry queue holds what this very group sent back: none of it may be passed over.
            return end
        if is_retry:
            return await self._queue_offsets.max_offset(queue)
        return await self._queue_offsets.offset_at(queue, self._timestamp_ms)
