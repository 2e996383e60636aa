"""Who consumes what and how far, over a real socket."""

from __future__ import annotations

import pytest

from engine.protocol.bodies.basics import GroupList, MessageQueue, TopicList
from engine.protocol.bodies.groups import QuerySubscriptionResponseBody, SubscriptionGroupConfig
from engine.protocol.bodies.stats import (
    ConsumeStats,
    ConsumeStatsList,
    OffsetWrapper,
    QueryConsumeTimeSpanBody,
    TopicStatsTable,
)
from engine.protocol.bodies.topics import TopicConfig
from engine.protocol.codes import RequestCode, ResponseCode
from tests.engine.broker.peers import Peer, RunningBroker, eventually

QUEUE = MessageQueue("orders", "broker-a", 0)


@pytest.fixture
async def loaded(broker: RunningBroker, peer: Peer) -> RunningBroker:
    """Topic orders with five messages in queue 0; group billing has consumed two and pulled five."""
    broker.inner.core.tables.topics.put(TopicConfig("orders", 2, 2), 1)
    broker.inner.core.tables.groups.put(SubscriptionGroupConfig("billing"), 1)
    await peer.send_batch("orders", [b"x"] * 5)
    await eventually(lambda: broker.inner.core.store.queues.max_offset("orders", 0) == 5)
    broker.inner.core.tables.offsets.commit("orders", "billing", 0, 2)
    broker.inner.core.tables.offsets.note_pulled("orders", "billing", 0, 5)
    return broker


async def consume_stats(peer: Peer, **fields: str) -> ConsumeStats:
    answer = await peer.ask(RequestCode.GET_CONSUME_STATS, {"consumerGroup": "billing", **fields})
    assert answer.code == 0
    return ConsumeStats.decode(answer.body)


async def test_progress_of_a_group(loaded: RunningBroker, peer: Peer) -> None:
    stats = await consume_stats(peer)
    assert set(stats.offset_table) == {QUEUE, MessageQueue("orders", "broker-a", 1)}
    progress = stats.offset_table[QUEUE]
    assert (progress.broker_offset, progress.consumer_offset, progress.pull_offset) == (5, 2, 5)
    assert progress.last_timestamp > 1_600_000_000_000
    assert stats.offset_table[MessageQueue("orders", "broker-a", 1)] == OffsetWrapper()


async def test_progress_of_named_topics(loaded: RunningBroker, peer: Peer) -> None:
    assert QUEUE in (await consume_stats(peer, topic="orders")).offset_table
    assert QUEUE in (await consume_stats(peer, topicList="unknown;orders")).offset_table
    assert (await consume_stats(peer, topic="unknown")).offset_table == {}


async def test_a_topic_that_an_online_group_left_is_not_shown(loaded: RunningBroker, peer: Peer) -> None:
    await peer.heartbeat("billing", "bills")
    assert (await consume_stats(peer)).offset_table == {}
    await peer.heartbeat("billing", "orders")
    assert QUEUE in (await consume_stats(peer)).offset_table


async def test_an_unknown_group_has_no_progress(loaded: RunningBroker, peer: Peer) -> None:
    assert (await consume_stats(peer, consumerGroup="nobody")).offset_table == {}
    assert (await peer.ask(RequestCode.GET_CONSUME_STATS)).code == ResponseCode.SYSTEM_ERROR


async def test_progress_of_the_whole_broker(loaded: RunningBroker, peer: Peer) -> None:
    answer = await peer.ask(RequestCode.GET_BROKER_CONSUME_STATS, {"isOrder": "false"})
    body = ConsumeStatsList.decode(answer.body)
    (entry,) = body.consume_stats_list
    (stats,) = entry["billing"]
    assert stats.offset_table[QUEUE].lag == 3
    assert (body.total_diff, body.total_inflight_diff) == (3, 3)
    assert body.broker_addr == loaded.address
    ordered = await peer.ask(RequestCode.GET_BROKER_CONSUME_STATS, {"isOrder": "true"})
    assert ConsumeStatsList.decode(ordered.body).consume_stats_list == ()


async def test_time_spans_of_a_group(loaded: RunningBroker, peer: Peer) -> None:
    fields = {"topic": "orders", "group": "billing"}
    answer = await peer.ask(RequestCode.QUERY_CONSUME_TIME_SPAN, fields)
    spans = {
        span.message_queue: span
        for span in QueryConsumeTimeSpanBody.decode(answer.body).consume_time_span_set
    }
    span = spans[QUEUE]
    assert 0 < span.min_time_stamp <= span.consume_time_stamp <= span.max_time_stamp
    assert span.delay_time >= 0
    empty = spans[MessageQueue("orders", "broker-a", 1)]
    assert (empty.min_time_stamp, empty.max_time_stamp, empty.delay_time) == (-1, -1, 0)
    unknown = await peer.ask(RequestCode.QUERY_CONSUME_TIME_SPAN, {**fields, "topic": "nothing"})
    assert unknown.code == ResponseCode.TOPIC_NOT_EXIST


async def test_groups_of_a_topic_are_those_online_and_those_with_offsets(
    loaded: RunningBroker, peer: Peer
) -> None:
    await peer.heartbeat("audit", "orders")
    answer = await peer.ask(RequestCode.QUERY_TOPIC_CONSUME_BY_WHO, {"topic": "orders"})
    assert GroupList.decode(answer.body).group_list == ("audit", "billing")
    nobody = await peer.ask(RequestCode.QUERY_TOPIC_CONSUME_BY_WHO, {"topic": "../nothing"})
    assert GroupList.decode(nobody.body).group_list == ()


async def test_topics_of_a_group_come_from_its_offsets(loaded: RunningBroker, peer: Peer) -> None:
    answer = await peer.ask(RequestCode.QUERY_TOPICS_BY_CONSUMER, {"group": "billing"})
    assert TopicList.decode(answer.body).topic_list == ("orders",)
    assert (await peer.ask(RequestCode.QUERY_TOPICS_BY_CONSUMER)).code == ResponseCode.SYSTEM_ERROR


async def test_the_subscription_of_an_online_group_is_shown(loaded: RunningBroker, peer: Peer) -> None:
    fields = {"group": "billing", "topic": "orders"}
    code = RequestCode.QUERY_SUBSCRIPTION_BY_CONSUMER
    offline = QuerySubscriptionResponseBody.decode((await peer.ask(code, fields)).body)
    assert (offline.group, offline.topic, offline.subscription_data) == ("billing", "orders", None)
    await peer.heartbeat("billing", "orders")
    online = QuerySubscriptionResponseBody.decode((await peer.ask(code, fields)).body)
    assert online.subscription_data is not None and online.subscription_data.sub_string == "*"


async def test_a_topic_of_very_many_queues_is_gathered_in_slices(broker: RunningBroker, peer: Peer) -> None:
    broker.inner.core.tables.topics.put(TopicConfig("wide", 3_000, 3_000), 1)
    broker.inner.core.tables.offsets.commit("wide", "billing", 2_999, 1)
    stats = await consume_stats(peer)
    assert len(stats.offset_table) == 3_000
    assert stats.offset_table[MessageQueue("wide", "broker-a", 2_999)].consumer_offset == 1
    answer = await peer.ask(RequestCode.GET_TOPIC_STATS_INFO, {"topic": "wide"})
    assert len(TopicStatsTable.decode(answer.body).offset_table) == 3_000
