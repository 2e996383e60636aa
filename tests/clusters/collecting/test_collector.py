"""The collector against a real broker: what it writes, how fast, and who takes over when it is killed."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable

import pytest

from clusters.models import Cluster, Collection, LiveBroker, LiveTopic
from tests.clusters.collecting.orders import make_topic, send
from tests.engine.client.servers import Cluster as EngineCluster
from tests.platform_processes import collecting, soon

Fresh = Callable[[str], str]

pytestmark = pytest.mark.django_db(transaction=True)


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
