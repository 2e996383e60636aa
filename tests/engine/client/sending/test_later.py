"""Messages for later through our client: delays, times, recalls, and retries until the dead letters."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager

import pytest

from engine.client import Admin, ConsumeFromWhere, ConsumerOptions, Message, Producer, PushConsumer, blocking
from engine.client.messages import ReceivedMessage
from engine.client.sending.drafts import properties_text
from engine.errors import BadInput, PeerError
from tests.engine.client.servers import start_broker, start_name_server

NO_DELAY = " ".join(["0s"] * 18)
QUICK = ConsumerOptions(
    from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET, commit_interval_s=0.2, rebalance_s=1.0
)


@pytest.fixture(scope="module")
def later_namesrv(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A broker of its own: its levels take no time, and messages may be called back."""
    home = tmp_path_factory.mktemp("later-cluster")
    name_server = start_name_server(home)
    broker = start_broker(home, name_server.address, messageDelayLevel=NO_DELAY, recallMessageEnable="true")
    yield name_server.address
    broker.stop()
    name_server.stop()


def text(message: Message) -> str:
    return properties_text(message, "U", True)


def test_each_way_to_say_later_becomes_its_property() -> None:
    assert "DELAY\x013\x02" in text(Message("t", b"x", delay_level=3))
    assert "TIMER_DELAY_MS\x011500\x02" in text(Message("t", b"x", delay_s=1.5))
    assert "TIMER_DELAY_MS\x0120\x02" in text(Message("t", b"x", delay_ms=20))
    assert "TIMER_DELIVER_MS\x0199\x02" in text(Message("t", b"x", deliver_at_ms=99))


@pytest.mark.parametrize(
    "times",
    [{"delay_s": 1, "delay_ms": 1}, {"delay_level": 1, "delay_ms": 1}, {"delay_ms": -1}, {"delay_s": -2}],
)
def test_contradictions_are_told_before_anything_is_sent(times: dict[str, int]) -> None:
    with pytest.raises(BadInput):
        text(Message("t", b"x", **times))  # type: ignore[arg-type]


class Seen:
    """An async listener that notes when what came, and fails if told to."""

    def __init__(self, fails: bool = False) -> None:
        self.messages: list[ReceivedMessage] = []
        self.at_ms: list[float] = []
        self._fails = fails

    async def __call__(self, message: ReceivedMessage) -> None:
        self.messages.append(message)
        self.at_ms.append(time.time() * 1000)
        if self._fails:
            raise RuntimeError("never")


async def until(condition: Callable[[], bool], timeout_s: float = 30.0) -> None:
    async with asyncio.timeout(timeout_s):
        while not condition():
            await asyncio.sleep(0.02)


@asynccontextmanager
async def consuming(namesrv: str, group: str, topic: str, seen: Seen) -> AsyncIterator[None]:
    consumer = PushConsumer(group, seen, namesrv=namesrv, options=QUICK)
    consumer.subscribe(topic)
    async with consumer:
        yield


async def test_a_time_and_a_delay_are_kept_and_a_recall_is_heard(later_namesrv: str) -> None:
    seen = Seen()
    async with Producer("shop", namesrv=later_namesrv) as producer:
        await producer.send(Message("times", b"now"))
        async with consuming(later_namesrv, "times-group", "times", seen):
            await until(lambda: bool(seen.messages))
            sent_ms = time.time() * 1000
            gone = await producer.send(Message("times", b"gone", delay_s=2.5))
            await producer.send(Message("times", b"delayed", delay_s=1.2))
            await producer.send(Message("times", b"timed", deliver_at_ms=int(sent_ms) + 3000))
            assert gone.recall_handle is not None
            assert await producer.recall(gone.recall_handle) == gone.msg_id
            await until(lambda: len(seen.messages) == 3)
        assert [message.body for message in seen.messages] == [b"now", b"delayed", b"timed"]
        assert seen.at_ms[1] - sent_ms >= 1200
        assert seen.at_ms[2] - sent_ms >= 3000
        with pytest.raises(PeerError) as late:
            await producer.recall(gone.recall_handle)
        assert late.value.code == 604


async def test_sixteen_tries_then_the_dead_letters(later_namesrv: str) -> None:
    failing, dead = Seen(fails=True), Seen()
    async with Producer("shop", namesrv=later_namesrv) as producer:
        sent = await producer.send(Message("failing", b"bad", tags="t", keys="k"))
    async with consuming(later_namesrv, "failing-group", "failing", failing):
        await until(lambda: len(failing.messages) == 17)
        await asyncio.sleep(0.5)
    assert [message.reconsume_times for message in failing.messages] == list(range(17))
    assert {message.topic for message in failing.messages} == {"failing"}
    assert {message.msg_id for message in failing.messages} == {sent.msg_id}
    async with consuming(later_namesrv, "dead-readers", "%DLQ%failing-group", dead):
        await until(lambda: bool(dead.messages))
    (letter,) = dead.messages
    assert (letter.body, letter.tags, letter.keys) == (b"bad", "t", ["k"])
    assert letter.reconsume_times == 17
    assert letter.properties["ORIGIN_MESSAGE_ID"] == sent.offset_msg_id
    assert letter.properties["RETRY_TOPIC"] == "failing"


async def test_a_message_for_one_group_reaches_no_other(later_namesrv: str) -> None:
    one, other = Seen(), Seen()
    async with (
        Producer("shop", namesrv=later_namesrv) as producer,
        consuming(later_namesrv, "one-group", "shared", one),
        consuming(later_namesrv, "other-group", "shared", other),
    ):
        await producer.send(Message("shared", b"to all"))
        await until(lambda: bool(one.messages and other.messages))
        msg_id = producer.new_msg_id()
        again = Message("shared", b"again", tags="t", msg_id=msg_id)
        sent = await producer.send_to_group(again, "one-group", "ORIGIN")
        assert (sent.msg_id, sent.queue.topic) == (msg_id, "%RETRY%one-group")
        await until(lambda: len(one.messages) == 2)
        await producer.send(Message("shared", b"last"))
        await until(lambda: other.messages[-1].body == b"last")
    letter = next(message for message in one.messages if message.body == b"again")
    assert (letter.topic, letter.msg_id, letter.tags) == ("shared", msg_id, "t")
    assert letter.properties["ORIGIN_MESSAGE_ID"] == "ORIGIN"
    assert sorted(message.body for message in other.messages) == [b"last", b"to all"]


async def test_an_id_that_was_noted_before_finds_the_message(later_namesrv: str) -> None:
    async with (
        Producer("shop", namesrv=later_namesrv) as producer,
        Admin(namesrv=later_namesrv) as admin,
    ):
        msg_id = producer.new_msg_id()
        assert await producer.queues("noted")
        sent = await producer.send(Message("noted", b"x", msg_id=msg_id))
        assert sent.msg_id == msg_id
        async with asyncio.timeout(10):
            while not (found := await admin.messages.by_unique_key("noted", msg_id)):
                await asyncio.sleep(0.05)
        assert [message.body for message in found] == [b"x"]


def test_a_recall_without_await(later_namesrv: str) -> None:
    with blocking.Producer("shop", namesrv=later_namesrv) as producer:
        result = producer.send(Message("blocking-times", b"x", delay_s=60))
        assert result.recall_handle is not None
        assert producer.recall(result.recall_handle) == result.msg_id
