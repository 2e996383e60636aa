"""Connected clients: members of consumer and producer groups, and what consumers report about themselves."""

from __future__ import annotations

from enum import Enum

from engine.admin.broker_targets import BROKER
from engine.admin.commands import Arguments, Option, address_option, command, group_option, topic_option
from engine.admin.results import Facts, Result, Row, Table
from engine.client import Admin
from engine.errors import EngineError, NotFound, PeerError
from engine.protocol.bodies.clients import Connection, ConsumerConnection
from engine.protocol.codes import ResponseCode
from engine.protocol.names import retry_topic

_COLUMNS = ("ClientId", "ClientAddr", "Language", "Version")


def name_of(member: Enum | None) -> str:
    return "unknown" if member is None else member.name


async def find_members(admin: Admin, group: str) -> tuple[str, ConsumerConnection] | None:
    """The first broker that knows members of the group, and the members; None when the group is offline."""
    try:
        brokers = await admin.topics.masters_of(retry_topic(group))
    except EngineError:
        brokers = await admin.cluster.masters()
    for broker in brokers:
        try:
            return broker, await admin.clients.consumers(broker, group)
        except PeerError as error:
            if error.code != ResponseCode.CONSUMER_NOT_ONLINE:
                raise
    return None


async def _members(admin: Admin, arguments: Arguments) -> tuple[str, ConsumerConnection]:
    broker, group = arguments.brokerAddr, arguments.consumerGroup
    if broker:
        return broker, await admin.clients.consumers(broker, group)
    found = await find_members(admin, group)
    if found is None:
        text = f"the consumer group {group} is not online"
        raise PeerError(text, code=ResponseCode.CONSUMER_NOT_ONLINE)
    return found


@command(
    "consumerConnection",
    "Members of a consumer group and their subscriptions",
    group_option("consumerGroup"),
    BROKER,
)
async def consumer_connection(admin: Admin, arguments: Arguments) -> Result:
    _, members = await _members(admin, arguments)
    notes = (
        *(
            f"Subscription: {topic} {subscription.sub_string}"
            for topic, subscription in sorted(members.subscription_table.items())
        ),
        f"ConsumeType: {name_of(members.consume_type)}",
        f"MessageModel: {name_of(members.message_model)}",
        f"ConsumeFromWhere: {name_of(members.consume_from_where)}",
    )
    rows = sorted(map(_client_row, members.connection_set))
    return Table(_COLUMNS, rows, notes, document=members.to_json())


def _client_row(client: Connection) -> tuple[str, str, str, int]:
    return (client.client_id, client.client_addr, client.language.name, client.version)


@command(
    "consumerStatus",
    "What the members of a group report about themselves",
    group_option("consumerGroup"),
    BROKER,
    Option("i", "clientId", "only this member, in full", "CLIENT"),
    Option("s", "jstack", "with thread stacks"),
    example="consumerStatus -g billing -i 10.0.0.1@4711",
)
async def consumer_status(admin: Admin, arguments: Arguments) -> Result:
    group, wanted = arguments.consumerGroup, arguments.clientId
    broker, members = await _members(admin, arguments)
    clients = sorted(item.client_id for item in members.connection_set if wanted in (None, item.client_id))
    if not clients:
        text = f"the group {group} has no member {wanted}"
        raise NotFound(text, code=ResponseCode.CONSUMER_NOT_ONLINE)
    found = {
        client: await admin.clients.running_info(broker, group, client, jstack=arguments.jstack)
        for client in clients
    }
    document = {client: info.to_json() for client, info in found.items()}
    if wanted:
        return Facts(document)
    rows = [
        (client, info.properties.get("PROP_CLIENT_VERSION"), len(info.mq_table))
        for client, info in found.items()
    ]
    return Table(("ClientId", "Version", "Queues"), rows, document=document)


@command(
    "producerConnection",
    "Members of a producer group",
    Option("g", "producerGroup", "producer group name", "GROUP", required=True),
    topic_option(),
)
async def producer_connection(admin: Admin, arguments: Arguments) -> Result:
    """A producer is not connected to every broker of its topic, so a refusal counts only if all refuse."""
    rows: set[tuple[str, str, str, int]] = set()
    refusals: list[PeerError] = []
    for broker in await admin.topics.masters_of(arguments.topic):
        try:
            members = await admin.clients.producers(broker, arguments.producerGroup)
        except PeerError as error:
            refusals.append(error)
            continue
        rows |= set(map(_client_row, members.connection_set))
    if refusals and not rows:
        raise refusals[0]
    return Table(_COLUMNS, sorted(rows))


@command("producer", "Every producer that a broker knows", address_option("b", "broker"))
async def producer(admin: Admin, arguments: Arguments) -> Result:
    rows: list[Row] = [
        (group, item.client_id, item.remote_ip, item.language.name, item.version)
        for group, members in sorted((await admin.clients.all_producers(arguments.broker)).items())
        for item in members
    ]
    return Table(("Group", "ClientId", "Remote", "Language", "Version"), rows)
