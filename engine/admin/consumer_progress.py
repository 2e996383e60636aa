"""Offsets and lag of consumer groups: consumerProgress, brokerConsumeStats."""

from __future__ import annotations

from engine.admin.argument_types import truth, whole_number
from engine.admin.commands import Arguments, Option, address_option, command, group_option
from engine.admin.connections import find_members, name_of
from engine.admin.results import Result, Row, Table
from engine.admin.times import shown_time
from engine.client import Admin, MessageQueue
from engine.errors import EngineError, PeerError
from engine.protocol.bodies.stats import ConsumeStats
from engine.protocol.codes import ResponseCode
from engine.protocol.names import RETRY_PREFIX, group_of, is_system_group

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
