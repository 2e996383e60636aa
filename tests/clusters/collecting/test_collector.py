"""The collector against a real broker: what it writes, how fast, and who takes over when it is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pytest
from django.conf import settings
from django.db import connection

from clusters.gateway.addressing import address_of
from clusters.gateway.connections import ask
from clusters.models import Cluster, Collection, LiveBroker, LiveGroup, LiveSubscription, LiveTopic
from engine.client.blocking import Producer
from engine.client.messages import Message
from engine.protocol.bodies.topics import TopicConfig
from tests.engine.client.servers import Cluster as EngineCluster

ROOT = Path(__file__).resolve().parents[3]
T = TypeVar("T")
Fresh = Callable[[str], str]

pytestmark = pytest.mark.django_db(transaction=True)


@contextmanager
def collecting() -> Iterator[subprocess.Popen[str]]:
    """`manage.py collect` as a process of its own, on this test's database and Redis."""
    database = connection.settings_dict["NAME"]
    process = subprocess.Popen(
        [sys.executable, "manage.py", "collect"],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": f"sqlite:///{database}", "REDIS_URL": settings.REDIS_URL},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "collecting\n"
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(20)
        process.stdout.close()


def soon(found: Callable[[], T], within_s: float = 20.0) -> T:
    """The first true answer."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if answer := found():
            return answer
        time.sleep(0.05)
    raise AssertionError(f"not within {within_s} s")


def make_topic(cluster: Cluster, topic: str, queues: int = 2) -> None:
    [broker] = cluster.broker_addresses
    ask(address_of(cluster), lambda admin: admin.topics.create(broker, TopicConfig(topic, queues, queues)))


def send(engine: EngineCluster, topic: str, count: int) -> None:
    with Producer("collector-tests", namesrv=engine.namesrv) as producer:
        for number in range(count):
            producer.send(Message(topic, f"message {number}".encode()))


def commit(cluster: Cluster, topic: str, group: str, offsets: dict[int, int]) -> None:
    [broker] = cluster.broker_addresses
    for queue_id, offset in offsets.items():
        ask(
            address_of(cluster),
            lambda admin, q=queue_id, o=offset: admin.offsets.reset_queue(broker, group, topic, q, o),
        )


def test_what_a_broker_says_becomes_rows(attached: Cluster, engine: EngineCluster, fresh: Fresh) -> None:
    topic = fresh("orders")
    make_topic(attached, topic)
    send(engine, topic, 6)
    with collecting():
        row = soon(lambda: LiveTopic.objects.filter(cluster=attached, name=topic).first())
    assert (row.messages, row.write_queues, row.kind, row.perm) == (6, 2, "normal", 6)
    broker = LiveBroker.objects.get(cluster=attached)
    assert (broker.is_reachable, broker.role, broker.error) == (True, "master", "")
    assert broker.version and broker.sampled_at and broker.disk_ratio
    assert Collection.objects.get(cluster=attached).sampled_at is not None
    assert LiveTopic.objects.get(cluster=attached, name="SCHEDULE_TOPIC_XXXX").kind == "system"


def test_an_ended_collector_leaves_its_lease_at_once(attached: Cluster) -> None:
    with collecting() as process:
        soon(lambda: Collection.objects.filter(cluster=attached).exclude(sampled_at=None).first())
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    row = Collection.objects.get(cluster=attached)
    assert row.lease_until is not None and row.lease_until.timestamp() <= time.time()


def test_a_killed_collector_is_replaced_within_its_lease(attached: Cluster) -> None:
    with collecting() as first:
        held = soon(lambda: Collection.objects.filter(cluster=attached).exclude(sampled_at=None).first())
        with collecting():
            first.kill()
            killed = time.monotonic()
            after = soon(lambda: Collection.objects.filter(cluster=attached, fence__gt=held.fence).first())
            assert time.monotonic() - killed < 12
            assert after.holder != held.holder
            soon(
                lambda: Collection.objects.filter(
                    cluster=attached, sampled_at__gt=held.sampled_at, fence=after.fence
                ).first()
            )
