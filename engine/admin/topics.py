"""Topics: listing, routes, queues, creating, changing, deleting."""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

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
    topic_option,
    truth,
    whole_number,
)
from engine.admin.times import shown_time
from engine.client.admin import Admin
from engine.client.consuming.allocation import average
from engine.errors import EngineError
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.bodies.routes import TopicRouteData
from engine.protocol.bodies.topics import PERM_READ, PERM_READ_WRITE, PERM_WRITE, TopicConfig
from engine.protocol.headers.topics import parse_attribute_changes

PERMISSIONS = {"2": PERM_WRITE, "4": PERM_READ, "6": PERM_READ_WRITE}


@command(
    "topicList",
    "List topics; with -c also their cluster and consumer groups",
    Option("c", "clusterModel", "show cluster and groups of each topic"),
    example="topicList -n 127.0.0.1:9876 -c",
)
async def topic_list(admin: Admin, arguments: Arguments) -> Result:
    names = await admin.topics.names()
    if not arguments.clusterModel:
        return Table(("Topic",), [(name,) for name in names])
    rows: list[tuple[object, ...]] = []
    for name in names:
        route = await admin.topics.route(name)
        clusters = ",".join(sorted({broker.cluster for broker in route.broker_datas}))
        rows.append((clusters, name, ",".join(sorted(await admin.topics.groups(name)))))
    return Table(("Cluster", "Topic", "Consumer groups"), rows)


@command(
    "topicRoute",
    "Which brokers have a topic, with how many queues",
    topic_option(),
    Option("l", "list", "one line per broker (the only form here; accepted for mqadmin's sake)"),
    example="topicRoute -t orders",
)
async def topic_route(admin: Admin, arguments: Arguments) -> Result:
    route = await admin.topics.route(arguments.topic)
    if arguments.json:
        return Facts(route.to_json())
    addresses = {broker.broker_name: broker for broker in route.broker_datas}
    rows: list[tuple[object, ...]] = []
    for queue in route.queue_datas:
        broker = addresses[queue.broker_name]
        where = " ".join(f"{number}={address}" for number, address in sorted(broker.broker_addrs.items()))
        rows.append(
            (
                broker.cluster,
                queue.broker_name,
                where,
                queue.read_queue_nums,
                queue.write_queue_nums,
                queue.perm,
            )
        )
    return Table(("Cluster", "Broker", "Addresses", "Read queues", "Write queues", "Perm"), rows)


@command(
    "topicClusterList", "Clusters that have a topic", topic_option(), example="topicClusterList -t orders"
)
async def topic_cluster_list(admin: Admin, arguments: Arguments) -> Result:
    route = await admin.topics.route(arguments.topic)
    return Table(
        ("Cluster",), [(name,) for name in sorted({broker.cluster for broker in route.broker_datas})]
    )


@command("topicStatus", "Offsets of each queue", topic_option(), CLUSTER, example="topicStatus -t orders")
async def topic_status(admin: Admin, arguments: Arguments) -> Result:
    stats = await admin.topics.stats(arguments.topic)
    rows: list[tuple[object, ...]] = [
        (
            queue.broker_name,
            queue.queue_id,
            offsets.min_offset,
            offsets.max_offset,
            shown_time(offsets.last_update_timestamp),
        )
        for queue, offsets in sorted(stats.offset_table.items())
    ]
    columns = ("Broker Name", "QID", "Min Offset", "Max Offset", "Last Updated")
    return Table(columns, rows, (f"Topic Put TPS: {stats.topic_put_tps:.2f}",))


@command(
    "updateTopic",
    "Create a topic or change it",
    BROKER,
    CLUSTER,
    topic_option(),
    Option("r", "readQueueNums", "read queues (8)", "N", whole_number, 8),
    Option("w", "writeQueueNums", "write queues (8)", "N", whole_number, 8),
    Option("p", "perm", "2 write, 4 read, 6 both (6)", "PERM", default="6", choices=tuple(PERMISSIONS)),
    Option("o", "order", "an ordered topic", "BOOL", truth, False),
    Option("u", "unit", "a unit topic", "BOOL", truth, False),
    Option("s", "hasUnitSub", "has unit subscriptions", "BOOL", truth, False),
    Option("a", "attributes", "+key=value,-key", "CHANGES"),
    example="updateTopic -c DefaultCluster -t orders -r 8 -w 8",
    one_of=("brokerAddr", "clusterName"),
)
async def update_topic(admin: Admin, arguments: Arguments) -> Result:
    config = TopicConfig(
        arguments.topic,
        arguments.readQueueNums,
        arguments.writeQueueNums,
        PERMISSIONS[arguments.perm],
        topic_sys_flag=int(arguments.unit) | int(arguments.hasUnitSub) << 1,
        order=arguments.order,
    )
    changes = parse_attribute_changes(arguments.attributes or "")
    brokers = await chosen_brokers(admin, arguments)
    for broker in brokers:
        await admin.topics.create(broker, config, changes)
    if arguments.order:
        await _order_on_all(admin, config, brokers)
    data = {"topic": config.topic_name, "brokers": brokers, "config": config.to_json()}
    return Facts(data, f"create topic {config.topic_name} to {', '.join(brokers)} success")


async def _order_on_all(admin: Admin, config: TopicConfig, brokers: list[str]) -> None:
    """An ordered topic's queues are told to clients through the name servers' KV configuration."""
    names = [
        data.broker_name
        for data in (await admin.cluster.info()).broker_addr_table.values()
        if set(data.broker_addrs.values()) & set(brokers)
    ]
    value = ";".join(f"{name}:{config.write_queue_nums}" for name in sorted(names))
    await admin.name_servers.put("ORDER_TOPIC_CONFIG", config.topic_name, value)


@command(
    "updateTopicPerm",
    "Change who may write and read a topic",
    BROKER,
    CLUSTER,
    topic_option(),
    Option("p", "perm", "2 write, 4 read, 6 both", "PERM", required=True, choices=tuple(PERMISSIONS)),
    example="updateTopicPerm -c DefaultCluster -t orders -p 4",
)
async def update_topic_perm(admin: Admin, arguments: Arguments) -> Result:
    perm = PERMISSIONS[arguments.perm]
    if arguments.brokerAddr or arguments.clusterName:
        brokers = await chosen_brokers(admin, arguments)
    else:
        brokers = await admin.topics.masters_of(arguments.topic)
    rows: list[tuple[object, ...]] = []
    for broker in brokers:
        config = await admin.topics.config(broker, arguments.topic)
        await admin.topics.create(broker, replace(config, perm=perm))
        rows.append((broker, arguments.topic, config.perm, perm))
    return Table(("Broker", "Topic", "From", "To"), rows)


@command(
    "deleteTopic",
    "Delete a topic from a cluster's brokers and from the name servers",
    topic_option(),
    Option("c", "clusterName", "the cluster", "CLUSTER", required=True),
    example="deleteTopic -t orders -c DefaultCluster",
)
async def delete_topic(admin: Admin, arguments: Arguments) -> Result:
    await admin.topics.delete(arguments.topic, arguments.clusterName)
    data = {"topic": arguments.topic, "cluster": arguments.clusterName}
    return Facts(data, f"delete topic [{arguments.topic}] from cluster [{arguments.clusterName}] success")


@command(
    "allocateMQ",
    "How a topic's queues would be shared among these clients",
    topic_option(),
    Option("i", "ipList", "client ids, comma separated", "IDS", required=True),
    example="allocateMQ -t orders -i 10.0.0.1,10.0.0.2",
)
async def allocate_mq(admin: Admin, arguments: Arguments) -> Result:
    route = await admin.topics.route(arguments.topic)
    clients = sorted(filter(None, (part.strip() for part in arguments.ipList.split(","))))
    queues = readable_queues(arguments.topic, route)
    rows: list[tuple[object, ...]] = [
        (client, queue.broker_name, queue.queue_id)
        for client in clients
        for queue in average(client, queues, clients)
    ]
    return Table(("Client", "Broker Name", "QID"), rows)


@command(
    "statsAll",
    "Rates in and out of every topic and group",
    Option("a", "activeTopic", "only topics with traffic"),
    topic_option(required=False),
)
async def stats_all(admin: Admin, arguments: Arguments) -> Result:
    names = await admin.topics.names()
    wanted = [name for name in names if arguments.topic in (None, name) and not name.startswith("%")]
    found = await asyncio.gather(*(_traffic(admin, name) for name in wanted))
    rows = [row for part in found for row in part if not arguments.activeTopic or row[2] or row[3]]
    return Table(("Topic", "Consumer group", "In TPS", "Out TPS", "In 24h", "Out 24h"), rows)


async def _traffic(admin: Admin, topic: str) -> list[tuple[object, ...]]:
    masters = await admin.topics.masters_of(topic)
    incoming = [await _stats(admin, broker, "TOPIC_PUT_NUMS", topic) for broker in masters]
    put_tps, put_day = sum(item[0] for item in incoming), sum(item[1] for item in incoming)
    groups = sorted(await admin.topics.groups(topic))
    rows: list[tuple[object, ...]] = []
    for group in groups or [""]:
        got = [await _stats(admin, broker, "GROUP_GET_NUMS", f"{topic}@{group}") for broker in masters]
        got_tps, got_day = sum(item[0] for item in got), sum(item[1] for item in got)
        rows.append((topic, group or None, round(put_tps, 2), round(got_tps, 2), put_day, got_day))
    return rows


async def _stats(admin: Admin, broker: str, name: str, key: str) -> tuple[float, int]:
    try:
        stats = await admin.brokers.stats(broker, name, key)
    except EngineError:
        # No such item: this broker has not seen the topic or group since it started.
        return 0.0, 0
    return stats.stats_minute.tps, stats.stats_day.sum


def readable_queues(topic: str, route: TopicRouteData) -> list[MessageQueue]:
    return sorted(
        MessageQueue(topic, data.broker_name, number)
        for data in route.queue_datas
        if data.perm & PERM_READ
        for number in range(data.read_queue_nums)
    )
