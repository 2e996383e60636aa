"""One broker or all of a cluster: state, configuration, housekeeping, what groups leave behind."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from engine.admin.commands import (
    BROKER,
    CLUSTER,
    Arguments,
    Facts,
    Option,
    Result,
    Table,
    chosen_brokers,
    command,
    truth,
    whole_number,
)
from engine.admin.times import shown_time
from engine.client.admin import Admin
from engine.protocol.bodies.ha import HAClientRuntimeInfo, HARuntimeInfo

_ONE_OF = ("brokerAddr", "clusterName")


@command(
    "brokerStatus",
    "Runtime numbers of brokers",
    BROKER,
    CLUSTER,
    example="brokerStatus -b 127.0.0.1:10911",
    one_of=_ONE_OF,
)
async def broker_status(admin: Admin, arguments: Arguments) -> Result:
    return await _by_broker(admin, arguments, admin.brokers.runtime_info)


@command(
    "getBrokerConfig",
    "Configuration of brokers",
    BROKER,
    CLUSTER,
    example="getBrokerConfig -b 127.0.0.1:10911",
    one_of=_ONE_OF,
)
async def get_broker_config(admin: Admin, arguments: Arguments) -> Result:
    return await _by_broker(admin, arguments, admin.brokers.config)


async def _by_broker(
    admin: Admin, arguments: Arguments, ask: Callable[[str], Awaitable[dict[str, str]]]
) -> Result:
    brokers = await chosen_brokers(admin, arguments)
    answers = {broker: await ask(broker) for broker in brokers}
    if arguments.json:
        return Facts(dict(answers))
    if len(brokers) == 1:
        return Facts(dict(sorted(answers[brokers[0]].items())))
    rows: list[tuple[object, ...]] = [
        (broker, key, value) for broker, table in answers.items() for key, value in sorted(table.items())
    ]
    return Table(("Broker", "Name", "Value"), rows)


@command(
    "updateBrokerConfig",
    "Change one setting while the broker runs",
    BROKER,
    CLUSTER,
    Option("k", "key", "the setting", "KEY", required=True),
    Option("v", "value", "its new value", "VALUE", required=True),
    example="updateBrokerConfig -b 127.0.0.1:10911 -k brokerPermission -v 4",
    one_of=_ONE_OF,
)
async def update_broker_config(admin: Admin, arguments: Arguments) -> Result:
    brokers = await chosen_brokers(admin, arguments)
    for broker in brokers:
        await admin.brokers.update_config(broker, {arguments.key: arguments.value})
    data = {"brokers": brokers, arguments.key: arguments.value}
    return Facts(data, f"update broker config success, {', '.join(brokers)}")


def _housekeeping(name: str, help: str, pick: Callable[[Admin], Callable[[str], Awaitable[None]]]) -> None:
    @command(name, help, BROKER, CLUSTER, example=f"{name} -b 127.0.0.1:10911")
    async def run(admin: Admin, arguments: Arguments) -> Result:
        brokers = await chosen_brokers(admin, arguments)
        for broker in brokers:
            await pick(admin)(broker)
        return Facts({"brokers": brokers}, f"success, {', '.join(brokers)}")


_housekeeping(
    "cleanExpiredCQ",
    "Delete consume queues of expired messages",
    lambda admin: admin.brokers.clean_expired_queues,
)
_housekeeping(
    "cleanUnusedTopic",
    "Delete queues of topics that are gone",
    lambda admin: admin.brokers.clean_unused_topics,
)
_housekeeping(
    "deleteExpiredCommitLog",
    "Delete expired commit-log files now",
    lambda admin: admin.brokers.delete_expired_commit_logs,
)


@command(
    "brokerConsumeStats",
    "Lag of every group on one broker",
    Option("b", "brokerAddr", "the broker, HOST:PORT", "ADDRESS", required=True),
    Option("l", "level", "only queues at least this far behind (0)", "N", whole_number, 0),
    Option("o", "order", "only ordered topics", "BOOL", truth, False),
    example="brokerConsumeStats -b 127.0.0.1:10911",
)
async def broker_consume_stats(admin: Admin, arguments: Arguments) -> Result:
    found = await admin.groups.consume_stats_of_broker(arguments.brokerAddr, is_order=arguments.order)
    rows: list[tuple[object, ...]] = []
    for by_group in found.consume_stats_list:
        for group, parts in by_group.items():
            for queue, item in ((q, i) for part in parts for q, i in sorted(part.offset_table.items())):
                behind = item.broker_offset - item.consumer_offset
                if behind >= arguments.level:
                    last = shown_time(item.last_timestamp)
                    place = (queue.topic, group, queue.broker_name, queue.queue_id)
                    rows.append((*place, item.broker_offset, item.consumer_offset, behind, last))
    columns = (
        "Topic",
        "Group",
        "Broker Name",
        "QID",
        "Broker Offset",
        "Consumer Offset",
        "Diff",
        "Last Time",
    )
    return Table(columns, rows, (f"Diff Total: {found.total_diff}",))


@command(
    "haStatus",
    "Replication of brokers",
    BROKER,
    CLUSTER,
    example="haStatus -b 127.0.0.1:10911",
    one_of=_ONE_OF,
)
async def ha_status(admin: Admin, arguments: Arguments) -> Result:
    brokers = await chosen_brokers(admin, arguments)
    found = {broker: await admin.brokers.ha_status(broker) for broker in brokers}
    if arguments.json:
        return Facts({broker: info.to_json() for broker, info in found.items()})
    rows = [row for broker, info in found.items() for row in _ha_rows(broker, info)]
    columns = ("Broker", "Role", "Max Offset", "Peer", "Peer Offset", "Diff", "KB/s", "In Sync")
    return Table(columns, rows)


def _ha_rows(broker: str, info: HARuntimeInfo) -> list[tuple[object, ...]]:
    """A line for each slave of a master (or one that says that it has none), and one for a slave."""
    if not info.master:
        seen = info.ha_client_runtime_info or HAClientRuntimeInfo()
        behind = max(0, seen.master_flush_offset - seen.max_offset) if seen.master_flush_offset else "unknown"
        speed = round(seen.transferred_byte_in_second / 1024, 2)
        return [(broker, "slave", seen.max_offset, seen.master_addr or "none", "", behind, speed, "")]
    this = (broker, "master", info.master_commit_log_max_offset)
    return [
        (*this, slave.addr, slave.slave_ack_offset, slave.diff, speed, "yes" if slave.in_sync else "no")
        for slave in info.ha_connection_info
        for speed in (round(slave.transferred_byte_in_second / 1024, 2),)
    ] or [(*this, "none", "", "", "", "")]


@command(
    "exportMetadata",
    "Topics and groups of brokers as JSON",
    BROKER,
    CLUSTER,
    Option("t", "topic", "only topics"),
    Option("g", "subscriptionGroup", "only groups"),
    example="exportMetadata -c DefaultCluster --json",
    one_of=_ONE_OF,
)
async def export_metadata(admin: Admin, arguments: Arguments) -> Result:
    arguments.json = True
    exported: dict[str, object] = {}
    for broker in await chosen_brokers(admin, arguments):
        part: dict[str, object] = {}
        if not arguments.subscriptionGroup:
            configs = await admin.topics.configs(broker)
            part["topics"] = {name: config.to_json() for name, config in sorted(configs.items())}
        if not arguments.topic:
            groups = await admin.groups.configs(broker)
            part["groups"] = {name: config.to_json() for name, config in sorted(groups.items())}
        exported[broker] = part
    return Facts(exported)
