"""Apache's brokers, brought into the shape of our snapshot: 317 for all groups at once, and little else.

| what | request | when |
|---|---|---|
| disk, rates, version | 28 | every round |
| lag of every group | 317 | every round |
| slaves and how far they are | 907 | every round |
| producers | 328 | every round |
| topics | 21 | when their DataVersion (322 at a name server) changed |
| groups | 201 | every minute: nobody tells their version apart from the table itself |
| members, subscriptions | 203 | watched groups |
| age of the oldest unread message | 303 | watched groups |

What was not asked is absent or None: members of groups that nobody watches, queues that no group has an
offset on. `isPartial` marks topics whose queues are known by their groups' offsets alone.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from clusters.gateway.sampling import Sample, producers_of
from engine.client.admin import Admin
from engine.errors import EngineError
from engine.protocol.bodies.basics import DataVersion
from engine.protocol.bodies.stats import ConsumeStatsList
from engine.protocol.bodies.topics import TopicConfig

_GROUPS_EVERY_MS = 60_000
_AT_ONCE = 8


@dataclass(slots=True)
class ApacheMemory:
    """What is asked seldom, kept between rounds."""

    topics_version: DataVersion | None = None
    topics: dict[str, TopicConfig] = field(default_factory=dict)
    groups: set[str] = field(default_factory=set)
    groups_read_ms: int = 0


async def sample_apache_broker(
    admin: Admin,
    cluster: str,
    name: str,
    member: int,
    broker: str,
    memory: ApacheMemory,
    watched: Collection[str],
    now_ms: int,
) -> Sample:
    info = await admin.brokers.runtime_info(broker)
    sections = _singles(info, cluster, name, member, broker)
    if member == 0:
        await _refresh(admin, cluster, name, broker, memory, now_ms)
        stats = await admin.groups.consume_stats_of_broker(broker)
        sections["ha"] |= await _slaves(admin, broker)
        sections |= _tables(memory, stats) | await producers_of(admin, broker)
        await _watch(admin, broker, sections, sorted(set(watched) & sections["groups"].keys()), now_ms)
    return Sample(True, sections, None, info.get("brokerVersionDesc", ""), is_apache=True)


def _singles(info: dict[str, str], cluster: str, name: str, member: int, broker: str) -> dict[str, Any]:
    put, got = _first_number(info.get("putTps")), _first_number(info.get("getTransferredTps"))
    ratio = _first_number(info.get("commitLogDiskRatio"))
    booted = info.get("bootTimestamp", "")
    about: dict[str, Any] = {"cluster": cluster, "name": name, "id": member, "address": broker}
    if booted.isdigit():
        about["bootedMs"] = int(booted)
    return {
        "broker": about,
        "rates": {key: value for key, value in (("put", put), ("got", got)) if value is not None},
        "disk": {} if ratio is None or ratio < 0 else {"usageRatio": round(ratio, 3)},
        "log": {
            key: int(info[field])
            for key, field in (("minOffset", "commitLogMinOffset"), ("maxOffset", "commitLogMaxOffset"))
            if info.get(field, "").isdigit()
        },
        "ha": {"role": "slave" if member else "master"},
    }


async def _refresh(
    admin: Admin, cluster: str, name: str, broker: str, memory: ApacheMemory, now_ms: int
) -> None:
    version = await admin.name_servers.data_version(cluster, name, broker)
    if version is None or version != memory.topics_version:
        memory.topics = await admin.topics.configs(broker)
        memory.topics_version = version
    if now_ms - memory.groups_read_ms >= _GROUPS_EVERY_MS:
        memory.groups = set(await admin.groups.configs(broker))
        memory.groups_read_ms = now_ms


async def _slaves(admin: Admin, broker: str) -> dict[str, Any]:
    try:
        status = await admin.brokers.ha_status(broker)
    except EngineError:
        # 4.x does not know the question.
        return {}
    return {
        "slaves": [
            {"address": slave.addr, "lagBytes": max(0, slave.diff), "isInSync": slave.in_sync}
            for slave in status.ha_connection_info
        ]
    }


def _tables(memory: ApacheMemory, stats: ConsumeStatsList) -> dict[str, Any]:
    ends: dict[str, dict[int, int]] = {}
    offsets: dict[str, list[list[int]]] = {}
    groups = {name: {"members": None} for name in memory.groups}
    for item in stats.consume_stats_list:
        for group, per_topic in item.items():
            groups.setdefault(group, {"members": None})
            for consume_stats in per_topic:
                for queue, progress in consume_stats.offset_table.items():
                    ends.setdefault(queue.topic, {})[queue.queue_id] = progress.broker_offset
                    if progress.consumer_offset >= 0:
                        offsets.setdefault(f"{queue.topic}@{group}", []).append(
                            [queue.queue_id, progress.consumer_offset]
                        )
    topics = {name: _topic(config, ends.get(name, {})) for name, config in memory.topics.items()}
    return {"topics": topics, "groups": groups, "offsets": {key: sorted(one) for key, one in offsets.items()}}


def _topic(config: TopicConfig, ends: dict[int, int]) -> dict[str, Any]:
    return {
        "readQueues": config.read_queue_nums,
        "writeQueues": config.write_queue_nums,
        "perm": config.perm,
        "isOrdered": config.order,
        "queues": [[queue_id, None, end] for queue_id, end in sorted(ends.items())],
        "isPartial": len(ends) < config.write_queue_nums,
    }


async def _watch(admin: Admin, broker: str, sections: dict[str, Any], groups: list[str], now_ms: int) -> None:
    """Members and ages of these groups, a few at once; what a broker refuses stays unknown."""
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one(group: str) -> None:
        async with gate:
            sections["groups"][group] = await _group(admin, broker, group)
            for key in [key for key in sections["offsets"] if key.endswith(f"@{group}")]:
                topic = key.partition("@")[0]
                await _add_ages(admin, broker, group, topic, sections["offsets"][key], now_ms)

    await asyncio.gather(*(one(group) for group in groups))


async def _group(admin: Admin, broker: str, group: str) -> dict[str, Any]:
    try:
        online = await admin.clients.consumers(broker, group)
    except EngineError as error:
        # 206: nobody is online, which is known. Anything else is not.
        return {"members": []} if int(getattr(error, "code", 0)) == 206 else {"members": None}
    return {
        "members": sorted(
            [one.client_id, one.client_addr, one.language.name, one.version] for one in online.connection_set
        ),
        "model": online.message_model.name if online.message_model is not None else "",
        "type": online.consume_type.name if online.consume_type is not None else "",
        "subscriptions": {
            topic: [data.sub_string, data.expression_type]
            for topic, data in online.subscription_table.items()
        },
    }


async def _add_ages(
    admin: Admin, broker: str, group: str, topic: str, committed: list[list[int]], now_ms: int
) -> None:
    try:
        spans = await admin.groups.time_spans(broker, group, topic)
    except EngineError:
        return
    delays = {span.message_queue.queue_id: span.delay_time for span in spans if span.message_queue}
    for queue in committed:
        # RocketMQ's delayTime: now minus the store time of the next message to consume; 0 when there is none.
        if delays.get(queue[0], 0) > 0:
            queue.append(now_ms - delays[queue[0]])


def _first_number(text: str | None) -> float | None:
    found = re.match(r"-?[0-9.]+(?:[eE][-+]?[0-9]+)?", text or "")
    return None if found is None else float(found[0])
