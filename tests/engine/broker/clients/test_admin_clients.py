"""Clients as an administrator sees and asks them: real sockets on both sides of the broker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from engine.broker.clients import handlers_admin as admin_clients
from engine.net.connection import Connection
from engine.net.outcomes import Reply
from engine.net.requester import Requester
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.bodies.clients import (
    ConsumeMessageDirectlyResult,
    ConsumerConnection,
    ConsumerData,
    ConsumeResult,
    ConsumerRunningInfo,
    ConsumeType,
    HeartbeatData,
    ProducerConnection,
    ProducerTableInfo,
    SubscriptionData,
)
from engine.protocol.bodies.offsets import GetConsumerStatusBody
from engine.protocol.bodies.topics import TopicConfig
from engine.protocol.codes import LanguageCode, RequestCode, ResponseCode
from engine.protocol.commands import Command, encode_reply
from engine.protocol.records import decode_record
from tests.engine.broker.peers import Peer, RunningBroker, eventually

Answer = Callable[[Command], Reply | None]


class Consumer:
    """A client of a group that answers what the broker relays; None leaves a request without answer."""

    def __init__(self, address: str, client_id: str, answer: Answer, version: int = 479) -> None:
        self._address = address
        self._client_id = client_id
        self._answer = answer
        self._version = version
        self.asked: list[Command] = []
        self._requester = Requester(self._hear)

    def _hear(self, request: Command, connection: Connection) -> None:
        if request.is_oneway:
            return
        self.asked.append(request)
        reply = self._answer(request)
        if reply is not None:
            connection.send(encode_reply(request, reply))

    async def join(self, group: str, topic: str) -> None:
        data = HeartbeatData(
            self._client_id,
            (),
            (ConsumerData(group, subscription_data_set=(SubscriptionData(topic, sub_version=1),)),),
        )
        request = Command(RequestCode.HEART_BEAT, body=data.encode(), version=self._version)
        answer = await self._requester.request(self._address, request, 3_000)
        assert answer.code == 0

    async def close(self) -> None:
        await self._requester.close()


Join = Callable[..., Awaitable[Consumer]]


@pytest.fixture
async def join(broker: RunningBroker) -> AsyncIterator[Join]:
    joined: list[Consumer] = []

    async def join(client_id: str, answer: Answer, version: int = 479) -> Consumer:
        consumer = Consumer(broker.address, client_id, answer, version)
        joined.append(consumer)
        await consumer.join("billing", "orders")
        return consumer

    yield join
    for consumer in joined:
        await consumer.close()


def silent(request: Command) -> None:
    return None


async def test_consumers_of_a_group_are_listed(broker: RunningBroker, peer: Peer) -> None:
    await peer.heartbeat("billing", "orders")
    answer = await peer.ask(RequestCode.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": "billing"})
    body = ConsumerConnection.decode(answer.body)
    (connection,) = body.connection_set
    assert (connection.client_id, connection.language, connection.version) == (
        "client-1",
        LanguageCode.PYTHON,
        479,
    )
    assert connection.client_addr.startswith("127.0.0.1:")
    assert body.subscription_table["orders"].sub_string == "*"
    assert body.consume_type is ConsumeType.CONSUME_PASSIVELY


async def test_a_group_that_is_offline_is_told_as_such(broker: RunningBroker, peer: Peer) -> None:
    answer = await peer.ask(RequestCode.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": "billing"})
    assert answer.code == ResponseCode.CONSUMER_NOT_ONLINE


async def test_producers_are_listed_by_group_and_all_together(broker: RunningBroker, peer: Peer) -> None:
    code = RequestCode.GET_PRODUCER_CONNECTION_LIST
    assert (await peer.ask(code, {"producerGroup": "producers"})).code == ResponseCode.SYSTEM_ERROR
    await peer.heartbeat("billing", "orders")
    answer = await peer.ask(code, {"producerGroup": "producers"})
    assert [one.client_id for one in ProducerConnection.decode(answer.body).connection_set] == ["client-1"]
    everything = await peer.ask(RequestCode.GET_ALL_PRODUCER_INFO)
    (producer,) = ProducerTableInfo.decode(everything.body).data["producers"]
    assert (producer.client_id, producer.remote_ip) == ("client-1", "127.0.0.1")
    assert producer.last_update_timestamp > 1_600_000_000_000


async def test_running_info_is_asked_of_the_client_itself(
    broker: RunningBroker, peer: Peer, join: Join
) -> None:
    info = ConsumerRunningInfo(properties={"PROP_CONSUME_TYPE": "CONSUME_PASSIVELY"})
    consumer = await join("c-1", lambda request: Reply(body=info.encode()))
    secrets = {"AccessKey": "admin", "Signature": "canary", "SecurityToken": "canary"}
    fields = {"consumerGroup": "billing", "clientId": "c-1", "jstackEnable": "true"}
    answer = await peer.ask(RequestCode.GET_CONSUMER_RUNNING_INFO, {**fields, **secrets})
    assert ConsumerRunningInfo.decode(answer.body) == info
    (asked,) = consumer.asked
    assert asked.fields == fields, "an administrator's credentials are not passed on"


@pytest.mark.parametrize(
    "fields", [{"clientId": "nobody"}, {"consumerGroup": "nothing"}, {"clientId": "old"}]
)
async def test_who_cannot_be_asked_is_an_error(
    broker: RunningBroker, peer: Peer, join: Join, fields: dict[str, str]
) -> None:
    await join("c-1", silent)
    await join("old", silent, version=20)
    asked = {"consumerGroup": "billing", "clientId": "c-1", **fields}
    answer = await peer.ask(RequestCode.GET_CONSUMER_RUNNING_INFO, asked)
    assert answer.code == ResponseCode.SYSTEM_ERROR


async def test_a_client_that_does_not_answer_is_a_timeout(
    broker: RunningBroker, peer: Peer, join: Join, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admin_clients, "_RELAY_MS", 30)
    await join("c-1", silent)
    fields = {"consumerGroup": "billing", "clientId": "c-1"}
    answer = await peer.ask(RequestCode.GET_CONSUMER_RUNNING_INFO, fields)
    assert answer.code == ResponseCode.CONSUME_MSG_TIMEOUT


async def test_a_client_that_leaves_instead_of_answering_is_a_timeout_too(
    broker: RunningBroker, peer: Peer, join: Join
) -> None:
    consumer = await join("c-1", silent)
    fields = {"consumerGroup": "billing", "clientId": "c-1"}

    async def leave() -> None:
        await eventually(lambda: consumer.asked)
        await consumer.close()

    answer, _ = await asyncio.gather(peer.ask(RequestCode.GET_CONSUMER_RUNNING_INFO, fields), leave())
    assert answer.code == ResponseCode.CONSUME_MSG_TIMEOUT


async def test_a_stored_message_is_consumed_directly(broker: RunningBroker, peer: Peer, join: Join) -> None:
    result = ConsumeMessageDirectlyResult(consume_result=ConsumeResult.CR_SUCCESS, spent_time_mills=3)
    consumer = await join("c-1", lambda request: Reply(body=result.encode()))
    broker.inner.core.tables.topics.put(TopicConfig("orders", 1, 1, topic_sys_flag=1), 1)
    sent = await peer.send("orders", b"directly")
    fields = {"consumerGroup": "billing", "clientId": "c-1", "msgId": sent.fields["msgId"]}
    answer = await peer.ask(RequestCode.CONSUME_MESSAGE_DIRECTLY, fields)
    assert ConsumeMessageDirectlyResult.decode(answer.body) == result
    (asked,) = consumer.asked
    assert decode_record(bytes(asked.body)).body == b"directly"
    assert (asked.fields["brokerName"], asked.fields["topicSysFlag"]) == ("broker-a", "1")
    assert asked.fields["groupSysFlag"] == "0"


@pytest.mark.parametrize(
    "message_id",
    ["", "zz", "7F00000100002A9F" + "F" * 16, "7F00000100002A9F" + "0" * 13 + "FFF", "7F" * 40],
)
async def test_a_message_that_is_not_here_is_not_consumed(
    broker: RunningBroker, peer: Peer, join: Join, message_id: str
) -> None:
    consumer = await join("c-1", silent)
    fields = {"consumerGroup": "billing", "clientId": "c-1", "msgId": message_id}
    answer = await peer.ask(RequestCode.CONSUME_MESSAGE_DIRECTLY, fields)
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert consumer.asked == []


async def test_every_member_says_how_far_it_is(
    broker: RunningBroker, peer: Peer, join: Join, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admin_clients, "_STATUS_MS", 30)
    offsets = {MessageQueue("orders", "broker-a", 0): 7}

    def status(request: Command) -> Reply:
        return Reply(body=GetConsumerStatusBody(message_queue_table=offsets).encode())

    first = await join("c-1", status)
    await join("c-2", silent)
    await join("c-3", status)
    code = RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS
    answer = await peer.ask(code, {"topic": "orders", "group": "billing"})
    assert GetConsumerStatusBody.decode(answer.body).consumer_table == {"c-1": offsets, "c-3": offsets}
    assert first.asked[0].code == RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT
    assert first.asked[0].fields == {"topic": "orders", "group": "billing"}
    one = await peer.ask(code, {"topic": "orders", "group": "billing", "clientAddr": "c-3"})
    assert list(GetConsumerStatusBody.decode(one.body).consumer_table) == ["c-3"]
    nobody = await peer.ask(code, {"topic": "orders", "group": "nothing"})
    assert nobody.code == ResponseCode.SYSTEM_ERROR


async def test_an_answer_that_is_junk_is_an_error_of_that_request_only(
    broker: RunningBroker, peer: Peer, join: Join
) -> None:
    await join("c-1", lambda request: Reply(body=b"\x00junk{"))
    code = RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS
    answer = await peer.ask(code, {"topic": "orders", "group": "billing"})
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert (await peer.send("orders")).code == 0
