"""Offsets of queues and groups: asking, setting back, cloning."""

from __future__ import annotations

from engine.client.admin.part import AdminPart
from engine.client.consuming.offsets import QueueOffsets
from engine.client.instance.routes import master_addresses
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.bodies.offsets import (
    ConsumerOffsetSerializeWrapper,
    GetConsumerStatusBody,
    QueryCorrectionOffsetBody,
    ResetOffsetBody,
)
from engine.protocol.codes import RequestCode
from engine.protocol.headers.offsets import (
    CloneGroupOffsetRequest,
    GetConsumerStatusRequest,
    QueryCorrectionOffsetRequest,
    ResetOffsetRequest,
)

END_OF_QUEUE = -1
"""As the timestamp of a reset: the end of the queue, so that all messages are skipped."""


class OffsetAdmin(AdminPart, QueueOffsets):
    """`max_offset`, `min_offset`, `offset_at`, `earliest_store_time`, `committed`, `commit`, and more."""

    async def reset_on_broker(
        self, broker: str, group: str, topic: str, timestamp_ms: int, *, force: bool = True
    ) -> dict[MessageQueue, int]:
        """222: all queues of the topic on this broker go to the first message at or after that time."""
        header = ResetOffsetRequest(topic, group, timestamp_ms, is_force=force)
        return await self._reset(broker, header)

    async def reset_queue(self, broker: str, group: str, topic: str, queue_id: int, offset: int) -> None:
        """222: one queue goes to this offset."""
        await self._reset(broker, ResetOffsetRequest(topic, group, END_OF_QUEUE, queue_id, offset, True))

    async def reset(
        self, group: str, topic: str, timestamp_ms: int, *, force: bool = True
    ) -> dict[MessageQueue, int]:
        """222 at every master that has the topic; the new offsets by queue."""
        route = await self._instance.routes.must_get(topic)
        offsets: dict[MessageQueue, int] = {}
        for address in master_addresses(route).values():
            offsets |= await self.reset_on_broker(address, group, topic, timestamp_ms, force=force)
        return offsets

    async def _reset(self, broker: str, header: ResetOffsetRequest) -> dict[MessageQueue, int]:
        answer = await self._call(broker, RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, header)
        return dict(ResetOffsetBody.decode(answer.body).offset_table) if answer.body else {}

    async def clone(
        self,
        broker: str,
        source_group: str,
        target_group: str,
        topic: str | None = None,
        *,
        offline: bool = False,
    ) -> None:
        """314: the target group gets the offsets of the source group."""
        header = CloneGroupOffsetRequest(source_group, target_group, topic, offline)
        await self._call(broker, RequestCode.CLONE_GROUP_OFFSET, header)

    async def all_on_broker(self, broker: str) -> dict[str, dict[int, int]]:
        """43: `topic@group` → queue id → offset."""
        found = await self._ask(ConsumerOffsetSerializeWrapper, broker, RequestCode.GET_ALL_CONSUMER_OFFSET)
        return dict(found.offset_table)

    async def of_clients(
        self, broker: str, group: str, topic: str, client_address: str | None = None
    ) -> dict[str, dict[MessageQueue, int]]:
        """223: the offsets that online consumers report, by client id."""
        header = GetConsumerStatusRequest(topic, group, client_address)
        found = await self._ask(
            GetConsumerStatusBody, broker, RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, header
        )
        return dict(found.consumer_table)

    async def corrections(
        self, broker: str, topic: str, compare_group: str, groups: tuple[str, ...] = ()
    ) -> dict[int, int]:
        """308: queue id → the smallest offset of these groups that lies before the compared group's."""
        header = QueryCorrectionOffsetRequest(topic, compare_group, ",".join(groups) or None)
        found = await self._ask(
            QueryCorrectionOffsetBody, broker, RequestCode.QUERY_CORRECTION_OFFSET, header
        )
        return dict(found.correction_offsets)
