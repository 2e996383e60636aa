"""Transactions and request–reply of our client, against real processes of ours that ask often."""

from __future__ import annotations

import asyncio
import queue
from collections.abc import Callable, Iterator

import pytest

from engine.client import (
    ClientInstance,
    ConsumeFromWhere,
    ConsumerOptions,
    Message,
    Producer,
    ProducerOptions,
    PushConsumer,
    ReceivedMessage,
    TransactionProducer,
    TransactionState,
    blocking,
)
from engine.errors import BadInput, PeerError, PeerTimeout
from tests.engine.client.servers import start_broker, start_name_server

COMMIT, ROLLBACK, UNKNOWN = TransactionState.COMMIT, TransactionState.ROLLBACK, TransactionState.UNKNOWN
FROM_FIRST = ConsumerOptions(from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET)
Fresh = Callable[[str], str]


@pytest.fixture(scope="module")
def namesrv(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    home = tmp_path_factory.mktemp("transactions")
    name_server = start_name_server(home)
    broker = start_broker(
        home,
        name_server.address,
        "client-tx",
        transactionCheckInterval="100",
        transactionTimeOut="300",
        transactionCheckMax="1000",
    )
    yield name_server.address
    broker.stop()
    name_server.stop()


class Inbox:
    """A consumer of one topic and what it got."""

    def __init__(self, namesrv: str, topic: str) -> None:
        self.got: asyncio.Queue[ReceivedMessage] = asyncio.Queue()
        self._consumer = PushConsumer(f"inbox-{topic}", self._hear, namesrv=namesrv, options=FROM_FIRST)
        self._consumer.subscribe(topic)

    async def _hear(self, message: ReceivedMessage) -> None:
        self.got.put_nowait(message)

    async def __aenter__(self) -> Inbox:
        await self._consumer.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._consumer.close()

    async def next(self) -> bytes:
        async with asyncio.timeout(20):
            return (await self.got.get()).body


async def never(message: ReceivedMessage) -> TransactionState:
    raise AssertionError(f"nobody should ask about {message}")


async def test_consumers_get_what_is_committed_and_only_that(namesrv: str, fresh: Fresh) -> None:
    topic = fresh("orders")
    async with TransactionProducer(fresh("shop"), never, namesrv=namesrv) as producer:
        for body, state in ((b"1", ROLLBACK), (b"2", COMMIT), (b"3", None)):

            async def execute(_: Message, state: TransactionState | None = state) -> TransactionState | None:
                return state

            result = await producer.send_in_transaction(Message(topic, body), execute)
            assert result.state is (state or COMMIT)
            assert result.sent.queue.topic == topic
        async with Inbox(namesrv, topic) as inbox:
            assert sorted([await inbox.next(), await inbox.next()]) == [b"2", b"3"]
            assert inbox.got.empty()


async def test_the_broker_asks_about_what_is_unknown(namesrv: str, fresh: Fresh) -> None:
    topic = fresh("orders")
    asked: list[bytes] = []

    async def check(message: ReceivedMessage) -> TransactionState:
        asked.append(message.body)
        if len(asked) == 1:
            raise ConnectionError("the database is away")
        return UNKNOWN if len(asked) == 2 else COMMIT

    async with TransactionProducer(fresh("shop"), check, namesrv=namesrv) as producer:
        result = await producer.send_in_transaction(Message(topic, b"17", tags="t"), lambda _: UNKNOWN)
        async with Inbox(namesrv, topic) as inbox:
            assert await inbox.next() == b"17"
    assert result.state is UNKNOWN
    assert asked == [b"17"] * 3


async def test_what_the_local_transaction_raises_is_raised_and_asked_about(
    namesrv: str, fresh: Fresh
) -> None:
    topic = fresh("orders")
    asked = asyncio.Event()

    def check(message: ReceivedMessage) -> TransactionState:
        loop.call_soon_threadsafe(asked.set)
        return ROLLBACK

    def execute(message: Message) -> None:
        raise OSError("no such table")

    loop = asyncio.get_running_loop()
    async with TransactionProducer(fresh("shop"), check, namesrv=namesrv) as producer:
        with pytest.raises(OSError, match="no such table"):
            await producer.send_in_transaction(Message(topic, b"17"), execute)
        await asyncio.wait_for(asked.wait(), 20)


async def test_another_producer_of_the_group_is_asked(namesrv: str, fresh: Fresh) -> None:
    """The one that sent it is gone without a word.

    The broker counts its rounds of asking while nobody is there to be asked, and gives the message up after
    `transactionCheckMax` of them, for good. RocketMQ's 15 rounds of 100 ms are over 1.8 s after the message
    was born: a second producer that comes later waits in vain (seen with a pause of 2.5 s in its place). So
    the broker of these tests asks for 100 s.
    """
    topic, group = fresh("orders"), fresh("shop")

    async def check(message: ReceivedMessage) -> TransactionState:
        return COMMIT

    dying = TransactionProducer(group, never, namesrv=namesrv)
    await dying.start()
    await dying.send_in_transaction(Message(topic, b"17"), lambda _: UNKNOWN)
    await dying.close()
    async with TransactionProducer(group, check, namesrv=namesrv) as living:
        await living.send(Message(topic, b"plain"))
        async with Inbox(namesrv, topic) as inbox:
            assert sorted([await inbox.next(), await inbox.next()]) == [b"17", b"plain"]


async def test_a_large_message_stays_compressed_through_its_transaction(namesrv: str, fresh: Fresh) -> None:
    topic, body = fresh("orders"), b"teapot " * 10_000

    async def check(message: ReceivedMessage) -> TransactionState:
        return COMMIT if message.body == body else ROLLBACK

    options = ProducerOptions(compression="zstd")
    async with TransactionProducer(fresh("shop"), check, namesrv=namesrv, options=options) as producer:
        await producer.send_in_transaction(Message(topic, body), lambda _: UNKNOWN)
        async with Inbox(namesrv, topic) as inbox:
            assert await inbox.next() == body


async def test_a_group_has_one_transaction_producer_per_instance(namesrv: str, fresh: Fresh) -> None:
    group = fresh("shop")
    async with (
        ClientInstance(namesrv) as instance,
        TransactionProducer(group, never, instance=instance) as producer,
    ):
        with pytest.raises(BadInput, match="already"):
            await TransactionProducer(group, never, instance=instance).start()
        with pytest.raises(BadInput, match="delayed"):
            await producer.send_in_transaction(Message("t", b"x", delay_level=3), lambda _: COMMIT)


# -- request and reply --------------------------------------------------------------------------------------


async def test_a_request_gets_its_reply(namesrv: str, fresh: Fresh) -> None:
    topic = fresh("questions")
    async with Producer(fresh("answerers"), namesrv=namesrv) as answering:

        async def answer(message: ReceivedMessage) -> None:
            await answering.reply(message, message.body * 2, properties={"kind": "double"})

        consumer = PushConsumer(fresh("oracle"), answer, namesrv=namesrv, options=FROM_FIRST)
        consumer.subscribe(topic)
        async with Producer(fresh("askers"), namesrv=namesrv) as asking:
            await asking.send(Message(topic, b"first"))  # makes the topic; not a request, so not answered
            async with consumer:
                replies = await asyncio.gather(
                    *(asking.request(Message(topic, b"%d" % n), timeout_ms=20_000) for n in range(5))
                )
    assert [reply.body for reply in replies] == [b"00", b"11", b"22", b"33", b"44"]
    assert replies[0].properties["kind"] == "double"


async def test_a_request_without_a_reply_times_out(namesrv: str, fresh: Fresh) -> None:
    async with Producer(fresh("askers"), namesrv=namesrv) as asking:
        with pytest.raises(PeerTimeout, match="no reply"):
            await asking.request(Message(fresh("questions"), b"?"), timeout_ms=300)


async def test_a_reply_to_someone_who_left_is_an_error(namesrv: str, fresh: Fresh) -> None:
    topic = fresh("questions")
    async with Producer(fresh("askers"), namesrv=namesrv) as asking:
        with pytest.raises(PeerTimeout):
            await asking.request(Message(topic, b"?"), timeout_ms=100)
    async with Inbox(namesrv, topic) as inbox, Producer(fresh("answerers"), namesrv=namesrv) as answering:
        async with asyncio.timeout(20):
            request = await inbox.got.get()
        with pytest.raises(PeerError, match=r"channel of <.*> not found"):
            await answering.reply(request, b"too late")


async def test_an_ordinary_message_cannot_be_replied_to(namesrv: str, fresh: Fresh) -> None:
    topic = fresh("mail")
    async with Producer(fresh("shop"), namesrv=namesrv) as producer, Inbox(namesrv, topic) as inbox:
        await producer.send(Message(topic, b"a letter"))
        async with asyncio.timeout(20):
            letter = await inbox.got.get()
        with pytest.raises(BadInput, match="not a request"):
            await producer.reply(letter, b"thanks")


def test_threads_can_ask_and_answer(namesrv: str, fresh: Fresh) -> None:
    topic = fresh("questions")
    requests: queue.Queue[ReceivedMessage] = queue.Queue()
    with blocking.Producer(fresh("p"), namesrv=namesrv) as producer:
        producer.send(Message(topic, b"makes the topic"))
        consumer = blocking.PushConsumer(
            fresh("oracle"), lambda m: requests.put(m), namesrv=namesrv, options=FROM_FIRST
        )
        consumer.subscribe(topic)
        with consumer, blocking.Producer(fresh("q"), namesrv=namesrv) as answering:
            reply = producer._loop.submit(producer._inner.request(Message(topic, b"?"), timeout_ms=20_000))
            message = requests.get(timeout=20)
            if message.body != b"?":
                message = requests.get(timeout=20)
            answering.reply(message, b"!")
            assert reply.result(20).body == b"!"
