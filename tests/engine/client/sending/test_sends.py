"""What becomes of a send, by the broker's answer or its silence."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence

import pytest

from engine.client import Message, Producer, ProducerOptions, SendStatus
from engine.errors import PeerError, PeerTimeout
from engine.net.outcomes import Reply
from engine.protocol.bodies.routes import BrokerData, QueueData, TopicRouteData
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Command
from tests.engine.client.scripted_broker import STORED, Answer, ScriptedBroker

SEND = RequestCode.SEND_MESSAGE_V2


@pytest.fixture
async def broker() -> AsyncIterator[ScriptedBroker]:
    async with ScriptedBroker() as scripted:
        yield scripted


def in_turn(*replies: Reply | None) -> Answer:
    remaining: Iterator[Reply | None] = iter(replies)
    return lambda request: next(remaining)


async def test_silence_ends_in_a_timeout_and_frees_the_window(broker: ScriptedBroker) -> None:
    broker.answers[SEND] = lambda request: None
    options = ProducerOptions(send_timeout_ms=200, max_in_flight=1)
    async with Producer("g", namesrv=broker.address, options=options) as producer:
        with pytest.raises(PeerTimeout, match="may or may not be stored"):
            await producer.send(Message("t", b"x"))
        broker.answers[SEND] = lambda request: STORED
        assert (await producer.send(Message("t", b"x"))).status is SendStatus.SEND_OK
    assert broker.count(SEND) == 2


@pytest.mark.parametrize("code", [17, 14, 1, 2, 16, 204, 205, 1500])
async def test_these_refusals_are_tried_again(broker: ScriptedBroker, code: int) -> None:
    broker.answers[SEND] = in_turn(Reply(code), Reply(code), STORED)
    async with Producer("g", namesrv=broker.address) as producer:
        result = await producer.send(Message("t", b"x"))
    assert result.status is SendStatus.SEND_OK and result.queue_offset == 41
    assert broker.count(SEND) == 3


async def test_all_tries_carry_the_same_message(broker: ScriptedBroker) -> None:
    broker.answers[SEND] = in_turn(Reply(2), STORED)
    async with Producer("g", namesrv=broker.address) as producer:
        await producer.send(Message("t", b"x"))
    first, second = (request for request in broker.requests if request.code == SEND)
    assert first.fields == second.fields and first.body == second.body
    assert first.opaque != second.opaque


async def test_the_last_refusal_is_told(broker: ScriptedBroker) -> None:
    broker.answers[SEND] = lambda request: Reply(2, "[REJECTREQUEST]busy")
    async with Producer("g", namesrv=broker.address) as producer:
        with pytest.raises(PeerError, match=r"SYSTEM_BUSY \(2\): \[REJECTREQUEST\]busy") as refused:
            await producer.send(Message("t", b"x"))
    assert (refused.value.code, refused.value.data["tries"]) == (2, 3)


@pytest.mark.parametrize("code", [13, 26, 29, 501])
async def test_other_refusals_are_told_at_once(broker: ScriptedBroker, code: int) -> None:
    broker.answers[SEND] = lambda request: Reply(code, "no")
    async with Producer("g", namesrv=broker.address) as producer:
        with pytest.raises(PeerError):
            await producer.send(Message("t", b"x"))
    assert broker.count(SEND) == 1


async def test_a_message_with_a_fixed_queue_is_not_tried_again(broker: ScriptedBroker) -> None:
    broker.answers[SEND] = lambda request: Reply(2)
    async with Producer("g", namesrv=broker.address) as producer:
        with pytest.raises(PeerError):
            await producer.send(Message("t", b"x"), sharding_key="k")
    assert broker.count(SEND) == 1


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (ResponseCode.FLUSH_DISK_TIMEOUT, SendStatus.FLUSH_DISK_TIMEOUT),
        (ResponseCode.SLAVE_NOT_AVAILABLE, SendStatus.SLAVE_NOT_AVAILABLE),
        (ResponseCode.FLUSH_SLAVE_TIMEOUT, SendStatus.FLUSH_SLAVE_TIMEOUT),
    ],
)
async def test_stored_but_unconfirmed_is_a_result(
    broker: ScriptedBroker, code: ResponseCode, status: SendStatus
) -> None:
    broker.answers[SEND] = lambda request: Reply(code, "late", STORED.fields)
    async with Producer("g", namesrv=broker.address) as producer:
        result = await producer.send(Message("t", b"x"))
    assert result.status is status and result.queue_offset == 41
    assert broker.count(SEND) == 1


async def test_no_more_than_the_window_is_in_flight(broker: ScriptedBroker) -> None:
    broker.answers[SEND] = lambda request: None
    options = ProducerOptions(max_in_flight=4, send_timeout_ms=300, retries=0)
    async with Producer("g", namesrv=broker.address, options=options) as producer:
        futures = [await producer.send_async(Message("t", b"x")) for _ in range(4)]
        fifth = asyncio.create_task(producer.send_async(Message("t", b"x")))
        done, _ = await asyncio.wait((fifth,), timeout=0.1)
        assert not done and broker.count(SEND) <= 4
        outcomes = await asyncio.gather(*futures, return_exceptions=True)
        assert all(isinstance(outcome, PeerTimeout) for outcome in outcomes)
        with pytest.raises(PeerTimeout):
            await (await fifth)


async def test_a_failed_batch_tells_what_did_succeed(broker: ScriptedBroker) -> None:
    broker.answers[RequestCode.SEND_BATCH_MESSAGE] = in_turn(STORED, Reply(13, "no"), STORED)
    options = ProducerOptions(max_batch_bytes=150)
    async with Producer("g", namesrv=broker.address, options=options) as producer:
        with pytest.raises(PeerError) as refused:
            await producer.send_batch([Message("t", b"x" * 50) for _ in range(3)])
    assert len(refused.value.data["results"]) == 2  # type: ignore[arg-type]


async def test_a_topic_that_nobody_knows_uses_the_default_topic_until_it_has_a_route(
    broker: ScriptedBroker,
) -> None:
    known: set[str] = {"TBW102"}

    def route(request: Command) -> Reply | None:
        if request.fields["topic"] in known:
            return broker._usual(request)
        return Reply(ResponseCode.TOPIC_NOT_EXIST, "no route")

    def store(request: Command) -> Reply:
        known.add(request.fields["b"])
        return STORED

    broker.answers[RequestCode.GET_ROUTEINFO_BY_TOPIC] = route
    broker.answers[SEND] = store
    async with Producer("g", namesrv=broker.address) as producer:
        await producer.send(Message("fresh", b"x"))
        async with asyncio.timeout(5):
            while producer.instance.routes.known("fresh") is None:
                await asyncio.sleep(0.01)
        await producer.send(Message("fresh", b"x"))
        plan = producer._deliveries.plans.known("fresh")
        assert plan is not None and not plan.is_provisional


def route_over(broker: ScriptedBroker, names: Sequence[str]) -> Reply:
    """Four queues on each of these brokers, which are all the same one."""
    if not names:
        return Reply(ResponseCode.TOPIC_NOT_EXIST, "no route")
    brokers = tuple(BrokerData("cluster", name, {0: broker.address}) for name in names)
    return Reply(body=TopicRouteData(tuple(QueueData(name, 4, 4, 6) for name in names), brokers).encode(True))


async def test_a_topic_is_made_on_every_broker_before_its_route_counts(broker: ScriptedBroker) -> None:
    makers, made = ("one", "two", "three"), set[str]()

    def route(request: Command) -> Reply:
        return route_over(broker, makers if request.fields["topic"] == "TBW102" else sorted(made))

    broker.answers[RequestCode.GET_ROUTEINFO_BY_TOPIC] = route
    broker.answers[SEND] = lambda request: STORED
    async with Producer("g", namesrv=broker.address) as producer:
        async with asyncio.timeout(5):
            while producer.instance.routes.known("fresh") is None:
                made.add((await producer.send(Message("fresh", b"x"))).queue.broker_name)
                await asyncio.sleep(0.01)
        assert made == set(makers)
        assert {(await producer.send(Message("fresh", b"x"))).queue.broker_name for _ in range(12)} == made


async def test_whoever_sends_to_one_queue_gets_its_route_all_the_same(broker: ScriptedBroker) -> None:
    known = {"TBW102"}

    def route(request: Command) -> Reply:
        return route_over(broker, ("one", "two") if request.fields["topic"] in known else ())

    def store(request: Command) -> Reply:
        known.add(request.fields["b"])
        return STORED

    broker.answers[RequestCode.GET_ROUTEINFO_BY_TOPIC] = route
    broker.answers[SEND] = store
    async with Producer("g", namesrv=broker.address) as producer:
        for _ in range(8):
            assert producer.instance.routes.known("fresh") is None
            await producer.send(Message("fresh", b"x"), sharding_key="customer-9")
        async with asyncio.timeout(5):
            while producer.instance.routes.known("fresh") is None:
                await asyncio.sleep(0.01)
