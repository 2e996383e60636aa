"""Topics, messages and offsets on the real broker of the tests."""

from __future__ import annotations

from clusters.gateway.addressing import address_of
from clusters.gateway.connections import ask
from clusters.models import Cluster
from engine.client.blocking import Producer
from engine.client.messages import Message
from engine.protocol.bodies.groups import SubscriptionGroupConfig
from engine.protocol.bodies.topics import TopicConfig
from tests.engine.client.servers import Cluster as EngineCluster


def make_topic(cluster: Cluster, topic: str, queues: int = 2) -> None:
    [broker] = cluster.broker_addresses
    ask(address_of(cluster), lambda admin: admin.topics.create(broker, TopicConfig(topic, queues, queues)))


def send(engine: EngineCluster, topic: str, count: int) -> None:
    with Producer("collector-tests", namesrv=engine.namesrv) as producer:
        for number in range(count):
            producer.send(Message(topic, f"message {number}".encode()))


def commit(cluster: Cluster, topic: str, group: str, offsets: dict[int, int]) -> None:
    """The group is made if there is none."""
    [broker] = cluster.broker_addresses
    ask(address_of(cluster), lambda admin: admin.groups.create(broker, SubscriptionGroupConfig(group)))
    for queue_id, offset in offsets.items():
        ask(
            address_of(cluster),
            lambda admin, q=queue_id, o=offset: admin.offsets.reset_queue(broker, group, topic, q, o),
        )
