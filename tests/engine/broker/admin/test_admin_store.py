"""The store as an administrator sees and cleans it, over a real socket."""

from __future__ import annotations

import pytest

from engine.protocol.bodies.clients import ConsumerData, HeartbeatData, SubscriptionData
from engine.protocol.bodies.stats import QueryConsumeQueueResponseBody
from engine.protocol.bodies.topics import TopicConfig
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.hashes import tags_code
from tests.engine.broker.peers import Peer, RunningBroker, eventually

SHOW = RequestCode.QUERY_CONSUME_QUEUE


@pytest.fixture
async def loaded(broker: RunningBroker, peer: Peer) -> RunningBroker:
    broker.inner.core.tables.topics.put(TopicConfig("orders", 2, 2), 1)
    for tag in ("red", "blue", "red"):
        await peer.send("orders", b"x", properties={"TAGS": tag})
    await eventually(lambda: broker.inner.core.store.queues.max_offset("orders", 0) == 3)
    return broker


async def shown(peer: Peer, **changes: str) -> QueryConsumeQueueResponseBody:
    fields = {"topic": "orders", "queueId": "0", "index": "0", "count": "10", **changes}
    answer = await peer.ask(SHOW, fields)
    assert answer.code == 0, answer.remark
    return QueryConsumeQueueResponseBody.decode(answer.body)


async def test_units_of_a_queue_are_shown(loaded: RunningBroker, peer: Peer) -> None:
    body = await shown(peer, index="1", count="5")
    assert (body.min_queue_index, body.max_queue_index) == (0, 3)
    assert [unit.tags_code for unit in body.queue_data] == [tags_code("blue"), tags_code("red")]
    assert all(unit.physic_size > 0 for unit in body.queue_data)
    assert (await shown(peer, index="9")).queue_data == ()
    assert (await shown(peer, queueId="1")).queue_data == ()


async def test_a_groups_filter_is_tried_on_each(loaded: RunningBroker, peer: Peer) -> None:
    subscription = SubscriptionData("orders", "red", sub_version=1)
    data = HeartbeatData("c", (), (ConsumerData("billing", subscription_data_set=(subscription,)),))
    await peer.ask(RequestCode.HEART_BEAT, body=data.encode())
    body = await shown(peer, consumerGroup="billing")
    assert [unit.eval for unit in body.queue_data] == [True, False, True]
    assert body.subscription_data is not None and body.subscription_data.sub_string == "red"


@pytest.mark.parametrize(
    "changes",
    [
        {"topic": "nothing"},
        {"topic": "../orders"},
        {"queueId": "2"},
        {"queueId": "-1"},
        {"index": "-1"},
        {"count": "-1"},
    ],
)
async def test_what_is_no_queue_is_not_shown(
    loaded: RunningBroker, peer: Peer, changes: dict[str, str]
) -> None:
    fields = {"topic": "orders", "queueId": "0", "index": "0", "count": "10", **changes}
    assert (await peer.ask(SHOW, fields)).code == ResponseCode.SYSTEM_ERROR


async def test_a_huge_count_is_cut(loaded: RunningBroker, peer: Peer) -> None:
    assert len((await shown(peer, count=str(2**31 - 1))).queue_data) == 3


async def test_queues_of_forgotten_topics_are_cleaned(loaded: RunningBroker, peer: Peer) -> None:
    loaded.inner.core.tables.topics.delete("orders", 1)
    assert (await peer.ask(RequestCode.CLEAN_UNUSED_TOPIC)).code == 0
    assert "orders" not in loaded.inner.core.store.queues.ids_by_topic()


async def test_queues_in_use_are_not_cleaned(loaded: RunningBroker, peer: Peer) -> None:
    for code in (RequestCode.CLEAN_UNUSED_TOPIC, RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE):
        assert (await peer.ask(code)).code == 0
    assert loaded.inner.core.store.queues.max_offset("orders", 0) == 3


async def test_a_deletion_asked_for_keeps_what_is_young(loaded: RunningBroker, peer: Peer) -> None:
    assert (await peer.ask(RequestCode.DELETE_EXPIRED_COMMITLOG)).code == 0
    await loaded.inner.tasks.log.housekeeping.clean()
    assert (await peer.pull("orders", 0)).code == 0
