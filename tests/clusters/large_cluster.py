"""Rows of a large cluster, 10,000 topics and 5,000 groups, for whoever measures how fast they are shown."""

from __future__ import annotations

from datetime import datetime, timedelta

from clusters.models import Cluster, ConsumerGroup, LiveBroker, LiveGroup, LiveSubscription, LiveTopic, Topic

TOPICS, GROUPS, READERS = 10_000, 5_000, 15_000
BROKERS, QUEUES = 2, 8


def seed(cluster: Cluster, now: datetime) -> None:
    """As a collector leaves it."""
    for number in range(BROKERS):
        LiveBroker.objects.create(
            cluster=cluster,
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
                cluster=cluster,
                name=topic_name(n),
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
                cluster=cluster,
                name=group_name(n),
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
    _seed_readers(cluster)
    _seed_declared(cluster, now)


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
            LiveSubscription(
                cluster=cluster, group=group_name(g), topic=topic_name(t), lag=g % 50, queues=queues
            )
            for g, t in sorted(places)
        ),
        batch_size=2000,
    )


def _seed_declared(cluster: Cluster, now: datetime) -> None:
    about = {"cluster": cluster, "owner": "shop", "team": "shop", "created_at": now, "updated_at": now}
    for model, name_of, count in ((Topic, topic_name, TOPICS), (ConsumerGroup, group_name, GROUPS)):
        rows = (model(name=name_of(n), **about) for n in range(0, count, 2))
        model.objects.bulk_create(rows, batch_size=2000)


def topic_name(number: int) -> str:
    return f"orders-{number:05}"


def group_name(number: int) -> str:
    return f"billing-{number:05}"
