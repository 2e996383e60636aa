"""The push consumer against a real broker."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.client import (
    ClientInstance,
    ClientOptions,
    ConsumeFromWhere,
    ConsumerOptions,
    ConsumeStatus,
    LitePullConsumer,
    Message,
    MessageModel,
    MessageQueue,
    Producer,
    PullOptions,
    PushConsumer,
    ReceivedMessage,
)
from engine.client.consuming.consume_service import SendBacks
from engine.errors import BadInput, PeerUnreachable

Fresh = Callable[[str], str]
QUICK = ConsumerOptions(commit_interval_s=0.2, rebalance_s=1.0, retry_locally_after_s=0.2)


async def until(condition: Callable[[], bool], timeout_s: float = 30.0) -> None:
    async with asyncio.timeout(timeout_s):
        while not condition():
            await asyncio.sleep(0.02)


async def send_all(namesrv: str, topic: str, count: int, *, tags: str | None = None) -> None:
    async with Producer("shop", namesrv=namesrv) as producer:
        for number in range(count):
            await producer.send_async(Message(topic, b"%d" % number, tags=tags))
        await producer.flush()


class Collected:
    """An async listener that keeps what it got."""

    def __init__(self) -> None:
        self.messages: list[ReceivedMessage] = []

    async def __call__(self, message: ReceivedMessage) -> None:
        self.messages.append(message)

    @property
    def numbers(self) -> list[int]:
        return [int(message.body) for message in self.messages]


async def committed(namesrv: str, group: str, topic: str) -> int:
    """How many messages of the topic the group has committed."""
    async with LitePullConsumer(group + "-reader", namesrv=namesrv) as reader:
        offsets = reader._queue_offsets
        queues = await reader.queues(topic)
        return sum([await offsets.committed(group, queue) or 0 for queue in queues])


async def test_a_listener_gets_every_message_once_and_the_group_moves_on(namesrv: str, fresh: Fresh) -> None:
    topic, group, listener = fresh("all"), fresh("group"), Collected()
    await send_all(namesrv, topic, 100)
    consumer = PushConsumer(group, listener, namesrv=namesrv, options=QUICK)
    consumer.subscribe(topic)
    async with consumer:
        await until(lambda: len(listener.messages) >= 100)
    assert sorted(listener.numbers) == list(range(100))
    assert await committed(namesrv, group, topic) == 100
    again = Collected()
    consumer = PushConsumer(group, again, namesrv=namesrv, options=QUICK)
    consumer.subscribe(topic)
    async with consumer:
        await send_all(namesrv, topic, 1)
        await until(lambda: bool(again.messages))
    assert again.numbers == [0]


async def test_a_plain_listener_runs_in_threads_of_its_own(namesrv: str, fresh: Fresh) -> None:
    topic, seen = fresh("threads"), []

    def listener(message: ReceivedMessage) -> None:
        seen.append((threading.current_thread() is threading.main_thread(), message.body))

    await send_all(namesrv, topic, 5)
    consumer = PushConsumer(fresh("group"), listener, namesrv=namesrv, options=QUICK)
    consumer.subscribe(topic)
    async with consumer:
        await until(lambda: len(seen) >= 5)
    assert not any(on_main for on_main, _ in seen)


async def test_a_batch_listener_gets_lists(namesrv: str, fresh: Fresh) -> None:
    topic, sizes = fresh("batches"), []

    async def listener(messages: list[ReceivedMessage]) -> ConsumeStatus:
        sizes.append(len(messages))
        return ConsumeStatus.CONSUME_SUCCESS

    await send_all(namesrv, topic, 64)
    options = ConsumerOptions(consume_batch_size=8, commit_interval_s=0.2)
    consumer = PushConsumer(fresh("group"), listener, namesrv=namesrv, options=options)
    consumer.subscribe(topic)
    async with consumer:
        await until(lambda: sum(sizes) >= 64)
    assert sum(sizes) == 64 and max(sizes) == 8


async def test_tags_are_selected_and_the_rest_is_passed_over(namesrv: str, fresh: Fresh) -> None:
    topic, group, listener = fresh("tags"), fresh("group"), Collected()
    await send_all(namesrv, topic, 10, tags="red")
    await send_all(namesrv, topic, 4, tags="blue")
    await send_all(namesrv, topic, 10, tags="green")
    consumer = PushConsumer(group, listener, namesrv=namesrv, options=QUICK)
    consumer.subscribe(topic, "blue || yellow")
    async with consumer:
        await until(lambda: len(listener.messages) >= 4)
        await asyncio.sleep(0.3)
    assert {message.tags for message in listener.messages} == {"blue"}
    assert len(listener.messages) == 4


async def test_tags_with_one_hash_are_told_apart(namesrv: str, fresh: Fresh) -> None:
    """Aa and BB have the same Java hash: the broker lets both through."""
    topic, listener = fresh("hash"), Collected()
    await send_all(namesrv, topic, 8, tags="BB")
    await send_all(namesrv, topic, 2, tags="Aa")
    consumer = PushConsumer(fresh("group"), listener, namesrv=namesrv, options=QUICK)
    consumer.subscribe(topic, "Aa")
    async with consumer:
        await until(lambda: len(listener.messages) >= 2)
        await asyncio.sleep(0.3)
    assert [message.tags for message in listener.messages] == ["Aa", "Aa"]


async def test_a_failed_message_comes_again_and_is_not_committed_before(namesrv: str, fresh: Fresh) -> None:
    topic, group = fresh("failing"), fresh("group")
    attempts: dict[bytes, int] = defaultdict(int)

    async def listener(message: ReceivedMessage) -> ConsumeStatus:
        attempts[message.body] += 1
        if message.body == b"0" and attempts[b"0"] == 1:
            raise ValueError("the first time fails")
        if message.body == b"1" and attempts[b"1"] < 2:
            return ConsumeStatus.RECONSUME_LATER
        return ConsumeStatus.CONSUME_SUCCESS

    await send_all(namesrv, topic, 5)
    consumer = PushConsumer(group, listener, namesrv=namesrv, options=QUICK)
    consumer.subscribe(topic)
    async with consumer:
        await until(lambda: attempts[b"1"] >= 1)
        await until(lambda: attempts[b"0"] >= 2 and attempts[b"1"] >= 2, timeout_s=60)
    assert len(attempts) == 5


async def test_a_message_that_always_fails_is_delivered_again_after_a_restart(
    namesrv: str, fresh: Fresh
) -> None:
    topic, group = fresh("poison"), fresh("group")
    seen: list[bytes] = []

    async def refuse(message: ReceivedMessage) -> ConsumeStatus:
        seen.append(message.body)
        return ConsumeStatus.RECONSUME_LATER

    await send_all(namesrv, topic, 1)
    consumer = PushConsumer(group, refuse, namesrv=namesrv, options=QUICK)
    consumer.subscribe(topic)
    async with consumer:
        await until(lambda: len(seen) >= 1)
    listener = Collected()
    second = PushConsumer(group, listener, namesrv=namesrv, options=QUICK)
    second.subscribe(topic)
    async with second:
        await until(lambda: bool(listener.messages), timeout_s=60)
    assert listener.numbers == [0]
    assert listener.messages[0].topic == topic


async def test_an_orderly_listener_sees_each_queue_in_order_through_failures(
    namesrv: str, fresh: Fresh
) -> None:
    topic, group = fresh("orderly"), fresh("group")
    seen: dict[int, list[int]] = defaultdict(list)
    failed: set[bytes] = set()
    running: set[int] = set()
    overlaps: list[int] = []

    async def listener(message: ReceivedMessage) -> ConsumeStatus | None:
        queue_id = message.queue.queue_id
        if queue_id in running:
            overlaps.append(queue_id)
        running.add(queue_id)
        await asyncio.sleep(0)
        running.discard(queue_id)
        if int(message.body) % 10 == 3 and message.body not in failed:
            failed.add(message.body)
            return ConsumeStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT
        seen[queue_id].append(int(message.body))
        return None

    async with Producer("shop", namesrv=namesrv) as producer:
        for number in range(60):
            await producer.send(Message(topic, b"%d" % number), sharding_key=f"customer-{number % 7}")
    options = ConsumerOptions(orderly=True, suspend_ms=20, commit_interval_s=0.2)
    consumer = PushConsumer(group, listener, namesrv=namesrv, options=options)
    consumer.subscribe(topic)
    async with consumer:
        await until(lambda: sum(map(len, seen.values())) >= 60)
        info = consumer.running_info()
    assert not overlaps
    assert all(numbers == sorted(numbers) for numbers in seen.values())
    assert sorted(number for numbers in seen.values() for number in numbers) == list(range(60))
    assert len(failed) == 6
    assert all(queue.locked for mq, queue in info.mq_table.items() if mq.topic == topic)
    assert await committed(namesrv, group, topic) == 60


async def test_members_share_the_queues_and_take_over_from_one_that_leaves(
    namesrv: str, fresh: Fresh
) -> None:
    topic, group = fresh("shared"), fresh("group")
    await send_all(namesrv, topic, 4)
    first, second = Collected(), Collected()
    consumers = [
        PushConsumer(group, listener, namesrv=namesrv, options=QUICK) for listener in (first, second)
    ]
    for consumer in consumers:
        consumer.subscribe(topic)

    def shares() -> list[set[MessageQueue]]:
        return [{queue for queue in consumer.assignment() if queue.topic == topic} for consumer in consumers]

    async with consumers[0]:
        await until(lambda: len(shares()[0]) == 4)
        async with consumers[1]:
            await until(lambda: [len(share) for share in shares()] == [2, 2])
            assert not shares()[0] & shares()[1]
            await send_all(namesrv, topic, 20)
            await until(lambda: len(first.messages) + len(second.messages) >= 24)
            assert second.messages
        await until(lambda: len(shares()[0]) == 4)
        await send_all(namesrv, topic, 8)
        await until(lambda: len(first.messages) + len(second.messages) >= 32)


async def test_broadcast_reaches_every_consumer_and_remembers_in_a_file(
    namesrv: str, fresh: Fresh, tmp_path: Path
) -> None:
    topic, group = fresh("broadcast"), fresh("group")
    await send_all(namesrv, topic, 10)
    options = ConsumerOptions(
        model=MessageModel.BROADCASTING,
        from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
        offsets_folder=str(tmp_path),
        commit_interval_s=0.2,
    )
    listeners = {name: Collected() for name in ("one", "two")}

    async def consume(name: str, count: int) -> None:
        async with ClientInstance(namesrv, ClientOptions(instance_name=name)) as instance:
            consumer = PushConsumer(group, listeners[name], instance=instance, options=options)
            consumer.subscribe(topic)
            async with consumer:
                await until(lambda: len(listeners[name].messages) >= count)

    await asyncio.gather(consume("one", 10), consume("two", 10))
    assert sorted(listeners["one"].numbers) == sorted(listeners["two"].numbers) == list(range(10))
    assert len(list(tmp_path.rglob("offsets.json"))) == 2
    await send_all(namesrv, topic, 1)
    await consume("one", 11)
    assert len(listeners["one"].messages) == 11


async def test_what_fails_in_broadcast_is_not_tried_again(
    namesrv: str, fresh: Fresh, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic, group = fresh("broadcast"), fresh("group")
    await send_all(namesrv, topic, 3)
    seen: list[int] = []
    given_back: list[ReceivedMessage] = []

    async def send_back(self: SendBacks, message: ReceivedMessage, delay_level: int = 0) -> None:
        given_back.append(message)

    monkeypatch.setattr(SendBacks, "send_back", send_back)

    async def listener(message: ReceivedMessage) -> None:
        seen.append(int(message.body))
        raise ValueError("bad message")

    options = ConsumerOptions(
        model=MessageModel.BROADCASTING,
        from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
        offsets_folder=str(tmp_path),
    )
    async with ClientInstance(namesrv) as instance:
        consumer = PushConsumer(group, listener, instance=instance, options=options)
        consumer.subscribe(topic)
        async with consumer:
            await until(lambda: len(seen) == 3)
            await send_all(namesrv, topic, 1)
            await until(lambda: len(seen) == 4)
    assert sorted(seen) == [0, 0, 1, 2]
    assert given_back == []


@pytest.mark.parametrize(
    ("from_where", "expected"),
    [
        (ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET, ["old", "new"]),
        (ConsumeFromWhere.CONSUME_FROM_TIMESTAMP, ["new"]),
    ],
)
async def test_a_new_group_begins_where_it_was_told(
    namesrv: str, fresh: Fresh, tmp_path: Path, from_where: ConsumeFromWhere, expected: list[str]
) -> None:
    topic = fresh("where")
    async with Producer("shop", namesrv=namesrv) as producer:
        queue = (await producer.queues(topic))[0]
        await producer.send(Message(topic, b"old"), queue=queue)
        await asyncio.sleep(0.05)
        between_ms = int(time.time() * 1000)
        await asyncio.sleep(0.05)
        await producer.send(Message(topic, b"new"), queue=queue)
    seen: list[str] = []

    async def listener(message: ReceivedMessage) -> None:
        seen.append(message.body.decode())

    options = ConsumerOptions(
        model=MessageModel.BROADCASTING,
        from_where=from_where,
        consume_from_timestamp_ms=between_ms,
        offsets_folder=str(tmp_path),
        threads=1,
    )
    async with ClientInstance(namesrv) as instance:
        consumer = PushConsumer(fresh("group"), listener, instance=instance, options=options)
        consumer.subscribe(topic)
        async with consumer:
            await until(lambda: "new" in seen)
    assert seen == expected


async def test_the_window_bounds_what_is_pulled_ahead(namesrv: str, fresh: Fresh) -> None:
    topic, gate = fresh("window"), asyncio.Event()

    async def listener(message: ReceivedMessage) -> None:
        await gate.wait()

    await send_all(namesrv, topic, 200)
    options = ConsumerOptions(pull=PullOptions(max_messages_per_queue=10, batch_size=5))
    consumer = PushConsumer(fresh("group"), listener, namesrv=namesrv, options=options)
    consumer.subscribe(topic)
    async with consumer:
        await until(lambda: sum(q.cached_msg_count for q in consumer.running_info().mq_table.values()) >= 40)
        await asyncio.sleep(0.3)
        counts = [q.cached_msg_count for q in consumer.running_info().mq_table.values()]
        gate.set()
    assert max(counts) <= 14


async def test_a_consumer_without_subscriptions_or_name_server_does_not_start(fresh: Fresh) -> None:
    listener = Collected()
    with pytest.raises(BadInput, match="subscribes to nothing"):
        await PushConsumer(fresh("group"), listener, namesrv="127.0.0.1:1").start()
    consumer = PushConsumer(fresh("group"), listener, namesrv="127.0.0.1:1")
    consumer.subscribe("t")
    with pytest.raises(PeerUnreachable):
        await consumer.start()
