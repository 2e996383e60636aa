"""Moving a group: reset by time or queue, skip, clone. Each shows where the group stands afterwards."""

from __future__ import annotations

from engine.admin.commands import (
    Arguments,
    Facts,
    Option,
    Result,
    Table,
    command,
    topic_option,
    truth,
    whole_number,
)
from engine.admin.times import timestamp
from engine.client.admin import Admin
from engine.errors import BadInput
from engine.protocol.bodies.basics import MessageQueue

_SKIP_ALL = -1
_GROUP = Option("g", "group", "consumer group name", "GROUP", required=True)
_FORCE = Option("f", "force", "also move forward (true)", "BOOL", truth, True)


@command(
    "resetOffsetByTime",
    "Move a group to the first message at or after a time; takes effect online and offline",
    _GROUP,
    topic_option(),
    Option("s", "timestamp", "now, milliseconds or yyyy-MM-dd#HH:mm:ss:SSS", "TIME", timestamp),
    _FORCE,
    Option("b", "broker", "with -q: the broker, HOST:PORT", "ADDRESS"),
    Option("q", "queue", "with -b: one queue", "QID", whole_number),
    Option("o", "offset", "with -b and -q: this offset", "OFFSET", whole_number),
    example="resetOffsetByTime -g billing -t orders -s now",
    one_of=("timestamp", "offset"),
)
async def reset_offset_by_time(admin: Admin, arguments: Arguments) -> Result:
    if arguments.broker is None and arguments.queue is None:
        if arguments.timestamp is None:
            raise BadInput("--offset needs --broker and --queue; without them give --timestamp")
        moved = await admin.offsets.reset(
            arguments.group, arguments.topic, arguments.timestamp, force=arguments.force
        )
        return _moved(moved)
    if arguments.broker is None or arguments.queue is None:
        raise BadInput("--broker and --queue go together")
    return await _reset_queue(admin, arguments)


async def _reset_queue(admin: Admin, arguments: Arguments) -> Result:
    route = await admin.topics.route(arguments.topic)
    names = [
        data.broker_name for data in route.broker_datas if arguments.broker in data.broker_addrs.values()
    ]
    if not names:
        raise BadInput(f"{arguments.broker} does not have the topic {arguments.topic}")
    queue = MessageQueue(arguments.topic, names[0], arguments.queue)
    offset = arguments.offset
    if offset is None:
        offset = await admin.offsets.offset_at(queue, arguments.timestamp)
    await admin.offsets.reset_queue(
        arguments.broker, arguments.group, arguments.topic, arguments.queue, offset
    )
    return _moved({queue: offset})


@command(
    "skipAccumulatedMessage",
    "Move a group to the end of a topic: what it has not read is passed over",
    _GROUP,
    topic_option(),
    _FORCE,
    example="skipAccumulatedMessage -g billing -t orders",
)
async def skip_accumulated_message(admin: Admin, arguments: Arguments) -> Result:
    return _moved(
        await admin.offsets.reset(arguments.group, arguments.topic, _SKIP_ALL, force=arguments.force)
    )


def _moved(offsets: dict[MessageQueue, int]) -> Table:
    rows: list[tuple[object, ...]] = [
        (queue.broker_name, queue.queue_id, offset) for queue, offset in sorted(offsets.items())
    ]
    return Table(("Broker Name", "QID", "Offset"), rows)


@command(
    "cloneGroupOffset",
    "Let one group stand where another stands",
    Option("s", "srcGroup", "the group to copy from", "GROUP", required=True),
    Option("d", "destGroup", "the group to move", "GROUP", required=True),
    topic_option(),
    Option("o", "offline", "the group is offline", "BOOL", truth, False),
    example="cloneGroupOffset -s billing -d billing-2 -t orders",
)
async def clone_group_offset(admin: Admin, arguments: Arguments) -> Result:
    brokers = await admin.topics.masters_of(arguments.topic)
    for broker in brokers:
        await admin.offsets.clone(
            broker, arguments.srcGroup, arguments.destGroup, arguments.topic, offline=arguments.offline
        )
    data = {
        "from": arguments.srcGroup,
        "to": arguments.destGroup,
        "topic": arguments.topic,
        "brokers": brokers,
    }
    return Facts(
        data,
        f"clone group offset success, {arguments.srcGroup} to {arguments.destGroup} on {arguments.topic}",
    )
