"""10,000 topics and 5,000 groups on a real broker: what a round costs, database included (make nightly)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from statistics import median

import pytest
from asgiref.sync import sync_to_async

from clusters.collecting.cluster_collector import ClusterCollector
from clusters.models import LiveGroup, LiveSubscription, LiveTopic
from console.garbage import make_room_for_tables, set_aside_tables
from engine.client.admin import Admin
from engine.client.messages import Message
from engine.client.sending.producer import Producer
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.bodies.groups import SubscriptionGroupConfig
from engine.protocol.bodies.topics import TopicConfig
from tests.clusters.collecting.rounds import Clock, attach, rounds_of
from tests.engine.client.servers import Cluster as EngineCluster
from tests.engine.client.servers import start_broker, start_name_server

pytestmark = [pytest.mark.nightly, pytest.mark.django_db(transaction=True), pytest.mark.timeout(900)]

TOPICS, GROUPS, QUEUES = 10_000, 5_000, 2
CYCLE_S = 2.0
ROUNDS = 14
"""Around a full hour: minutes and the hour are rolled up, chunks end, and history is stored and expires."""


def topic_of(number: int) -> str:
    return f"orders-{number:05}"


def group_of(number: int) -> str:
    return f"billing-{number:05}"


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineCluster]:
    home = tmp_path_factory.mktemp("large")
    name_server = start_name_server(home)
    try:
        broker = start_broker(home, name_server.address, mappedFileSizeConsumeQueue="6000")
        try:
            yield EngineCluster(name_server.address, "client-a", broker.address)
        finally:
            broker.stop()
    finally:
        name_server.stop()


async def seed(large: EngineCluster) -> None:
    async with Admin(namesrv=large.namesrv, timeout_ms=60_000) as admin:
        for start in range(0, TOPICS, 1000):
            topics = [TopicConfig(topic_of(n), QUEUES, QUEUES) for n in range(start, start + 1000)]
            await admin.topics.create_many(large.broker, topics)
        groups = [SubscriptionGroupConfig(group_of(n)) for n in range(GROUPS)]
        await admin.groups.create_many(large.broker, groups)


async def change_everything(large: EngineCluster, committed: int) -> None:
    """A message to every queue of every topic, and a commit of every group on its topic."""
    gate = asyncio.Semaphore(64)
    async with (
        Admin(namesrv=large.namesrv, timeout_ms=60_000) as admin,
        Producer("scale", namesrv=large.namesrv) as producer,
    ):

        async def one(number: int) -> None:
            async with gate:
                for queue_id in range(QUEUES):
                    queue = MessageQueue(topic_of(number), large.broker_name, queue_id)
                    await producer.send(Message(topic_of(number), b"x"), queue=queue)
                    if number < GROUPS:
                        await admin.offsets.commit(group_of(number), queue, committed)

        await asyncio.gather(*(one(number) for number in range(TOPICS)))


@pytest.fixture
async def collector(
    large: EngineCluster, redis: str, db: None
) -> AsyncIterator[tuple[ClusterCollector, Clock]]:
    cluster = await sync_to_async(attach)("large", large.namesrv, large.broker)
    async with rounds_of(cluster) as made:
        yield made


@pytest.mark.nightly
async def test_a_round_of_everything_takes_less_than_two_seconds(
    large: EngineCluster, collector: tuple[ClusterCollector, Clock]
) -> None:
    collecting, clock = collector
    # As `manage.py collect` does when it begins.
    make_room_for_tables()
    await seed(large)
    await change_everything(large, 0)

    async def measured(title: str) -> float:
        began, cpu = time.monotonic(), time.process_time()
        await collecting._round(True)
        set_aside_tables()
        cpu_s, wall_s = time.process_time() - cpu, time.monotonic() - began
        print(f"{title}: {cpu_s:.2f} s CPU, {wall_s:.2f} s in all")
        return cpu_s

    first = await measured("first round, every row and series new")
    clock.ahead += timedelta(seconds=10)
    await measured("second round, rates become known")
    clock.ahead += timedelta(seconds=10)
    await measured("third round")
    clock.ahead += timedelta(seconds=10)
    quiet = await measured("a round in which nothing changed")
    began = (clock() + timedelta(hours=1)).replace(minute=58, second=52)
    changed = []
    for number in range(1, ROUNDS + 1):
        await change_everything(large, number)
        set_aside_tables()
        began += timedelta(seconds=10)
        clock.show(began)
        changed.append(await measured(f"everything changed, at {began:%H:%M:%S}"))
    counts = await sync_to_async(
        lambda: (LiveTopic.objects.count(), LiveGroup.objects.count(), LiveSubscription.objects.count())
    )()
    assert counts[0] >= TOPICS and counts[1] >= GROUPS and counts[2] >= GROUPS
    assert await sync_to_async(LiveGroup.objects.filter(lag=QUEUES).count)() == GROUPS
    usual = median(changed)
    assert quiet < 0.75 * usual
    assert usual < CYCLE_S
    assert max(changed) < 1.5 * usual, "nothing piles up at the full hour"
    assert first < 3 * CYCLE_S
