"""Rounds against a real broker: rates, members, history, a broker that hangs, and going on after another."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import timedelta

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from redis.asyncio import Redis

from clusters.collecting.totals import cluster_totals
from clusters.collecting.writing import LeaseLost
from clusters.models import Cluster, Collection, LiveBroker, LiveGroup, LiveTopic, RebalanceEvent, SeriesChunk
from clusters.selectors.live import plain, totals_of
from clusters.selectors.series import Range, read_series
from console.core import watching
from engine.client.consuming.push_consumer import PushConsumer
from tests.clusters.collecting.orders import commit, make_topic, send
from tests.clusters.collecting.rounds import attach, rounds_of
from tests.engine.client.servers import Cluster as EngineCluster

Fresh = Callable[[str], str]
pytestmark = pytest.mark.django_db(transaction=True)

in_thread = sync_to_async


async def prepared(attached: Cluster, engine: EngineCluster, fresh: Fresh, count: int = 4) -> tuple[str, str]:
    topic, group = fresh("orders"), fresh("billing")
    await in_thread(make_topic)(attached, topic)
    await in_thread(send)(engine, topic, count)
    await in_thread(commit)(attached, topic, group, {0: 0, 1: 0})
    return topic, group


async def test_rates_lag_and_history_come_from_two_rounds(
    attached: Cluster, engine: EngineCluster, fresh: Fresh
) -> None:
    topic, group = await prepared(attached, engine, fresh)
    async with rounds_of(attached) as (collector, clock):
        await collector._round(True)
        row = await in_thread(LiveTopic.objects.get)(name=topic)
        assert (row.put_rate, row.messages) == (None, 4)
        clock.ahead += timedelta(seconds=10)
        await in_thread(send)(engine, topic, 20)
        await collector._round(True)
        row = await in_thread(LiveTopic.objects.get)(name=topic)
        assert row.messages == 24
        assert row.put_rate is not None and 1.0 < row.put_rate <= 2.0
        behind = await in_thread(LiveGroup.objects.get)(name=group)
        assert (behind.lag, behind.consume_rate, behind.member_count) == (24, 0.0, 0)
        assert behind.oldest_unread_at is not None
        clock.ahead += timedelta(seconds=60)
        await collector._round(True)
        await in_thread(collector.store_rest)()
        end_s = int(clock().timestamp())
    wanted = Range(end_s - end_s % 10 - 120, end_s - end_s % 10 + 10, 10)
    values = [value for _, value in await in_thread(read_series)(attached, "group", group, "lag", wanted)]
    assert [value for value in values if value is not None] == [4.0, 24.0, 24.0]
    assert values[-2] is None, "nobody was heard between the last two rounds"
    assert await in_thread(SeriesChunk.objects.filter(resolution_s=60, name=group).exists)()


async def test_totals_are_the_same_when_told_and_when_read(
    attached: Cluster, engine: EngineCluster, fresh: Fresh
) -> None:
    topic, group = await prepared(attached, engine, fresh)
    async with rounds_of(attached) as (collector, _):
        await collector._round(True)
        assert collector._state is not None
        told, read = plain(cluster_totals(collector._state)), await in_thread(totals_of)(attached)
        assert told == read
        assert topic in collector._state.topics and group in collector._state.groups
        assert len(collector._state.topics) > told["topic_count"] > 0, "there are topics of the broker's own"


async def test_only_rows_that_changed_are_written(
    attached: Cluster, engine: EngineCluster, fresh: Fresh
) -> None:
    topic, _ = await prepared(attached, engine, fresh)
    quiet, _ = await prepared(attached, engine, fresh, 0)
    async with rounds_of(attached) as (collector, clock):
        for _ in range(3):
            await collector._round(True)
            clock.ahead += timedelta(seconds=10)
        before = {row.name: row.revision for row in await in_thread(list)(LiveTopic.objects.all())}
        await in_thread(send)(engine, topic, 1)
        await collector._round(True)
        after = {row.name: row.revision for row in await in_thread(list)(LiveTopic.objects.all())}
    assert {name for name in after if after[name] != before[name]} == {topic}
    assert quiet in before


async def test_what_is_watched_is_written_between_full_rounds(
    attached: Cluster, engine: EngineCluster, fresh: Fresh
) -> None:
    topic, group = await prepared(attached, engine, fresh)
    async with rounds_of(attached) as (collector, _):
        await collector._round(True)
        await in_thread(send)(engine, topic, 3)
        await collector._round(False)
        assert (await in_thread(LiveGroup.objects.get)(name=group)).lag == 4
        redis = Redis.from_url(settings.REDIS_URL)
        await watching.note(redis, "attached", [(watching.GROUP, group)], time.time())
        await redis.aclose()
        await collector._round(False)
    assert (await in_thread(LiveGroup.objects.get)(name=group)).lag == 7
    assert (await in_thread(LiveTopic.objects.get)(name=topic)).messages == 4


async def test_members_that_come_and_go_are_noted(
    attached: Cluster, engine: EngineCluster, fresh: Fresh
) -> None:
    topic, group = await prepared(attached, engine, fresh)

    async def listen(messages: object) -> None:
        return None

    async with rounds_of(attached) as (collector, _):
        await collector._round(True)
        consumer = PushConsumer(group, listen, namesrv=engine.namesrv)
        consumer.subscribe(topic, "TagA")
        async with consumer:
            for _ in range(100):
                await collector._round(True)
                row = await in_thread(LiveGroup.objects.get)(name=group)
                if row.member_count:
                    break
            assert row.member_count == 1
        for _ in range(100):
            await collector._round(True)
            if not (await in_thread(LiveGroup.objects.get)(name=group)).member_count:
                break
    events = await in_thread(list)(RebalanceEvent.objects.filter(group=group).order_by("id"))
    [member] = row.members
    assert [(event.joined, event.left) for event in events] == [
        ([member["client_id"]], []),
        ([], [member["client_id"]]),
    ]


async def test_a_broker_that_hangs_holds_up_nobody(redis: str, engine: EngineCluster, fresh: Fresh) -> None:
    async def swallow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    server = await asyncio.start_server(swallow, "127.0.0.1", 0)
    hanging = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    cluster = await in_thread(attach)("hangs", engine.namesrv, engine.broker, hanging)
    async with rounds_of(cluster) as (collector, _):
        await collector._round(True)
        connection = Redis.from_url(settings.REDIS_URL)
        await watching.note(connection, "hangs", [(watching.CLUSTER, "cluster")], time.time())
        await connection.aclose()
        began = time.monotonic()
        for _ in range(5):
            await collector._round(False)
        # It is late already: nobody waits for it any more.
        assert time.monotonic() - began < 3
        row = await in_thread(LiveBroker.objects.get)(cluster=cluster, broker_name=engine.broker_name)
        assert row.is_reachable
    server.close()


async def test_a_silent_broker_keeps_its_rows_and_their_age_over_a_take_over(
    attached: Cluster, engine: EngineCluster, fresh: Fresh
) -> None:
    topic, group = await prepared(attached, engine, fresh)
    async with rounds_of(attached) as (collector, _):
        await collector._round(True)
    heard = (await in_thread(LiveBroker.objects.get)()).sampled_at
    # From now on that broker cannot be reached: nothing listens there.
    address = "127.0.0.1:1"
    await in_thread(Cluster.objects.filter(pk=attached.pk).update)(broker_addresses=[address])
    await in_thread(LiveBroker.objects.update)(address=address)
    async with rounds_of(attached) as (collector, _):
        await collector._round(True)
    row = await in_thread(LiveBroker.objects.get)()
    assert (row.is_reachable, row.sampled_at) == (False, heard)
    assert "Connection refused" in row.error
    assert (await in_thread(LiveGroup.objects.get)(name=group)).lag == 4
    assert (await in_thread(LiveTopic.objects.get)(name=topic)).messages == 4


async def test_a_successor_goes_on_without_false_events(
    attached: Cluster, engine: EngineCluster, fresh: Fresh
) -> None:
    _, group = await prepared(attached, engine, fresh)
    async with rounds_of(attached) as (collector, clock):
        for _ in range(3):
            await collector._round(True)
            clock.ahead += timedelta(seconds=10)
        revisions = {row.name: row.revision for row in await in_thread(list)(LiveGroup.objects.all())}
        async with rounds_of(attached) as (successor, _):
            await successor._round(True)
            with pytest.raises(LeaseLost):
                await collector._round(True)
    assert not await in_thread(RebalanceEvent.objects.exists)()
    row = await in_thread(LiveGroup.objects.get)(name=group)
    assert row.lag == 4 and row.revision >= revisions[group]
    assert (await in_thread(Collection.objects.get)()).fence == 2


async def test_a_cluster_without_an_answering_name_server_says_so(redis: str, engine: EngineCluster) -> None:
    cluster = await in_thread(attach)("dark", "127.0.0.1:1", engine.broker)
    async with rounds_of(cluster) as (collector, _):
        await collector._round(True)
    row = await in_thread(Collection.objects.get)(cluster=cluster)
    assert row.error and row.sampled_at
    # Brokers are known by their rows: they are asked all the same.
    assert (await in_thread(LiveBroker.objects.get)(cluster=cluster)).is_reachable
