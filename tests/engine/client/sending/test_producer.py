"""The producer against a real broker."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest

from engine.client import LitePullConsumer, Message, MessageQueue, Producer, ProducerOptions, SendStatus
from engine.client.messages import ReceivedMessage
from engine.errors import BadInput, PeerError, PeerUnreachable, Refused
from engine.protocol.sys_flags import COMPRESSED

Fresh = Callable[[str], str]


async def read_all(namesrv: str, topic: str, count: int) -> list[ReceivedMessage]:
    """Every message of a topic, by queue and offset."""
    messages: list[ReceivedMessage] = []
    async with LitePullConsumer("reader", namesrv=namesrv) as consumer:
        await consumer.assign(await consumer.queues(topic))
        for queue in consumer.assignment():
            await consumer.seek(queue, 0)
        async with asyncio.timeout(20):
            while len(messages) < count:
                messages += await consumer.poll(timeout_ms=1000)
        messages += await consumer.poll(timeout_ms=100)
    return sorted(messages, key=lambda message: (message.queue, message.queue_offset))


async def test_a_message_arrives_as_it_was_sent(namesrv: str, fresh: Fresh) -> None:
    topic = fresh("orders")
    async with Producer("shop", namesrv=namesrv) as producer:
        result = await producer.send(
            Message(
                topic,
                b"teapot",
                tags="paid",
                keys=["order-1", "order-2"],
                properties={"colour": "blau"},
                flag=7,
            )
        )
    assert result.status is SendStatus.SEND_OK
    assert result.queue.topic == topic and result.queue_offset == 0
    (message,) = await read_all(namesrv, topic, 1)
    assert (message.body, message.tags, message.keys, message.flag) == (
        b"teapot",
        "paid",
        ["order-1", "order-2"],
        7,
    )
    assert message.properties["colour"] == "blau"
    assert message.msg_id == result.msg_id
    assert message.offset_msg_id == result.offset_msg_id
    assert message.queue == result.queue


async def test_many_sends_at_once_are_all_stored_once(namesrv: str, fresh: Fresh) -> None:
    topic = fresh("many")
    async with Producer("shop", namesrv=namesrv, options=ProducerOptions(max_in_flight=64)) as producer:
        futures = [await producer.send_async(Message(topic, b"%d" % number)) for number in range(500)]
        results = await asyncio.gather(*futures)
    assert len({result.msg_id for result in results}) == 500
    messages = await read_all(namesrv, topic, 500)
    assert sorted(int(message.body) for message in messages) == list(range(500))


async def test_a_oneway_send_arrives_without_an_answer(namesrv: str, fresh: Fresh) -> None:
    topic = fresh("oneway")
    async with Producer("shop", namesrv=namesrv) as producer:
        await producer.send(Message(topic, b"first"))
        # A broker that is too busy for it drops it, and nobody is told: some of a few arrive.
        for _ in range(5):
            await producer.send_oneway(Message(topic, b"second"))
            await asyncio.sleep(0.3)
        bodies = {message.body for message in await read_all(namesrv, topic, 2)}
    assert bodies == {b"first", b"second"}


async def test_acks_0_says_that_nothing_is_known(namesrv: str, fresh: Fresh) -> None:
    async with Producer("shop", namesrv=namesrv, acks=0) as producer:
        result = await producer.send(Message(fresh("acks"), b"x"))
    assert result.status is SendStatus.HANDED_OVER and result.queue_offset == -1


@pytest.mark.parametrize(("acks", "wait"), [(1, "false"), ("all", "true")])
async def test_acks_decide_what_the_broker_waits_for(
    namesrv: str, fresh: Fresh, acks: object, wait: str
) -> None:
    topic = fresh("acks")
    options = ProducerOptions(acks=acks)  # type: ignore[arg-type]
    async with Producer("shop", namesrv=namesrv, options=options) as producer:
        await producer.send(Message(topic, b"x"))
    (message,) = await read_all(namesrv, topic, 1)
    assert message.properties["WAIT"] == wait


@pytest.mark.parametrize("kind", ["zlib", "lz4", "zstd"])
async def test_a_large_body_travels_compressed(namesrv: str, fresh: Fresh, kind: str) -> None:
    topic = fresh("large")
    body = b"signal box " * 20_000
    options = ProducerOptions(compression=kind)  # type: ignore[arg-type]
    async with Producer("shop", namesrv=namesrv, options=options) as producer:
        await producer.send(Message(topic, body))
    (message,) = await read_all(namesrv, topic, 1)
    assert message.record.sys_flag & COMPRESSED and len(message.record.body) < len(body) // 10
    assert message.body == body


async def test_a_batch_is_split_by_size_and_keeps_its_order(namesrv: str, fresh: Fresh) -> None:
    topic = fresh("batch")
    options = ProducerOptions(max_batch_bytes=1000)
    async with Producer("shop", namesrv=namesrv, options=options) as producer:
        queue = (await producer.queues(topic))[0]
        batch = [Message(topic, b"%03d" % number, tags="t") for number in range(40)]
        results = await producer.send_batch(batch, queue=queue)
    assert len(results) > 2
    assert [result.queue_offset for result in results] == sorted(result.queue_offset for result in results)
    messages = await read_all(namesrv, topic, 40)
    assert [int(message.body) for message in messages] == list(range(40))
    sent_ids = [msg_id for result in results for msg_id in result.msg_id.split(",")]
    assert [message.msg_id for message in messages] == sent_ids
    stored_ids = [msg_id for result in results for msg_id in result.offset_msg_id.split(",")]
    assert [message.offset_msg_id for message in messages] == stored_ids


async def test_a_selector_chooses_the_queue(namesrv: str, fresh: Fresh) -> None:
    topic = fresh("select")

    def last(queues: Sequence[MessageQueue], message: Message) -> MessageQueue:
        return queues[-1]

    async with Producer("shop", namesrv=namesrv) as producer:
        results = [await producer.send(Message(topic, b"x"), select=last) for _ in range(3)]
        queues = await producer.queues(topic)
    assert {result.queue for result in results} == {queues[-1]}


async def test_one_sharding_key_always_takes_the_same_queue(namesrv: str, fresh: Fresh) -> None:
    topic = fresh("shard")
    async with Producer("shop", namesrv=namesrv) as producer:
        await producer.send(Message(topic, b"x"))
        results = [await producer.send(Message(topic, b"x"), sharding_key="customer-9") for _ in range(5)]
    assert len({result.queue for result in results}) == 1
    assert [result.queue_offset for result in results] == sorted(result.queue_offset for result in results)


async def test_sends_go_round_the_queues(namesrv: str, fresh: Fresh) -> None:
    topic = fresh("round")
    async with Producer("shop", namesrv=namesrv) as producer:
        results = [await producer.send(Message(topic, b"x")) for _ in range(8)]
    assert len({result.queue.queue_id for result in results}) == 4


@pytest.mark.parametrize(
    "message",
    [
        Message("no spaces allowed", b"x"),
        Message("", b"x"),
        Message("t" * 128, b"x"),
        Message("fine", b""),
        Message("fine", b"x" * (4 * 1024 * 1024 + 1)),
        Message("fine", b"x", tags="a\x01b"),
        Message("fine", b"x", properties={"UNIQ_KEY": "mine"}),
        Message("fine", b"x", properties={"a": ""}),
        Message("fine", b"x", properties={"a": "b" * 40_000}),
    ],
    ids=["space", "blank", "long", "empty", "huge", "separator", "reserved", "no value", "properties"],
)
async def test_a_bad_message_is_refused_before_it_is_sent(namesrv: str, message: Message) -> None:
    async with Producer("shop", namesrv=namesrv) as producer:
        with pytest.raises((BadInput, Refused)):
            await producer.send(message)


async def test_a_refusal_of_the_broker_is_an_error_with_its_code(namesrv: str) -> None:
    async with Producer("shop", namesrv=namesrv) as producer:
        with pytest.raises(PeerError) as refused:
            await producer.send(Message("SELF_TEST_TOPIC", b"x"))
    assert refused.value.code == 16
    assert refused.value.data["tries"] == 3


async def test_without_a_name_server_the_error_says_so() -> None:
    async with Producer("shop", namesrv="127.0.0.1:1") as producer:
        with pytest.raises(PeerUnreachable, match=r"no name server answers.*127\.0\.0\.1:1"):
            await producer.send(Message("t", b"x"))


async def test_a_producer_that_is_not_started_says_so() -> None:
    with pytest.raises(BadInput, match="not started"):
        await Producer("shop").send(Message("t", b"x"))


async def test_a_cancelled_send_leaves_no_trace(namesrv: str, fresh: Fresh) -> None:
    topic = fresh("cancel")
    async with Producer("shop", namesrv=namesrv, options=ProducerOptions(max_in_flight=1)) as producer:
        await producer.send(Message(topic, b"x"))
        (await producer.send_async(Message(topic, b"y"))).cancel()
        result = await producer.send(Message(topic, b"z"))
    assert result.status is SendStatus.SEND_OK
