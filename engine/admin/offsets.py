"""Offsets of consumer groups: reset by time or queue, skip, clone. Resets show the new offsets."""

from __future__ import annotations

from engine.admin.arguments import TIME_HELP, id_number, queue_offset, timestamp, truth
from engine.admin.commands import Arguments, Option, address_option, command, topic_option
from engine.admin.groups import consume_stats
from engine.admin.results import Facts, Result, Table
from engine.client import Admin, MessageQueue
from engine.client.admin.offsets import END_OF_QUEUE
from engine.errors import BadInput, NotFound
from engine.protocol.codes import ResponseCode

_GROUP = Option("g", "group", "consumer group name", "GROUP", required=True)
_FORCE = Option("f", "force", "move forward as well as back (true)", "BOOL", truth, True)


@command(
    "resetOffsetByTime",
    "Move a group, online or offline, to the first message at or after a time",
    _GROUP,
    topic_option(),
    Option("s", "timestamp", TIME_HELP, "TIME", timestamp),
    _FORCE,
    address_option("b", "broker", "with -q: address of the broker", required=False),
    Option("q", "queue", "with -b: one queue", "QID", id_number),
    Option("o", "offset", "with -b and -q: this offset", "OFFSET", queue_offset),
    example="resetOffsetByTime -g billing -t orders -s now",
    one_of=("timestamp", "offset"),
    together=("broker", "queue"),
)
async def reset_offset_by_time(admin: Admin, arguments: Arguments) -> Result:
    if arguments.broker is not None:
        return await _reset_queue(admin, arguments)
    if arguments.timestamp is None:
        raise BadInput("--offset needs --broker and --queue; without them give --timestamp")
    return await _reset(admin, arguments, arguments.timestamp)


async def _reset_queue(admin: Admin, arguments: Arguments) -> Result:
    broker, topic = arguments.broker, arguments.topic
    route = await admin.topics.route(topic)
    names = [group.broker_name for group in route.broker_datas if broker in group.broker_addrs.values()]
    if not names:
        raise NotFound(f"{broker} does not have the topic {topic}", code=ResponseCode.TOPIC_NOT_EXIST)
    queue = MessageQueue(topic, names[0], arguments.queue)
    offset = arguments.offset
    if offset is None:
        offset = await admin.offsets.offset_at(queue, arguments.timestamp)
    await admin.offsets.reset_queue(broker, arguments.group, topic, queue.queue_id, offset)
    return _new_offsets({queue: offset})


@command(
    "skipAccumulatedMessage",
    "Move a group to the end of a topic: messages that it has not read are skipped",
    _GROUP,
    topic_option(),
    _FORCE,
)
async def skip_accumulated_message(admin: Admin, arguments: Arguments) -> Result:
    return await _reset(admin, arguments, END_OF_QUEUE)


async def _reset(admin: Admin, arguments: Arguments, timestamp_ms: int) -> Table:
    return _new_offsets(
        await admin.offsets.reset(arguments.group, arguments.topic, timestamp_ms, force=arguments.force)
    )


def _new_offsets(offsets: dict[MessageQueue, int]) -> Table:
    rows = [(queue.broker_name, queue.queue_id, offset) for queue, offset in sorted(offsets.items())]
    return Table(("Broker Name", "QID", "Offset"), rows)


@command(
    "cloneGroupOffset",
    "Give one group the offsets of another",
    Option("s", "srcGroup", "the group to copy from", "GROUP", required=True),
    Option("d", "destGroup", "the group to move", "GROUP", required=True),
    topic_option(),
    Option("o", "offline", "the group is offline (false)", "BOOL", truth, False),
    example="cloneGroupOffset -s billing -d billing-2 -t orders",
)
async def clone_group_offset(admin: Admin, arguments: Arguments) -> Result:
    source, target, topic = arguments.srcGroup, arguments.destGroup, arguments.topic
    brokers = await admin.topics.masters_of(topic)
    if all(queue.topic != topic for queue in (await consume_stats(admin, source)).offset_table):
        raise NotFound(f"the group {source} has no offsets on {topic}", code=ResponseCode.QUERY_NOT_FOUND)
    for broker in brokers:
        await admin.offsets.clone(broker, source, target, topic, offline=arguments.offline)
    data = {"from": source, "to": target, "topic": topic, "brokers": brokers}
    return Facts(data, f"clone group offset success, {source} to {target} on {topic}")
