"""Brokers: their state, configuration and maintenance, and the groups of a master and its slaves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.client.admin.part import AdminPart
from engine.protocol import fastjson
from engine.protocol.bodies.basics import KVTable
from engine.protocol.bodies.brokers import DamagedRecordList, GroupStatus, HARuntimeInfo, Promotion
from engine.protocol.bodies.config_text import decode_config, encode_config
from engine.protocol.bodies.offsets import DelayOffsetSerializeWrapper
from engine.protocol.bodies.stats import BrokerSnapshot, BrokerStatsData
from engine.protocol.codes import RequestCode
from engine.protocol.headers.brokers import (
    CollectorSnapshotRequest,
    CollectorSnapshotResponse,
    DamagedRecordsRequest,
    PromoteRequest,
    ViewBrokerStatsDataRequest,
)


class BrokerAdmin(AdminPart):
    async def runtime_info(self, broker: str) -> dict[str, str]:
        """28: the figures that dashboards show."""
        return dict((await self._ask(KVTable, broker, RequestCode.GET_BROKER_RUNTIME_INFO)).table)

    async def config(self, broker: str) -> dict[str, str]:
        """26."""
        answer = await self._call(broker, RequestCode.GET_BROKER_CONFIG)
        return decode_config(bytes(answer.body))

    async def update_config(self, broker: str, changes: Mapping[str, str]) -> None:
        """25: only keys that may be changed at run time are taken."""
        await self._call(broker, RequestCode.UPDATE_BROKER_CONFIG, body=encode_config(changes))

    async def stats(self, broker: str, name: str, key: str) -> BrokerStatsData:
        """315: sums and rates of the last minute, hour and day; code 1 when there is no such item."""
        header = ViewBrokerStatsDataRequest(name, key)
        return await self._ask(BrokerStatsData, broker, RequestCode.VIEW_BROKER_STATS_DATA, header)

    async def snapshot(self, broker: str, since: str | None = None) -> BrokerSnapshot:
        """30001, our own: what changed since the version of an earlier answer; everything without one.
        `snapshot.onto(before)` puts the two together."""
        header = CollectorSnapshotRequest(since)
        answer = await self._call(broker, RequestCode.SIGNALBOX_COLLECTOR_SNAPSHOT, header)
        about = CollectorSnapshotResponse.decode(answer.fields)
        return BrokerSnapshot.read(about.version, about.is_full, bytes(answer.body))

    async def ha_status(self, broker: str) -> HARuntimeInfo:
        """907: a master's slaves and how far they are, or a slave's view of its master."""
        return await self._ask(HARuntimeInfo, broker, RequestCode.GET_BROKER_HA_STATUS)

    async def delay_offsets(self, broker: str) -> dict[int, int]:
        """45: how far each delay level has been delivered."""
        found = await self._ask(DelayOffsetSerializeWrapper, broker, RequestCode.GET_ALL_DELAY_OFFSET)
        return dict(found.offset_table)

    async def timer_metrics(self, broker: str) -> Any:
        """61, as JSON."""
        answer = await self._call(broker, RequestCode.GET_TIMER_METRICS)
        return fastjson.loads(bytes(answer.body))

    async def epoch_cache(self, broker: str) -> Any:
        """1007, as JSON: a broker's epochs under a controller."""
        answer = await self._call(broker, RequestCode.GET_BROKER_EPOCH_CACHE)
        return fastjson.loads(bytes(answer.body))

    async def clean_expired_queues(self, broker: str) -> None:
        """306: remove consume queues whose messages are gone."""
        await self._call(broker, RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE)

    async def clean_unused_topics(self, broker: str) -> None:
        """316: remove consume queues of topics that no longer exist."""
        await self._call(broker, RequestCode.CLEAN_UNUSED_TOPIC)

    async def delete_expired_commit_logs(self, broker: str) -> None:
        """329: apply retention now."""
        await self._call(broker, RequestCode.DELETE_EXPIRED_COMMITLOG)


PROMOTE_TIMEOUT_MS = 30_000


class BrokerGroupAdmin(AdminPart):
    async def status(self, broker: str) -> GroupStatus:
        """30010, our own: the state of a member of a broker group."""
        return await self._ask(GroupStatus, broker, RequestCode.SIGNALBOX_GROUP_STATUS)

    async def promote(
        self, broker: str, *, wanted: int | None = None, unclean: bool = False, epoch: int | None = None
    ) -> Promotion:
        """30015, our own: lets this member ask the others and make the one with the longest log master, or
        the `wanted` one when it is as long. `unclean` goes on with too few answers and may lose acknowledged
        messages. `epoch`: the one that the caller saw; if the group has moved on, nothing happens."""
        status = await self.status(broker)
        header = PromoteRequest(status.broker_name, epoch or status.epoch, wanted, unclean)
        return await self._ask(
            Promotion, broker, RequestCode.SIGNALBOX_GROUP_PROMOTE, header, timeout_ms=PROMOTE_TIMEOUT_MS
        )

    async def damaged_records(self, broker: str, group: str | None = None) -> DamagedRecordList:
        """30030, our own: the damaged records that a broker knows of; with a group those that it skipped."""
        header = DamagedRecordsRequest(group)
        return await self._ask(DamagedRecordList, broker, RequestCode.SIGNALBOX_DAMAGED_RECORDS, header)
