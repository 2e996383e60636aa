"""Consumer groups: configuration (creation, changes, deletion, pull or pop), offsets and lag."""

from __future__ import annotations

from engine.admin.arguments import id_number, shown_time, truth, whole_number
from engine.admin.broker_targets import broker_command, change_brokers, chosen_masters
from engine.admin.commands import Arguments, Option, address_option, command, group_option
from engine.admin.connections import find_members, name_of
from engine.admin.results import Facts, Result, Row, Table
from engine.client import Admin, MessageQueue
from engine.errors import EngineError, NotFound, PeerError
from engine.protocol.bodies.groups import MessageRequestMode, SubscriptionGroupConfig
from engine.protocol.bodies.stats import ConsumeStats
from engine.protocol.codes import ResponseCode
from engine.protocol.names import RETRY_PREFIX, dlq_topic, group_of, is_system_group, retry_topic

_SETTINGS = (
    Option("s", "consumeEnable", "the group may consume (true)", "BOOL", truth, True),
    Option("m", "consumeFromMinEnable", "start at the oldest message (false)", "BOOL", truth, False),
    Option("d", "consumeBroadcastEnable", "the group may broadcast (false)", "BOOL", truth, False),
    Option("o", "consumeMessageOrderly", "consume in order (false)", "BOOL", truth, False),
    Option("q", "retryQueueNums", "queues of its retry topic (1)", "N", whole_number, 1),
    Option("r", "retryMaxTimes", "retries before a message is a dead letter (16)", "N", whole_number, 16),
    Option("i", "brokerId", "broker to read from (0)", "ID", whole_number, 0),
    Option("w", "whichBrokerWhenConsumeSlowly", "broker to read from when slow (1)", "ID", whole_number, 1),
)
"""Options that are called as the members of the configuration on the wire are."""
_NOTIFY = Option("a", "notifyConsumerIdsChanged", "notify members of changes (true)", "BOOL", truth, True)


@broker_command("updateSubGroup", "Create a consumer group or change it", group_option(), *_SETTINGS, _NOTIFY)
async def update_sub_group(admin: Admin, arguments: Arguments) -> Result:
    name = arguments.groupName
    settings = {option.name: getattr(arguments, option.name) for option in _SETTINGS}
    settings["notifyConsumerIdsChangedEnable"] = arguments.notifyConsumerIdsChanged
    config = SubscriptionGroupConfig.from_json({"groupName": name, **settings})
    brokers, what = await chosen_masters(admin, arguments), f"create subscription group {name}"
    return await change_brokers(
        brokers, what, admin.groups.create, config, group=name, config=config.to_json()
    )


@broker_command(
    "deleteSubGroup",
    "Delete a consumer group with its retry and dead-letter topics",
    group_option(),
    Option("r", "removeOffset", "delete its offsets too (true)", "BOOL", truth, True),
)
async def delete_sub_group(admin: Admin, arguments: Arguments) -> Result:
    group = arguments.groupName
    topics = (retry_topic(group), dlq_topic(group))
    brokers = await chosen_masters(admin, arguments)
    for broker in brokers:
        await admin.groups.delete(broker, group, clean_offset=arguments.removeOffset)
        for topic in topics:
            await admin.topics.delete_on_broker(broker, topic)
    for topic in topics if arguments.clusterName else ():
        await admin.topics.delete_in_name_servers(topic, arguments.clusterName)
    data = {"group": group, "brokers": brokers, "offsetsRemoved": arguments.removeOffset}
    return Facts(data, f"delete subscription group [{group}] from {', '.join(brokers)} success")


@broker_command(
    "setConsumeMode",
    "Whether the clients of a group pull or pop a topic",
    Option("t", "topicName", "topic name", "TOPIC", required=True),
    group_option(),
    Option("m", "mode", "PULL or POP", "MODE", required=True, choices=("PULL", "POP")),
    Option("q", "popShareQueueNum", "queues shared when popping (0)", "N", id_number, 0),
)
async def set_consume_mode(admin: Admin, arguments: Arguments) -> Result:
    group, topic, mode = arguments.groupName, arguments.topicName, MessageRequestMode[arguments.mode]
    values = (group, topic, mode, arguments.popShareQueueNum)
    data = {"group": group, "topic": topic, "mode": mode.name}
    brokers = await chosen_masters(admin, arguments)
    return await change_brokers(brokers, "set consume mode", admin.groups.set_request_mode, *values, **data)


@command("getConsumerConfig", "Configuration of a consumer group on every broker", group_option())
async def get_consumer_config(admin: Admin, arguments: Arguments) -> Result:
    group = arguments.groupName
    rows: list[Row] = []
    for broker in await admin.cluster.masters():
        try:
            config = (await admin.groups.configs(broker)).get(group)
        except EngineError as error:
            rows.append((broker, "unknown", error.text))
            continue
        if config is not None:
            rows += [(broker, *item) for item in sorted(config.to_json().items())]
    if not rows:
        raise NotFound(f"no broker has the group {group}", code=ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST)
    return Table(("Broker", "Name", "Value"), rows)


_QUEUE_COLUMNS = ("Topic", "Broker Name", "QID", "Broker Offset", "Consumer Offset")
_PROGRESS_COLUMNS = (*_QUEUE_COLUMNS, "Client IP", "Diff", "Inflight", "Last Time")
_LAG_COLUMNS = ("Topic", "Group", *_QUEUE_COLUMNS[1:], "Diff", "Last Time")


@command(
    "consumerProgress",
    "Offsets and lag of a group; without -g the lag of every group",
    group_option(required=False),
    Option("t", "topicName", "only this topic", "TOPIC"),
    Option("s", "showClientIP", "show which client holds each queue (false)", "BOOL", truth, False),
    example="consumerProgress -g billing",
)
async def consumer_progress(admin: Admin, arguments: Arguments) -> Result:
    group = arguments.groupName
    if group is None:
        return await _progress_of_all(admin)
    stats = await consume_stats(admin, group, arguments.topicName)
    owners = await _owners(admin, group) if arguments.showClientIP else {}
    rows = [
        (
            queue.topic,
            queue.broker_name,
            queue.queue_id,
            offsets.broker_offset,
            offsets.consumer_offset,
            owners.get(queue),
            offsets.broker_offset - offsets.consumer_offset,
            offsets.pull_offset - offsets.consumer_offset,
            shown_time(offsets.last_timestamp),
        )
        for queue, offsets in sorted(stats.offset_table.items())
    ]
    notes = (f"Consume TPS: {stats.consume_tps:.2f}", f"Consume Diff Total: {_lag(stats)}")
    return Table(_PROGRESS_COLUMNS, rows, notes)


async def consume_stats(admin: Admin, group: str, topic: str | None = None) -> ConsumeStats:
    """The offsets of a group. Asked about one topic, brokers answer zeros for any group, so the group is
    checked first."""
    stats = await admin.groups.consume_stats(group)
    if not stats.offset_table and await find_members(admin, group) is None:
        text = f"the group {group} has no offsets and no member"
        raise PeerError(text, code=ResponseCode.CONSUMER_NOT_ONLINE)
    return stats if topic is None else await admin.groups.consume_stats(group, topic)


def _lag(stats: ConsumeStats) -> int:
    return sum(offsets.broker_offset - offsets.consumer_offset for offsets in stats.offset_table.values())


async def _progress_of_all(admin: Admin) -> Result:
    rows: list[Row] = []
    for group in await _all_groups(admin):
        try:
            stats = await admin.groups.consume_stats(group)
        except EngineError as error:
            rows.append((group, "unknown", None, None, "unknown", error.text))
            continue
        _, members = await find_members(admin, group) or (None, None)
        state: Row = (0, None, "OFFLINE")
        if members is not None:
            state = (
                len(members.connection_set),
                name_of(members.consume_type),
                name_of(members.message_model),
            )
        rows.append((group, *state, round(stats.consume_tps, 2), _lag(stats)))
    return Table(("Group", "Count", "Type", "Model", "TPS", "Diff Total"), rows)


async def _all_groups(admin: Admin) -> list[str]:
    """Groups with a retry topic, and those with offsets: a group that was never online has no retry topic."""
    groups = {group_of(name) for name in await admin.topics.names() if name.startswith(RETRY_PREFIX)}
    for broker in await admin.cluster.masters():
        groups |= {place.partition("@")[2] for place in await admin.offsets.all_on_broker(broker)}
    return sorted(group for group in groups if group and not is_system_group(group))


async def _owners(admin: Admin, group: str) -> dict[MessageQueue, str]:
    """The address of the member that holds each queue, as far as members answer."""
    broker, members = await find_members(admin, group) or ("", None)
    owners: dict[MessageQueue, str] = {}
    for member in members.connection_set if members else ():
        try:
            info = await admin.clients.running_info(broker, group, member.client_id)
        except EngineError:
            continue
        owners |= dict.fromkeys(info.mq_table, member.client_addr.rpartition(":")[0])
    return owners


@command(
    "brokerConsumeStats",
    "Lag of every group on one broker",
    address_option("b", "brokerAddr"),
    Option("l", "level", "only queues with at least this lag (0)", "N", whole_number, 0),
    Option("o", "order", "only ordered topics", "BOOL", truth, False),
)
async def broker_consume_stats(admin: Admin, arguments: Arguments) -> Result:
    found = await admin.groups.consume_stats_of_broker(arguments.brokerAddr, is_order=arguments.order)
    queues = [
        (group, queue, offsets)
        for by_group in found.consume_stats_list
        for group, parts in by_group.items()
        for part in parts
        for queue, offsets in sorted(part.offset_table.items())
    ]
    rows: list[Row] = []
    for group, queue, offsets in queues:
        lag = offsets.broker_offset - offsets.consumer_offset
        if lag >= arguments.level:
            place = (queue.topic, group, queue.broker_name, queue.queue_id)
            last_time = shown_time(offsets.last_timestamp)
            rows.append((*place, offsets.broker_offset, offsets.consumer_offset, lag, last_time))
    return Table(_LAG_COLUMNS, rows, (f"Diff Total: {found.total_diff}",))
