"""Consumer groups on brokers: config, members and what they say of themselves, consume modes, one message.

A spec is a group's config in the words of the API. What it does not name (retry policies, fixed
subscriptions) stays as the broker has it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Any

from msgspec.structs import replace

from clusters.gateway.addressing import ClusterAddress
from clusters.gateway.connections import ask
from clusters.gateway.writes import BrokerOutcome, read_each, write_each
from engine.client.admin import Admin
from engine.errors import EngineError
from engine.protocol.bodies.groups import MessageRequestMode, SubscriptionGroupConfig
from engine.protocol.codes import ResponseCode

Spec = dict[str, Any]

FIELDS = {
    "is_enabled": "consume_enable",
    "is_from_min_enabled": "consume_from_min_enable",
    "is_broadcast_enabled": "consume_broadcast_enable",
    "is_ordered": "consume_message_orderly",
    "retry_queues": "retry_queue_nums",
    "retry_max_times": "retry_max_times",
    "consume_timeout_min": "consume_timeout_minute",
    "slow_broker_id": "which_broker_when_consume_slowly",
    "notifies_members": "notify_consumer_ids_changed_enable",
}
"""The API's name and RocketMQ's."""


def spec_of(config: SubscriptionGroupConfig) -> Spec:
    return {ours: getattr(config, theirs) for ours, theirs in FIELDS.items()}


def full_spec(asked: Spec, before: Spec | None = None) -> Spec:
    return spec_of(SubscriptionGroupConfig()) | (before or {}) | asked


def read_group(
    address: ClusterAddress, group: str, brokers: Collection[str], expected: Collection[str]
) -> list[BrokerOutcome]:
    """`read_back` is the broker's spec, None where it has no such group."""

    async def spec(admin: Admin, at: str) -> Spec | None:
        config = await _config_at(admin, at, group)
        return None if config is None else spec_of(config)

    return read_each(address, brokers, expected, spec)


def put_group(
    address: ClusterAddress, group: str, spec: Spec, brokers: Collection[str], expected: Collection[str]
) -> list[BrokerOutcome]:
    async def write(admin: Admin, at: str) -> None:
        before = await _config_at(admin, at, group) or SubscriptionGroupConfig(group)
        changes = {FIELDS[name]: value for name, value in spec.items()}
        # Attributes of a request are changes to them, and there are none.
        await admin.groups.create(at, replace(before, **changes, attributes={}))

    async def read(admin: Admin, at: str) -> Spec | None:
        config = await _config_at(admin, at, group)
        return None if config is None else spec_of(config)

    return write_each(
        address, brokers, expected, write, read, lambda answer: answer is not None and answer == answer | spec
    )


def delete_group(
    address: ClusterAddress,
    group: str,
    brokers: Collection[str],
    expected: Collection[str],
    *,
    clean_offset: bool,
) -> list[BrokerOutcome]:
    return write_each(
        address,
        brokers,
        expected,
        lambda admin, at: admin.groups.delete(at, group, clean_offset=clean_offset),
        lambda admin, at: _config_at(admin, at, group),
        lambda answer: answer is None,
    )


def set_mode(
    address: ClusterAddress, group: str, topic: str, mode: str, share: int, expected: Collection[str]
) -> list[BrokerOutcome]:
    wanted = MessageRequestMode[mode.upper()]

    async def write(admin: Admin, at: str) -> None:
        await admin.groups.set_request_mode(at, group, topic, wanted, share)

    async def read(admin: Admin, at: str) -> dict[str, Any] | None:
        found = (await admin.groups.request_modes(at)).get(topic, {}).get(group)
        if found is None:
            return None
        return {"mode": found.mode.name.lower(), "share": found.pop_share_queue_num}

    return write_each(
        address, (), expected, write, read, lambda answer: answer == {"mode": mode, "share": share}
    )


def modes(address: ClusterAddress, group: str, expected: Collection[str]) -> list[BrokerOutcome]:
    """Per broker: topic → mode, of those that were set."""

    async def read(admin: Admin, at: str) -> dict[str, str]:
        table = await admin.groups.request_modes(at)
        return {topic: found[group].mode.name.lower() for topic, found in table.items() if group in found}

    return read_each(address, (), expected, read)


# -- members ------------------------------------------------------------------------------------------------


def connections(address: ClusterAddress, group: str, expected: Collection[str]) -> list[BrokerOutcome]:
    """Per broker: members, model and subscriptions; None where nobody is online."""
    return read_each(address, (), expected, lambda admin, at: _connections_at(admin, at, group))


def running_infos(
    address: ClusterAddress, group: str, clients: Collection[tuple[str, str]], *, jstack: bool = False
) -> dict[str, dict[str, Any] | str]:
    """What members say of themselves, by client id; a text says why one did not. `clients` are (client id,
    address of a broker that it is connected to)."""

    async def all_of_them(admin: Admin) -> dict[str, dict[str, Any] | str]:
        said = await asyncio.gather(
            *(_running_info(admin, at, group, client_id, jstack) for client_id, at in clients)
        )
        return dict(said)

    return ask(address, all_of_them, deadline_s=_ASKING_MEMBERS_S + 1)


_ASKING_MEMBERS_S = 8.0


async def _running_info(
    admin: Admin, at: str, group: str, client_id: str, jstack: bool
) -> tuple[str, dict[str, Any] | str]:
    try:
        async with asyncio.timeout(_ASKING_MEMBERS_S):
            info = await admin.clients.running_info(at, group, client_id, jstack=jstack)
    except TimeoutError:
        return client_id, "the member did not answer in time"
    except EngineError as error:
        return client_id, error.text
    queues = [
        {
            "topic": queue.topic,
            "broker": queue.broker_name,
            "queue": queue.queue_id,
            "committed": process.commit_offset if process.commit_offset >= 0 else None,
            "cached_messages": process.cached_msg_count,
            "is_locked": process.locked,
            "last_pull_ms": process.last_pull_timestamp or None,
            "last_consume_ms": process.last_consume_timestamp or None,
        }
        for queue, process in sorted(info.mq_table.items(), key=lambda item: item[0])
    ]
    queues += [
        {
            "topic": queue.topic,
            "broker": queue.broker_name,
            "queue": queue.queue_id,
            "waiting_acks": pop.wait_ack_count,
        }
        for queue, pop in info.mq_pop_table.items()
    ]
    return client_id, {
        "properties": dict(info.properties),
        "subscriptions": sorted(
            [one.topic, one.sub_string, one.expression_type] for one in info.subscription_set
        ),
        "queues": queues,
        "rates": {topic: _rates(status) for topic, status in info.status_table.items()},
        "stack": info.jstack,
    }


def _rates(status: Any) -> dict[str, float]:
    return {
        "consume_ms": status.consume_rt,
        "ok_per_s": status.consume_ok_tps,
        "failed_per_s": status.consume_failed_tps,
    }


async def _connections_at(admin: Admin, at: str, group: str) -> dict[str, Any] | None:
    try:
        found = await admin.clients.consumers(at, group)
    except EngineError as error:
        if error.code == ResponseCode.CONSUMER_NOT_ONLINE:
            return None
        raise
    return {
        "members": [
            [one.client_id, one.client_addr, one.language.name, one.version] for one in found.connection_set
        ],
        "type": None if found.consume_type is None else found.consume_type.name,
        "model": None if found.message_model is None else found.message_model.name,
        "subscriptions": {
            topic: [data.sub_string, data.expression_type] for topic, data in found.subscription_table.items()
        },
        "at": at,
    }


def consume_directly(
    address: ClusterAddress, group: str, client_id: str, offset_msg_id: str, topic: str | None, at: str
) -> dict[str, Any]:
    result = ask(
        address,
        lambda admin: admin.messages.consume_directly(at, group, client_id, offset_msg_id, topic),
        deadline_s=15.0,
    )
    return {
        "result": None if result.consume_result is None else result.consume_result.name,
        "is_ordered": result.order,
        "remark": result.remark or "",
        "spent_ms": result.spent_time_mills,
    }


async def _config_at(admin: Admin, at: str, group: str) -> SubscriptionGroupConfig | None:
    """By the whole table (201): asking for one group (352) makes it where groups may make themselves."""
    return (await admin.groups.configs(at)).get(group)
