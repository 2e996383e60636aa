"""How consumers and producers get on: lag, members, connections, what a client says of itself."""

from __future__ import annotations

from enum import Enum

from engine.admin.commands import (
    BROKER,
    Arguments,
    Facts,
    Option,
    Result,
    Table,
    command,
    group_option,
    topic_option,
    truth,
)
from engine.admin.times import shown_time
from engine.client.admin import Admin
from engine.errors import BadInput, EngineError, PeerError
from engine.protocol.bodies.connections import ConsumerConnection
from engine.protocol.bodies.stats import ConsumeStats
from engine.protocol.codes import ResponseCode
from engine.protocol.names import RETRY_PREFIX, group_of, retry_topic


@command(
    "consumerProgress",
    "How far a group is (or, without -g, how far behind every group is)",
    group_option(required=False),
    Option("t", "topicName", "only this topic", "TOPIC"),
    Option("s", "showClientIP", "who holds each queue", "BOOL", truth, False),
    example="consumerProgress -g billing",
)
async def consumer_progress(admin: Admin, arguments: Arguments) -> Result:
    if arguments.groupName is None:
        return await _all_progress(admin)
    stats = await admin.groups.consume_stats(arguments.groupName, arguments.topicName)
    if not stats.offset_table:
        raise PeerError(
            f"the group {arguments.groupName} has no offsets and no member",
            code=ResponseCode.CONSUMER_NOT_ONLINE,
        )
    owners = await _owners(admin, arguments.groupName) if arguments.showClientIP else {}
    rows: list[tuple[object, ...]] = [
        (
            queue.topic,
            queue.broker_name,
            queue.queue_id,
            offsets.broker_offset,
            offsets.consumer_offset,
            owners.get((queue.topic, queue.broker_name, queue.queue_id)),
            offsets.broker_offset - offsets.consumer_offset,
            offsets.pull_offset - offsets.consumer_offset,
            shown_time(offsets.last_timestamp),
        )
        for queue, offsets in sorted(stats.offset_table.items())
    ]
    columns = (
        "Topic",
        "Broker Name",
        "QID",
        "Broker Offset",
        "Consumer Offset",
        "Client IP",
        "Diff",
        "Inflight",
        "Last Time",
    )
    notes = (f"Consume TPS: {stats.consume_tps:.2f}", f"Consume Diff Total: {_lag(stats)}")
    return Table(columns, rows, notes)


def _name(member: Enum | None) -> str:
    return "unknown" if member is None else member.name


def _lag(stats: ConsumeStats) -> int:
    return sum(item.broker_offset - item.consumer_offset for item in stats.offset_table.values())


async def _all_progress(admin: Admin) -> Result:
    groups = [group_of(name) for name in await admin.topics.names() if name.startswith(RETRY_PREFIX)]
    rows: list[tuple[object, ...]] = []
    for group in sorted(filter(None, groups)):
        try:
            stats = await admin.groups.consume_stats(group)
        except EngineError as error:
            rows.append((group, "unknown", None, None, "unknown", error.text))
            continue
        members = await _connection(admin, group)
        rows.append(
            (
                group,
                len(members.connection_set) if members else 0,
                _name(members.consume_type) if members else None,
                _name(members.message_model) if members else "OFFLINE",
                round(stats.consume_tps, 2),
                _lag(stats),
            )
        )
    return Table(("Group", "Count", "Type", "Model", "TPS", "Diff Total"), rows)


async def _connection(admin: Admin, group: str) -> ConsumerConnection | None:
    """The group's members as any one of its brokers knows them; None when it is offline."""
    try:
        brokers = await admin.topics.masters_of(retry_topic(group))
    except EngineError:
        brokers = await admin.cluster.masters()
    for broker in brokers:
        try:
            return await admin.clients.consumers(broker, group)
        except PeerError as error:
            if error.code != ResponseCode.CONSUMER_NOT_ONLINE:
                raise
    return None


async def _owners(admin: Admin, group: str) -> dict[tuple[str, str, int], str]:
    members = await _connection(admin, group)
    owners: dict[tuple[str, str, int], str] = {}
    for member in members.connection_set if members else ():
        for broker in await admin.cluster.masters():
            try:
                info = await admin.clients.running_info(broker, group, member.client_id)
            except EngineError:
                continue
            address = member.client_addr.rpartition(":")[0]
            for queue in info.mq_table:
                owners[(queue.topic, queue.broker_name, queue.queue_id)] = address
            break
    return owners


@command(
    "consumerConnection",
    "Members of a consumer group and what they subscribe to",
    group_option("consumerGroup"),
    BROKER,
    example="consumerConnection -g billing",
)
async def consumer_connection(admin: Admin, arguments: Arguments) -> Result:
    members = await _members(admin, arguments)
    if arguments.json:
        return Facts(members.to_json())
    rows: list[tuple[object, ...]] = [
        (item.client_id, item.client_addr, item.language.name, item.version)
        for item in sorted(members.connection_set, key=lambda item: item.client_id)
    ]
    subscriptions = tuple(
        f"Subscription: {topic} {data.sub_string}"
        for topic, data in sorted(members.subscription_table.items())
    )
    notes = (
        *subscriptions,
        f"ConsumeType: {_name(members.consume_type)}",
        f"MessageModel: {_name(members.message_model)}",
        f"ConsumeFromWhere: {_name(members.consume_from_where)}",
    )
    return Table(("ClientId", "ClientAddr", "Language", "Version"), rows, notes)


async def _members(admin: Admin, arguments: Arguments) -> ConsumerConnection:
    if arguments.brokerAddr:
        return await admin.clients.consumers(arguments.brokerAddr, arguments.consumerGroup)
    members = await _connection(admin, arguments.consumerGroup)
    if members is None:
        raise PeerError(
            f"the consumer group {arguments.consumerGroup} is not online",
            code=ResponseCode.CONSUMER_NOT_ONLINE,
        )
    return members


@command(
    "consumerStatus",
    "What the members of a group say of themselves",
    group_option("consumerGroup"),
    BROKER,
    Option("i", "clientId", "only this member", "CLIENT"),
    Option("s", "jstack", "with thread stacks"),
    example="consumerStatus -g billing -i 10.0.0.1@4711",
)
async def consumer_status(admin: Admin, arguments: Arguments) -> Result:
    group = arguments.consumerGroup
    members = await _members(admin, arguments)
    ids = [item.client_id for item in members.connection_set if arguments.clientId in (None, item.client_id)]
    if not ids:
        raise BadInput(f"the group {group} has no member {arguments.clientId}")
    broker = arguments.brokerAddr or (await admin.topics.masters_of(retry_topic(group)))[0]
    found = {
        client: await admin.clients.running_info(broker, group, client, jstack=arguments.jstack)
        for client in sorted(ids)
    }
    if arguments.json or arguments.clientId:
        return Facts({client: info.to_json() for client, info in found.items()})
    rows: list[tuple[object, ...]] = [
        (client, info.properties.get("PROP_CLIENT_VERSION"), len(info.mq_table))
        for client, info in found.items()
    ]
    return Table(("ClientId", "Version", "Queues"), rows)


@command(
    "producerConnection",
    "Members of a producer group",
    Option("g", "producerGroup", "producer group name", "GROUP", required=True),
    topic_option(),
    example="producerConnection -g shop -t orders",
)
async def producer_connection(admin: Admin, arguments: Arguments) -> Result:
    rows: list[tuple[object, ...]] = []
    for broker in await admin.topics.masters_of(arguments.topic):
        members = await admin.clients.producers(broker, arguments.producerGroup)
        rows += [
            (item.client_id, item.client_addr, item.language.name, item.version)
            for item in members.connection_set
        ]
    return Table(("ClientId", "ClientAddr", "Language", "Version"), sorted(set(rows), key=str))


@command(
    "producer",
    "Every producer that a broker knows",
    Option("b", "broker", "the broker, HOST:PORT", "ADDRESS", required=True),
    example="producer -b 127.0.0.1:10911",
)
async def producer(admin: Admin, arguments: Arguments) -> Result:
    rows: list[tuple[object, ...]] = [
        (group, item.client_id, item.remote_ip, item.language.name, item.version)
        for group, members in sorted((await admin.clients.all_producers(arguments.broker)).items())
        for item in members
    ]
    return Table(("Group", "ClientId", "Remote", "Language", "Version"), rows)
