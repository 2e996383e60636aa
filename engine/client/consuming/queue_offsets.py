"""Requests for the offsets of a queue, and of a group on it, to the queue's master.

While no master can be reached, its slaves are asked and keep what is committed; `commit` then returns False,
because the master must get the offset when it is back. Every offset here is a queue offset. Loop thread only.
"""

from __future__ import annotations

import contextlib

from engine.client.instance.instance import ClientInstance
from engine.errors import PeerError, PeerUnreachable
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.bodies.routes import MASTER_ID
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Command
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
from engine.protocol.wire import Header


class QueueOffsets:
    """One method per request code."""

    def __init__(self, instance: ClientInstance) -> None:
        self._instance = instance

    async def max_offset(self, queue: MessageQueue) -> int:
        """The offset that the next message will get."""
        header = GetMaxOffsetRequest(queue.topic, queue.queue_id)
        return await self._offset(queue, RequestCode.GET_MAX_OFFSET, header)

    async def min_offset(self, queue: MessageQueue) -> int:
        """The offset of the oldest message that is still kept."""
        header = GetMinOffsetRequest(queue.topic, queue.queue_id)
        return await self._offset(queue, RequestCode.GET_MIN_OFFSET, header)

    async def offset_at(self, queue: MessageQueue, timestamp_ms: int, *, upper: bool = False) -> int:
        """The first message stored at or after that time; with `upper`, the last one at or before it."""
        boundary = "UPPER" if upper else "LOWER"
        header = SearchOffsetRequest(queue.topic, queue.queue_id, timestamp_ms, boundary)
        return await self._offset(queue, RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, header)

    async def earliest_store_time(self, queue: MessageQueue) -> int | None:
        """When the oldest kept message was stored; None when there is none."""
        header = GetEarliestMsgStoretimeRequest(queue.topic, queue.queue_id)
        answer, _ = await self._ask(queue, RequestCode.GET_EARLIEST_MSG_STORETIME, header)
        timestamp_ms = GetEarliestMsgStoretimeResponse.decode(answer.fields).timestamp
        return timestamp_ms if timestamp_ms >= 0 else None

    async def committed(self, group: str, queue: MessageQueue, *, zero_if_young: bool = True) -> int | None:
        """What the group has committed; None when nothing.

        With `zero_if_young` the broker answers 0 for a queue that still has its first messages in memory.
        """
        header = QueryConsumerOffsetRequest(group, queue.topic, queue.queue_id, zero_if_young)
        try:
            offset = await self._offset(queue, RequestCode.QUERY_CONSUMER_OFFSET, header)
        except PeerError as error:
            if error.code == ResponseCode.QUERY_NOT_FOUND:
                return None
            raise
        return offset if offset >= 0 else None

    async def commit(self, group: str, queue: MessageQueue, offset: int) -> bool:
        """Whether the master has it; False: only a slave, and only until the master is back."""
        header = UpdateConsumerOffsetRequest(group, queue.topic, queue.queue_id, offset)
        _, broker_id = await self._ask(queue, RequestCode.UPDATE_CONSUMER_OFFSET, header)
        return broker_id == MASTER_ID

    async def _offset(self, queue: MessageQueue, code: RequestCode, header: Header) -> int:
        answer, _ = await self._ask(queue, code, header)
        return OffsetResponse.decode(answer.fields).offset

    async def _ask(self, queue: MessageQueue, code: RequestCode, header: Header) -> tuple[Command, int]:
        """The answer, and the id of the broker that gave it: the first that can be reached."""
        members = await self._instance.find_members(queue, with_master=True)
        *first, last = sorted(members)
        for broker_id in first:
            with contextlib.suppress(PeerUnreachable):
                return await self._instance.call(members[broker_id], code, header), broker_id
        return await self._instance.call(members[last], code, header), last
