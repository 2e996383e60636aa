"""The console's collector on Apache's brokers: lag of every group, members and seconds of watched ones."""

from __future__ import annotations

import time

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from redis.asyncio import Redis

from clusters.models import LiveBroker, LiveGroup, LiveSubscription, LiveTopic
from console.core import watching
from engine.client.admin import Admin
from engine.client.messages import Message
from engine.client.sending.producer import Producer
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.bodies.groups import SubscriptionGroupConfig
from engine.protocol.bodies.topics import TopicConfig
from tests.clusters.collecting.rounds import attach, rounds_of
from tests.platform_fixtures import redis  # noqa: F401

from .clusters import BROKER_NAME, CLUSTER_NAME, Cluster

pytestmark = [pytest.mark.interop, pytest.mark.django_db(transaction=True)]


async def test_an_apache_cluster_is_collected(apache: Cluster, redis: str) -> None:  # noqa: F811
    async with (
        Admin(namesrv=apache.name_server) as admin,
        Producer("collected", namesrv=apache.name_server) as producer,
    ):
        await admin.topics.create(apache.broker, TopicConfig("collected", 1, 1))
        for group in ("collected-g", "unwatched-g"):
            await admin.groups.create(apache.broker, SubscriptionGroupConfig(group))
        queue = MessageQueue("collected", BROKER_NAME, 0)
        deadline = time.monotonic() + 30
        while await admin.instance.name_servers.route("collected") is None:
            assert time.monotonic() < deadline
        for number in range(5):
            await producer.send(Message("collected", f"message {number}".encode()), queue=queue)
        for group in ("collected-g", "unwatched-g"):
            await admin.offsets.commit(group, queue, 2)
        name = f"apache-{apache.target[-1]}"
        cluster = await sync_to_async(attach)(
            name, apache.name_server, apache.broker, cluster_name=CLUSTER_NAME
        )
        connection = Redis.from_url(settings.REDIS_URL)
        await watching.note(connection, name, [(watching.GROUP, "collected-g")], time.time())
        await connection.aclose()
        async with rounds_of(cluster) as (collector, _):
            await collector._round(True)
    broker = await sync_to_async(LiveBroker.objects.get)(cluster=cluster)
    assert (broker.is_reachable, broker.role, broker.broker_name) == (True, "master", BROKER_NAME)
    assert broker.version and broker.disk_ratio is not None
    topic = await sync_to_async(LiveTopic.objects.get)(cluster=cluster, name="collected")
    assert (topic.kind, topic.write_queues, topic.messages, topic.group_count) == ("normal", 1, None, 2)
    groups = {row.name: row async for row in LiveGroup.objects.filter(cluster=cluster, name__endswith="ed-g")}
    assert {name: row.lag for name, row in groups.items()} == {"collected-g": 3, "unwatched-g": 3}
    watched, other = groups["collected-g"], groups["unwatched-g"]
    assert (watched.is_sampled, watched.member_count) == (True, 0)
    assert (
        watched.oldest_unread_at is not None and abs(watched.oldest_unread_at.timestamp() - time.time()) < 60
    )
    assert (other.is_sampled, other.member_count, other.oldest_unread_at) == (False, None, None)
    row = await sync_to_async(LiveSubscription.objects.get)(cluster=cluster, group="collected-g")
    assert (row.queues[0]["committed"], row.queues[0]["max"]) == (2, 5)
