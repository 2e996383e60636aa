"""Which queue a message goes to, and the bytes of its request."""

from __future__ import annotations

import pytest

from engine.client.instance.routes import Routes, publish_queues, subscribe_queues
from engine.client.messages import Message
from engine.client.options import ProducerOptions
from engine.client.sending.drafts import Draft
from engine.client.sending.latency_faults import LatencyFaults
from engine.client.sending.send_plans import SendPlan, TopicPlans, by_sharding_key
from engine.errors import BadInput, NotFound
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.bodies.routes import BrokerData, QueueData, TopicRouteData
from engine.protocol.codes import RequestCode
from engine.protocol.frames import FrameParser
from engine.protocol.hashes import java_hash
from engine.protocol.headers.send import decode_send

ROUTE = TopicRouteData(
    queue_datas=(
        QueueData("b", 4, 2, 6),
        QueueData("a", 1, 2, 6),
        QueueData("c", 2, 2, 4),
        QueueData("d", 1, 1, 6),
    ),
    broker_datas=(
        BrokerData("cluster", "a", {0: "a:1"}),
        BrokerData("cluster", "b", {0: "b:1", 1: "b:2"}),
        BrokerData("cluster", "c", {0: "c:1"}),
        BrokerData("cluster", "d", {1: "d:2"}),
    ),
)


def plan(first: int = -1) -> SendPlan:
    async def fetch(_: str) -> None: ...

    plans = TopicPlans("shop", Routes(fetch, lambda _: None), ProducerOptions())
    return plans.plan_of("t", ROUTE, first)


def test_only_writable_brokers_with_a_master_are_written() -> None:
    assert [(q.broker_name, q.queue_id) for q in publish_queues("t", ROUTE)] == [
        ("a", 0), ("a", 1), ("b", 0), ("b", 1),
    ]  # fmt: skip


def test_all_readable_queues_are_read() -> None:
    counts = dict.fromkeys("abcd", 0)
    for queue in subscribe_queues("t", ROUTE):
        counts[queue.broker_name] += 1
    assert counts == {"a": 1, "b": 4, "c": 2, "d": 1}


def test_an_ordered_topic_has_exactly_the_configured_queues() -> None:
    route = TopicRouteData(ROUTE.queue_datas, ROUTE.broker_datas, order_topic_conf="b:1;a:1")
    assert publish_queues("t", route) == [MessageQueue("t", "b", 0), MessageQueue("t", "a", 0)]


def test_queues_are_taken_in_turn() -> None:
    chosen = [plan_.choose(LatencyFaults(), 0).queue for plan_ in [plan()] for _ in range(5)]
    assert [(q.broker_name, q.queue_id) for q in chosen] == [("a", 0), ("a", 1), ("b", 0), ("b", 1), ("a", 0)]


def test_a_retry_goes_to_another_broker() -> None:
    plan_ = plan()
    assert {plan_.choose(LatencyFaults(), 0, "a").broker_name for _ in range(8)} == {"b"}


def test_a_slow_broker_is_left_out_while_there_is_another() -> None:
    faults = LatencyFaults()
    faults.record("b", 20_000, 0)
    plan_ = plan()
    assert {plan_.choose(faults, 1).broker_name for _ in range(8)} == {"a"}
    faults.record("a", 600, 0)
    assert {plan_.choose(faults, 1).broker_name for _ in range(8)} == {"a"}, "the least bad of two"


def test_a_topic_without_a_writable_queue_is_an_error() -> None:
    with pytest.raises(NotFound, match="no queue"):
        SendPlan("t", [], 0)


def test_a_strange_queue_is_refused() -> None:
    with pytest.raises(BadInput, match="not a queue"):
        plan().target_of(MessageQueue("t", "a", 9))


def test_a_sharding_key_selects_as_javas_hash_does() -> None:
    queues = plan().queues
    for key in ("customer-1", "customer-2", "polygenelubricants"):
        expected = queues[abs(java_hash(key)) % 4]
        assert by_sharding_key(key)(queues, Message("t", b"x")) == expected


@pytest.mark.parametrize("is_batch", [False, True])
def test_the_frame_says_what_the_typed_header_reads(is_batch: bool) -> None:
    target = plan().choose(LatencyFaults(), 0)
    draft = Draft(b"body", b'"UNIQ_KEY\\u0001X\\u0002"', 0x301, 7, "X")
    (command,) = FrameParser().receive_data(target.frame(draft, 1234, 99, is_batch, False))
    header = decode_send(command.code, command.fields)
    assert command.code == (RequestCode.SEND_BATCH_MESSAGE if is_batch else RequestCode.SEND_MESSAGE_V2)
    assert (command.opaque, command.flag, command.body) == (99, 0, b"body")
    assert (header.producer_group, header.topic, header.queue_id) == ("shop", "t", 0)
    assert (header.default_topic, header.default_topic_queue_nums) == ("TBW102", 4)
    assert (header.sys_flag, header.born_timestamp, header.flag) == (0x301, 1234, 7)
    assert (header.properties, header.batch, header.broker_name) == ("UNIQ_KEY\x01X\x02", is_batch, "a")


def test_a_oneway_frame_asks_for_no_answer() -> None:
    target = plan().choose(LatencyFaults(), 0)
    (command,) = FrameParser().receive_data(target.frame(Draft(b"x", b'""', 0, 0, ""), 1, 1, False, True))
    assert command.is_oneway
