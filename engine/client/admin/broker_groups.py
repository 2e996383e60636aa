"""Broker groups (a master and its slaves): how its members stand, and who shall be master."""

from __future__ import annotations

from engine.client.instance.instance import ClientInstance
from engine.protocol.bodies.brokers import DamagedRecordList, GroupStatus, Promotion
from engine.protocol.codes import RequestCode
from engine.protocol.headers.brokers import DamagedRecordsRequest, PromoteRequest

PROMOTE_TIMEOUT_MS = 30_000


class BrokerGroupAdmin:
    def __init__(self, instance: ClientInstance) -> None:
        self._instance = instance

    async def status(self, broker: str) -> GroupStatus:
        """30010, our own: what a member of a broker group says of itself."""
        answer = await self._instance.call(broker, RequestCode.SIGNALBOX_GROUP_STATUS)
        return GroupStatus.decode(answer.body)

    async def promote(
        self, broker: str, *, wanted: int | None = None, unclean: bool = False, epoch: int | None = None
    ) -> Promotion:
        """30015, our own: lets this member ask the others and make the one with the longest log master, or
        the `wanted` one when it is as long. `unclean` goes on with too few answers and may lose acknowledged
        messages. `epoch`: the one that the caller saw; if the group has moved on, nothing happens."""
        status = await self.status(broker)
        header = PromoteRequest(status.broker_name, epoch or status.epoch, wanted, unclean)
        answer = await self._instance.call(
            broker, RequestCode.SIGNALBOX_GROUP_PROMOTE, header, timeout_ms=PROMOTE_TIMEOUT_MS
        )
        return Promotion.decode(answer.body)

    async def damaged_records(self, broker: str, group: str | None = None) -> DamagedRecordList:
        """30030, our own: the damaged records that a broker knows of; with a group those that it skipped."""
        header = DamagedRecordsRequest(group)
        answer = await self._instance.call(broker, RequestCode.SIGNALBOX_DAMAGED_RECORDS, header)
        return DamagedRecordList.decode(answer.body)
