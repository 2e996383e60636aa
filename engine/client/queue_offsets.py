"""Questions about the offsets of a queue and of a group on it, asked of the queue's master.

Every offset here is a queue offset. Loop thread only.
"""

from __future__ import annotations

from engine.client.instance import ClientInstance
from engine.errors import NotFound, PeerError
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.headers.offsets import (
    GetEarliestMsgStoretimeRequest,
    GetEarliestMsgStoretimeResponse,
    GetMaxOffsetRequest,
    GetMinOffsetRequest,
    OffsetResponse,
    QueryConsumerOffsetRequest,
    SearchOffsetRequest,
    UpdateConsumerOffsetRequest,
)


class QueueOffsets:
    """One method per question."""

    def __init__(self, instance: ClientInstance) -> None:
        self._instance = instance

    async def max_offset(self, queue: MessageQueue) -> int:
        """The offset that the next message will get."""
        header = GetMaxOffsetRequest(queue.topic, queue.queue_id)
        answer = await self._instance.call(await self._master(queue), RequestCode.GET_MAX_OFFSET, header)
        return OffsetResponse.decode(answer.fields).offset

    async def min_offset(self, queue: MessageQueue) -> int:
        """The offset of the oldest message that is still kept."""
        header = GetMinOffsetRequest(queue.topic, queue.queue_id)
        answer = await self._instance.call(await self._master(queue), RequestCode.GET_MIN_OFFSET, header)
        return OffsetResponse.decode(answer.fields).offset

    async def offset_at(self, queue: MessageQueue, timestamp_ms: int, *, upper: bool = False) -> int:
        """The first message stored at or after that time; with `upper`, the last one at or before it."""
        boundary = "UPPER" if upper else "LOWER"
        header = SearchOffsetRequest(queue.topic, queue.queue_id, timestamp_ms, boundary)
        address = await self._master(queue)
        answer = await self._instance.call(address, RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, header)
        return OffsetResponse.decode(answer.fields).offset

    async def earliest_store_time(self, queue: MessageQueue) -> int | None:
        """When the oldest kept message was stored; None when there is none."""
        header = GetEarliestMsgStoretimeRequest(queue.topic, queue.queue_id)
        address = await self._master(queue)
        answer = await self._instance.call(address, RequestCode.GET_EARLIEST_MSG_STORETIME, header)
        timestamp_ms = GetEarliestMsgStoretimeResponse.decode(answer.fields).timestamp
        return timestamp_ms if timestamp_ms >= 0 else None

    async def committed(self, group: str, queue: MessageQueue, *, zero_if_young: bool = True) -> int | None:
        """What the group has committed; None when nothing.

        With `zero_if_young` the broker answers 0 for a queue that still has its first messages in memory.
        """
        header = QueryConsumerOffsetRequest(group, queue.topic, queue.queue_id, zero_if_young)
        address = await self._master(queue)
        try:
            answer = await self._instance.call(address, RequestCode.QUERY_CONSUMER_OFFSET, header)
        except PeerError as error:
            if error.code == ResponseCode.QUERY_NOT_FOUND:
                return None
            raise
        offset = OffsetResponse.decode(answer.fields).offset
        return offset if offset >= 0 else None

    async def commit(self, group: str, queue: MessageQueue, offset: int) -> None:
        header = UpdateConsumerOffsetRequest(group, queue.topic, queue.queue_id, offset)
        await self._instance.call(await self._master(queue), RequestCode.UPDATE_CONSUMER_OFFSET, header)

    async def _master(self, queue: MessageQueue) -> str:
        try:
            return self._instance.master_address(queue.broker_name)
        except NotFound:
            await self._instance.routes.refresh(queue.topic)
            return self._instance.master_address(queue.broker_name)
