"""What a broker may ask of a client, asked over the client's own connection."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable

import pytest

from engine.client import ConsumerOptions, ConsumeStatus, MessageQueue, PushConsumer, ReceivedMessage
from engine.net.connection import Connection
from engine.net.outcomes import Reply
from engine.protocol.bodies.clients import (
    ConsumeMessageDirectlyResult,
    ConsumeResult,
    ConsumerRunningInfo,
)
from engine.protocol.bodies.offsets import GetConsumerStatusBody, ResetOffsetBody
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Command
from engine.protocol.headers.groups import ConsumeMessageDirectlyRequest, GetConsumerRunningInfoRequest
from engine.protocol.headers.offsets import GetConsumerStatusRequest, OffsetResponse, ResetOffsetRequest
from engine.protocol.headers.pull import PullMessageResponse
from engine.protocol.records import encode_record
from tests.engine.client.scripted_broker import ScriptedBroker

QUEUE = MessageQueue("t", "scripted", 0)


class Scene:
    """A started consumer on a scripted broker whose queue stays empty at offset 5."""

    def __init__(self, broker: ScriptedBroker, consumer: PushConsumer, seen: list[ReceivedMessage]) -> None:
        self.broker = broker
        self.consumer = consumer
        self.seen = seen

    async def ask(self, code: RequestCode, fields: dict[str, str], body: bytes = b"") -> Command:
        connection = self.broker.heartbeat_from
        assert isinstance(connection, Connection)
        return await connection.request(Command(code, fields=fields, body=body), 5000)

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(15):
            while not condition():
                await asyncio.sleep(0.01)


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    seen: list[ReceivedMessage] = []

    async def listener(message: ReceivedMessage) -> ConsumeStatus:
        seen.append(message)
        if message.body == b"bad":
            raise ValueError("bad body")
        return ConsumeStatus.CONSUME_SUCCESS if message.body == b"good" else ConsumeStatus.RECONSUME_LATER

    async with ScriptedBroker() as broker:
        broker.answers[RequestCode.QUERY_CONSUMER_OFFSET] = lambda request: Reply(
            fields=OffsetResponse(5).encode()
        )
        broker.answers[RequestCode.GET_MAX_OFFSET] = lambda request: Reply(fields=OffsetResponse(9).encode())
        broker.answers[RequestCode.PULL_MESSAGE] = lambda request: None
        consumer = PushConsumer(
            "g", listener, namesrv=broker.address, options=ConsumerOptions(rebalance_s=60)
        )
        consumer.subscribe("t")
        async with consumer:
            scene = Scene(broker, consumer, seen)
            await scene.until(lambda: pulled_from(broker, 5))
            yield scene


def pulled_from(broker: ScriptedBroker, offset: int) -> bool:
    return any(
        request.code == RequestCode.PULL_MESSAGE
        and request.fields["topic"] == "t"
        and request.fields["queueOffset"] == str(offset)
        for request in broker.requests
    )


async def test_a_reset_moves_the_consumer_and_is_committed(scene: Scene) -> None:
    scene.broker.answers[RequestCode.QUERY_CONSUMER_OFFSET] = lambda request: Reply(fields={"offset": "2"})
    header = ResetOffsetRequest("t", "g", 0)
    answer = await scene.ask(
        RequestCode.RESET_CONSUMER_CLIENT_OFFSET, header.encode(), ResetOffsetBody({QUEUE: 2}).encode()
    )
    assert answer.code == 0
    commits = [r for r in scene.broker.requests if r.code == RequestCode.UPDATE_CONSUMER_OFFSET]
    assert [(r.fields["topic"], r.fields["commitOffset"]) for r in commits] == [("t", "2")]
    await scene.until(lambda: pulled_from(scene.broker, 2))


async def test_the_consumer_says_how_far_it_is(scene: Scene) -> None:
    answer = await scene.ask(
        RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT, GetConsumerStatusRequest("t", "g").encode()
    )
    assert GetConsumerStatusBody.decode(answer.body).message_queue_table == {QUEUE: 5}


async def test_the_consumer_tells_all_about_itself(scene: Scene) -> None:
    header = GetConsumerRunningInfoRequest("g", scene.consumer.instance.client_id)
    answer = await scene.ask(RequestCode.GET_CONSUMER_RUNNING_INFO, header.encode())
    info = ConsumerRunningInfo.decode(answer.body)
    assert info.mq_table[QUEUE].commit_offset == 5
    assert info.properties["PROP_CONSUMEORDERLY"] == "false"
    assert {data.topic for data in info.subscription_set} == {"t", "%RETRY%g"}
    assert info.jstack is None


async def test_the_consumer_says_where_its_threads_and_tasks_stand(scene: Scene) -> None:
    is_over, hangs = threading.Event(), asyncio.Event()

    def stuck_in_a_thread() -> None:
        is_over.wait()

    async def stuck_in_a_task() -> None:
        await hangs.wait()

    thread = threading.Thread(target=stuck_in_a_thread, name="listener-7")
    thread.start()
    task = asyncio.create_task(stuck_in_a_task(), name="listener-8")
    await asyncio.sleep(0)
    try:
        header = GetConsumerRunningInfoRequest("g", scene.consumer.instance.client_id, True)
        answer = await scene.ask(RequestCode.GET_CONSUMER_RUNNING_INFO, header.encode())
    finally:
        is_over.set()
        hangs.set()
        thread.join()
        await task
    stacks = ConsumerRunningInfo.decode(answer.body).jstack or ""
    lines = [line.split() for line in stacks.splitlines()]
    assert ["listener-7", "TID:", str(thread.ident), "STATE:", "RUNNABLE"] in lines
    calls = [line[1].split("(")[0] for line in lines if len(line) == 2]
    assert {"stuck_in_a_thread", "stuck_in_a_task"} <= set(calls)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"good", ConsumeResult.CR_SUCCESS),
        (b"later", ConsumeResult.CR_LATER),
        (b"bad", ConsumeResult.CR_THROW_EXCEPTION),
    ],
)
async def test_the_listener_runs_on_a_message_at_once(
    scene: Scene, body: bytes, expected: ConsumeResult
) -> None:
    record = encode_record(
        topic="t",
        queue_id=0,
        body=body,
        properties={"TAGS": "x"},
        born_host=("127.0.0.1", 1),
        store_host=("127.0.0.1", 2),
    )
    header = ConsumeMessageDirectlyRequest("g", broker_name="scripted")
    answer = await scene.ask(RequestCode.CONSUME_MESSAGE_DIRECTLY, header.encode(), record)
    result = ConsumeMessageDirectlyResult.decode(answer.body)
    assert result.consume_result is expected
    assert scene.seen[0].queue == QUEUE


async def test_an_unknown_group_or_code_is_refused_not_ignored(scene: Scene) -> None:
    answer = await scene.ask(RequestCode.GET_CONSUMER_RUNNING_INFO, {"consumerGroup": "x", "clientId": "y"})
    assert answer.code == ResponseCode.SYSTEM_ERROR and "no consumer" in (answer.remark or "")
    answer = await scene.ask(RequestCode.POP_MESSAGE, {})
    assert answer.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED


async def test_an_illegal_offset_is_replaced_by_the_brokers(scene: Scene) -> None:
    """21: commit what the broker says, take the queue anew from there."""
    moved = PullMessageResponse(0, 3, 3, 9).encode()
    replies = iter([Reply(ResponseCode.PULL_OFFSET_MOVED, "moved", moved)])
    scene.broker.answers[RequestCode.PULL_MESSAGE] = lambda request: next(replies, None)
    scene.broker.answers[RequestCode.QUERY_CONSUMER_OFFSET] = lambda request: Reply(fields={"offset": "3"})
    work = scene.consumer._works[QUEUE]
    await work.stop_pulling()
    work.start()
    await scene.until(lambda: pulled_from(scene.broker, 3))
    commits = [r for r in scene.broker.requests if r.code == RequestCode.UPDATE_CONSUMER_OFFSET]
    assert ("t", "3") in [(r.fields["topic"], r.fields["commitOffset"]) for r in commits]


async def test_a_broker_that_forgot_the_consumer_is_reminded_before_queues_are_dropped(scene: Scene) -> None:
    connection = scene.broker.heartbeat_from
    assert connection is not None
    scene.broker.client_ids = ()
    beats = scene.broker.count(RequestCode.HEART_BEAT)
    connection.send_oneway(Command(RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, fields={"consumerGroup": "g"}))
    await scene.until(lambda: scene.broker.count(RequestCode.HEART_BEAT) > beats)
    await scene.until(lambda: scene.broker.count(RequestCode.GET_CONSUMER_LIST_BY_GROUP) >= 4)
    assert QUEUE in scene.consumer.assignment()
