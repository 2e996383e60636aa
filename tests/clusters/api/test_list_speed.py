"""Lists of a large cluster, 10,000 topics and 5,000 groups: a page takes less than a tenth of a second.

What is measured is the time on the processor, p95 over many requests: it is what the console can answer for,
and a machine that is busy with other things does not change it. The time on the clock is printed beside it.
"""

from __future__ import annotations

import statistics
import time
from datetime import datetime, timedelta

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from clusters.models import Cluster, ConsumerGroup, LiveBroker, LiveGroup, LiveSubscription, LiveTopic, Topic
from console.garbage import set_aside_what_is_loaded

pytestmark = [pytest.mark.django_db, pytest.mark.alone, pytest.mark.timeout(600)]

TOPICS, GROUPS, READERS = 10_000, 5_000, 15_000
BROKERS, QUEUES = 2, 8
P95_S = 0.1
ROUNDS = 20
HERE = "/api/v1/clusters/attached/"
LISTS = (
    "topics/",
    "topics/?ordering=-lag",
    "topics/?ordering=-rate",
    "topics/?search=7&ordering=-messages",
    "topics/?kind=normal&offset=9400",
    "topics/?limit=500",
    "topics/?limit=500&ordering=-lag",
    "groups/",
    "groups/?ordering=-lag",
    "groups/?ordering=-seconds&search=9",
    "groups/?offset=4500&ordering=-rate",
    "groups/?limit=500",
    "groups/?limit=500&ordering=-lag",
    "routing/",
    "routing/?limit=500",
    "dlq/",
    "topics/orders-00000/groups/?limit=500",
    "brokers/",
)


@pytest.fixture
def large(attached: Cluster) -> Cluster:
    """As a collector leaves it."""
    now = timezone.now()
    for number in range(BROKERS):
        LiveBroker.objects.create(
            cluster=attached,
            broker_name=f"broker-{number}",
            member=0,
            address=f"127.0.0.1:{number + 1}",
            role="master",
            sampled_at=now,
            is_reachable=True,
        )
    part = {"readQueues": QUEUES, "writeQueues": QUEUES, "perm": 6}
    held = {f"broker-{n}": part | {"queues": [[q, 0, 10**9] for q in range(QUEUES)]} for n in range(BROKERS)}
    LiveTopic.objects.bulk_create(
        (
            LiveTopic(
                cluster=attached,
                name=_topic(n),
                kind="normal",
                read_queues=16,
                write_queues=16,
                perm=6,
                brokers=held,
                messages=n,
                put_rate=float(n % 97),
                last_write_at=now - timedelta(seconds=n),
                group_count=2,
                lag=n * 13 % 7001,
            )
            for n in range(TOPICS)
        ),
        batch_size=2000,
    )
    LiveGroup.objects.bulk_create(
        (
            LiveGroup(
                cluster=attached,
                name=_group(n),
                topic_count=3,
                lag=n * 17 % 5003,
                oldest_unread_at=now - timedelta(seconds=n % 601),
                consume_rate=float(n % 89),
                member_count=4,
                members=[{"client_id": f"10.0.0.{m}@1", "address": "10.0.0.1:1"} for m in range(4)],
            )
            for n in range(GROUPS)
        ),
        batch_size=2000,
    )
    _seed_readers(attached)
    _seed_declared(attached, now)
    return attached


def _seed_readers(cluster: Cluster) -> None:
    """The first topic is read by a tenth of all groups."""
    places = {(n % GROUPS, n * 7 % TOPICS) for n in range(READERS)} | {
        (n * 10, 0) for n in range(GROUPS // 10)
    }
    queues = [
        {"broker": f"broker-{b}", "queue": q, "committed": 7, "max": 9}
        for b in range(BROKERS)
        for q in range(QUEUES)
    ]
    LiveSubscription.objects.bulk_create(
        (
            LiveSubscription(cluster=cluster, group=_group(g), topic=_topic(t), lag=g % 50, queues=queues)
            for g, t in sorted(places)
        ),
        batch_size=2000,
    )


def _seed_declared(cluster: Cluster, now: datetime) -> None:
    about = {"cluster": cluster, "owner": "shop", "team": "shop", "created_at": now, "updated_at": now}
    for model, name_of, count in ((Topic, _topic, TOPICS), (ConsumerGroup, _group, GROUPS)):
        rows = (model(name=name_of(n), **about) for n in range(0, count, 2))
        model.objects.bulk_create(rows, batch_size=2000)


def _topic(number: int) -> str:
    return f"orders-{number:05}"


def _group(number: int) -> str:
    return f"billing-{number:05}"


def p95(times: list[float]) -> float:
    return statistics.quantiles(times, n=20)[-1]


def measure(api: APIClient, path: str) -> tuple[float, float]:
    """p95 of processor and clock."""
    on_processor, on_clock = [], []
    assert api.get(HERE + path).status_code == 200
    for _ in range(ROUNDS):
        began, began_s = time.thread_time(), time.perf_counter()
        answer = api.get(HERE + path)
        on_processor.append(time.thread_time() - began)
        on_clock.append(time.perf_counter() - began_s)
        assert answer.status_code == 200
    return p95(on_processor), p95(on_clock)


def test_a_page_of_a_large_cluster_takes_less_than_a_tenth_of_a_second(
    api: APIClient, large: Cluster
) -> None:
    # As the server does when it begins (console/asgi.py).
    set_aside_what_is_loaded()
    slow = {}
    for path in LISTS:
        cpu_s, wall_s = measure(api, path)
        print(f"{path:42} p95 {cpu_s * 1000:6.1f} ms processor, {wall_s * 1000:6.1f} ms clock", flush=True)
        if cpu_s >= P95_S:
            slow[path] = cpu_s
    assert not slow, slow
