"""Topics on brokers: what they have, changing and deleting them, and what uses one right now.

A spec is a topic's config in the words of the API: read_queues, write_queues, perm, is_ordered, attributes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Any

from clusters.gateway.addressing import ClusterAddress
from clusters.gateway.connections import ask
from clusters.gateway.writes import BrokerOutcome, chosen, known_masters, read_each, write_each
from engine.client.admin import Admin
from engine.errors import EngineError, PeerError
from engine.protocol.bodies.topics import PERM_READ_WRITE, TopicConfig
from engine.protocol.codes import ResponseCode

Spec = dict[str, Any]


def spec_of(config: TopicConfig) -> Spec:
    return {
        "read_queues": config.read_queue_nums,
        "write_queues": config.write_queue_nums,
        "perm": config.perm,
        "is_ordered": config.order,
        "attributes": dict(config.attributes),
    }


def full_spec(asked: Spec, before: Spec | None = None) -> Spec:
    """What was not said stays, or is RocketMQ's default."""
    defaults = {
        "read_queues": 8,
        "write_queues": 8,
        "perm": PERM_READ_WRITE,
        "is_ordered": False,
        "attributes": {},
    }
    return defaults | (before or {}) | asked


def read_topic(
    address: ClusterAddress, topic: str, brokers: Collection[str], expected: Collection[str]
) -> list[BrokerOutcome]:
    """`read_back` is the broker's spec, None where it has no such topic."""
    return read_each(address, brokers, expected, lambda admin, at: _spec_at(admin, at, topic))


def put_topic(
    address: ClusterAddress, topic: str, asked: Spec, brokers: Collection[str], expected: Collection[str]
) -> list[BrokerOutcome]:
    """What was not asked for stays as each broker has it."""

    async def write(admin: Admin, at: str) -> None:
        before = await _spec_at(admin, at, topic)
        spec = full_spec(asked, before)
        await admin.topics.create(at, _config(topic, spec), _attribute_changes(spec, before))

    return write_each(
        address,
        brokers,
        expected,
        write,
        lambda admin, at: _spec_at(admin, at, topic),
        lambda answer: answer is not None and answer == answer | asked,
    )


def delete_topic(
    address: ClusterAddress, topic: str, brokers: Collection[str], expected: Collection[str]
) -> list[BrokerOutcome]:
    outcomes = write_each(
        address,
        brokers,
        expected,
        lambda admin, at: admin.topics.delete_on_broker(at, topic),
        lambda admin, at: _spec_at(admin, at, topic),
        lambda answer: answer is None,
    )
    if not brokers and all(outcome.ok for outcome in outcomes):
        cluster = address.broker_cluster_name or None
        ask(address, lambda admin: admin.topics.delete_in_name_servers(topic, cluster))
    return outcomes


def topic_usage(
    address: ClusterAddress, topic: str, brokers: Collection[str], expected: Collection[str]
) -> list[BrokerOutcome]:
    """Per broker: queues with offsets and last writes, groups, and who could be sending."""

    async def usage(admin: Admin, at: str) -> dict[str, Any] | None:
        try:
            stats, groups = await asyncio.gather(
                admin.topics.stats_on_broker(at, topic), admin.topics.groups_on_broker(at, topic)
            )
        except PeerError as error:
            if error.code == ResponseCode.TOPIC_NOT_EXIST:
                return None
            raise
        queues = [
            {
                "queue": queue.queue_id,
                "min": offsets.min_offset,
                "max": offsets.max_offset,
                "last_write_ms": offsets.last_update_timestamp or None,
            }
            for queue, offsets in sorted(stats.offset_table.items(), key=lambda item: item[0].queue_id)
        ]
        return {"queues": queues, "groups": sorted(groups), "put_rate": stats.topic_put_tps}

    return read_each(address, brokers, expected, usage)


def producers(
    address: ClusterAddress, brokers: Collection[str], expected: Collection[str]
) -> tuple[list[dict[str, Any]], list[BrokerOutcome]]:
    """Producers that are connected to these masters. RocketMQ does not say to which topics they send."""

    async def connected(admin: Admin, at: str) -> list[dict[str, Any]]:
        return [
            {
                "group": group,
                "client_id": one.client_id,
                "address": one.remote_ip,
                "language": one.language.name,
                "version": one.version,
                "last_seen_ms": one.last_update_timestamp or None,
            }
            for group, listed in (await admin.clients.all_producers(at)).items()
            for one in listed
        ]

    outcomes = read_each(address, brokers, expected, connected)
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for outcome in outcomes:
        for row in outcome.read_back or ():
            known = found.setdefault((row["group"], row["client_id"]), row | {"brokers": []})
            known["brokers"].append(outcome.broker)
    return sorted(found.values(), key=lambda row: (row["group"], row["client_id"])), outcomes


def brokers_of(address: ClusterAddress, expected: Collection[str]) -> dict[str, str | None]:
    """Every broker name with its master's address."""

    async def masters(admin: Admin) -> dict[str, str | None]:
        return chosen(await known_masters(admin, address, expected), ())

    return ask(address, masters)


async def _spec_at(admin: Admin, at: str, topic: str) -> Spec | None:
    try:
        return spec_of(await admin.topics.config(at, topic))
    except EngineError as error:
        if error.code == ResponseCode.TOPIC_NOT_EXIST:
            return None
        if error.code != ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
            raise
    # RocketMQ 4 gives all topics or none.
    config = (await admin.topics.configs(at)).get(topic)
    return None if config is None else spec_of(config)


def _config(topic: str, spec: Spec) -> TopicConfig:
    return TopicConfig(
        topic_name=topic,
        read_queue_nums=spec["read_queues"],
        write_queue_nums=spec["write_queues"],
        perm=spec["perm"],
        order=spec["is_ordered"],
    )


def _attribute_changes(spec: Spec, before: Spec | None) -> dict[str, str | None]:
    """What is new or other, and what goes; unchanged ones are left alone, for some may not be set twice."""
    old = {} if before is None else before["attributes"]
    changes: dict[str, str | None] = {
        key: value for key, value in spec["attributes"].items() if old.get(key) != value
    }
    return changes | {key: None for key in old if key not in spec["attributes"]}
