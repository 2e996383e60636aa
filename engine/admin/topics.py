"""Topics: lists, routes, queues, creation, changes, deletion, traffic."""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from engine.admin.arguments import attribute_changes, comma_list, shown_time, truth, whole_number
from engine.admin.broker_targets import BROKER, CLUSTER, broker_command, change_brokers, chosen_masters
from engine.admin.commands import Arguments, Option, command, topic_option
from engine.admin.results import Facts, Result, Row, Table
from engine.client import Admin
from engine.client.admin.name_servers import ORDER_TOPICS
from engine.errors import PeerError
from engine.protocol.allocation import average
from engine.protocol.bodies.routes import TopicRouteData
from engine.protocol.bodies.topics import PERM_READ, PERM_READ_WRITE, PERM_WRITE, TopicConfig

PERMISSIONS = {"2": PERM_WRITE, "4": PERM_READ, "6": PERM_READ_WRITE}
_PERMISSION_HELP = "2 write, 4 read, 6 both"


@command(
    "topicList",
    "List topics; with -c also their clusters and consumer groups",
    Option("c", "clusterModel", "show clusters and groups of each topic"),
)
async def topic_list(admin: Admin, arguments: Arguments) -> Result:
    names = await admin.topics.names()
    if not arguments.clusterModel:
        return Table(("Topic",), [(name,) for name in names])
    rows = [
        (
            ",".join(_clusters(await admin.topics.route(name))),
            name,
            ",".join(sorted(await admin.topics.groups(name))),
        )
        for name in names
    ]
    return Table(("Cluster", "Topic", "Consumer groups"), rows)


def _clusters(route: TopicRouteData) -> list[str]:
    return sorted({broker.cluster for broker in route.broker_datas})


@command(
    "topicRoute",
    "The brokers of a topic, with their queues and permissions",
    topic_option(),
    Option("l", "list", "one line per broker: the only form here, accepted for compatibility with mqadmin"),
)
async def topic_route(admin: Admin, arguments: Arguments) -> Result:
    route = await admin.topics.route(arguments.topic)
    brokers = {broker.broker_name: broker for broker in route.broker_datas}
    rows: list[Row] = []
    for queue in route.queue_datas:
        broker = brokers[queue.broker_name]
        addresses = " ".join(f"{number}={address}" for number, address in sorted(broker.broker_addrs.items()))
        queues = (queue.read_queue_nums, queue.write_queue_nums, queue.perm)
        rows.append((broker.cluster, queue.broker_name, addresses, *queues))
    columns = ("Cluster", "Broker", "Addresses", "Read queues", "Write queues", "Perm")
    return Table(columns, rows, document=route.to_json())


@command("topicClusterList", "Clusters of a topic", topic_option())
async def topic_cluster_list(admin: Admin, arguments: Arguments) -> Result:
    return Table(("Cluster",), [(name,) for name in _clusters(await admin.topics.route(arguments.topic))])


@command("topicStatus", "Offsets of each queue", topic_option(), CLUSTER)
async def topic_status(admin: Admin, arguments: Arguments) -> Result:
    brokers = await admin.topics.masters_of(arguments.topic)
    if arguments.clusterName:
        wanted = await admin.cluster.masters(arguments.clusterName)
        brokers = [broker for broker in brokers if broker in wanted]
    parts = [await admin.topics.stats_on_broker(broker, arguments.topic) for broker in brokers]
    rows = [
        (
            queue.broker_name,
            queue.queue_id,
            offsets.min_offset,
            offsets.max_offset,
            shown_time(offsets.last_update_timestamp),
        )
        for part in parts
        for queue, offsets in part.offset_table.items()
    ]
    columns = ("Broker Name", "QID", "Min Offset", "Max Offset", "Last Updated")
    return Table(columns, sorted(rows), (f"Topic Put TPS: {sum(part.topic_put_tps for part in parts):.2f}",))


@broker_command(
    "updateTopic",
    "Create a topic or change it",
    topic_option(),
    Option("r", "readQueueNums", "read queues (8)", "N", whole_number, 8),
    Option("w", "writeQueueNums", "write queues (8)", "N", whole_number, 8),
    Option("p", "perm", f"{_PERMISSION_HELP} (6)", "PERM", default="6", choices=tuple(PERMISSIONS)),
    Option("o", "order", "an ordered topic (false)", "BOOL", truth, False),
    Option("u", "unit", "a unit topic (false)", "BOOL", truth, False),
    Option("s", "hasUnitSub", "has unit subscriptions (false)", "BOOL", truth, False),
    Option("a", "attributes", "+key=value to set, -key to remove, by commas", "CHANGES", attribute_changes),
    example="updateTopic -c DefaultCluster -t orders -r 8 -w 8",
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
    brokers, what = await chosen_masters(admin, arguments), f"create topic {config.topic_name}"
    values = (config, arguments.attributes)
    data = {"topic": config.topic_name, "config": config.to_json()}
    outcome = await change_brokers(brokers, what, admin.topics.create, *values, **data)
    if arguments.order:
        await _put_order_config(admin, config, brokers)
    return outcome


async def _put_order_config(admin: Admin, config: TopicConfig, brokers: list[str]) -> None:
    """Clients learn the queues of an ordered topic from the key-value pairs of the name servers."""
    groups = (await admin.cluster.info()).broker_addr_table.values()
    names = [group.broker_name for group in groups if set(group.broker_addrs.values()) & set(brokers)]
    value = ";".join(f"{name}:{config.write_queue_nums}" for name in sorted(names))
    await admin.name_servers.put(ORDER_TOPICS, config.topic_name, value)


@command(
    "updateTopicPerm",
    "Change whether a topic can be written and read",
    BROKER,
    CLUSTER,
    topic_option(),
    Option("p", "perm", _PERMISSION_HELP, "PERM", required=True, choices=tuple(PERMISSIONS)),
    example="updateTopicPerm -c DefaultCluster -t orders -p 4",
)
async def update_topic_perm(admin: Admin, arguments: Arguments) -> Result:
    perm = PERMISSIONS[arguments.perm]
    if arguments.brokerAddr or arguments.clusterName:
        brokers = await chosen_masters(admin, arguments)
    else:
        brokers = await admin.topics.masters_of(arguments.topic)
    rows: list[Row] = []
    for broker in brokers:
        config = await admin.topics.config(broker, arguments.topic)
        await admin.topics.create(broker, replace(config, perm=perm))
        rows.append((broker, arguments.topic, config.perm, perm))
    return Table(("Broker", "Topic", "From", "To"), rows)


@command(
    "deleteTopic",
    "Delete a topic from the brokers of a cluster and from the name servers",
    topic_option(),
    Option("c", "clusterName", "the cluster", "CLUSTER", required=True),
)
async def delete_topic(admin: Admin, arguments: Arguments) -> Result:
    await admin.topics.delete(arguments.topic, arguments.clusterName)
    data = {"topic": arguments.topic, "cluster": arguments.clusterName}
    return Facts(data, f"delete topic [{arguments.topic}] from cluster [{arguments.clusterName}] success")


@command(
    "allocateMQ",
    "How the queues of a topic would be shared among these clients",
    topic_option(),
    Option("i", "ipList", "client ids by commas", "IDS", comma_list, required=True),
)
async def allocate_mq(admin: Admin, arguments: Arguments) -> Result:
    clients = sorted(arguments.ipList)
    queues = await admin.messages.queues(arguments.topic)
    rows = [
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
    wanted = [arguments.topic] if arguments.topic else await admin.topics.names()
    found = await asyncio.gather(*(_traffic(admin, name) for name in wanted if not name.startswith("%")))
    rows = [row for part in found for row in part if not arguments.activeTopic or row[2] or row[3]]
    return Table(("Topic", "Consumer group", "In TPS", "Out TPS", "In 24h", "Out 24h"), rows)


async def _traffic(admin: Admin, topic: str) -> list[Row]:
    masters = await admin.topics.masters_of(topic)
    in_tps, in_day = await _sum(admin, masters, "TOPIC_PUT_NUMS", topic)
    rows: list[Row] = []
    groups: list[str | None] = [*sorted(await admin.topics.groups(topic))]
    for group in groups or [None]:
        out_tps, out_day = await _sum(admin, masters, "GROUP_GET_NUMS", f"{topic}@{group}")
        rows.append((topic, group, round(in_tps, 2), round(out_tps, 2), in_day, out_day))
    return rows


async def _sum(admin: Admin, brokers: list[str], name: str, key: str) -> tuple[float, int]:
    """Messages per second and in 24 hours. A broker that has not seen the topic or group since it started
    has no such item."""
    tps, day = 0.0, 0
    for broker in brokers:
        try:
            stats = await admin.brokers.stats(broker, name, key)
        except PeerError:
            continue
        tps, day = tps + stats.stats_minute.tps, day + stats.stats_day.sum
    return tps, day
