"""Request and reply over the wire: the broker hands a reply to the client that waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from engine.broker.clients.client_tables import ClientInfo, ProducerTable
from engine.net.connection import Connection
from engine.net.outcomes import Reply
from engine.net.requester import Requester
from engine.protocol.bodies.clients import HeartbeatData, ProducerData
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Command, encode_reply
from engine.protocol.headers.send import ReplyMessageRequest
from engine.protocol.properties import decode_properties
from tests.engine.broker.conftest import StartBroker
from tests.engine.broker.peers import Peer, RunningBroker, records, send_header

REPLY_TOPIC = "TestCluster_REPLY_TOPIC"
MARKS = {"MSG_TYPE": "reply", "CORRELATION_ID": "c-1", "REPLY_TO_CLIENT": "asker", "TTL": "3000"}


class Asker:
    """A producer that waits for a reply and answers the push with `code`."""

    def __init__(self, address: str, code: int = 0) -> None:
        self._address = address
        self._code = code
        self._requester = Requester(self._hear)
        self.pushed: asyncio.Queue[Command] = asyncio.Queue()

    def _hear(self, request: Command, connection: Connection) -> None:
        self.pushed.put_nowait(request)
        connection.send(encode_reply(request, Reply(self._code)))

    async def join(self) -> None:
        beat = HeartbeatData("asker", (ProducerData("askers"),))
        request = Command(RequestCode.HEART_BEAT, body=beat.encode())
        await self._requester.request(self._address, request, 5_000)

    async def close(self) -> None:
        await self._requester.close()


@pytest.fixture
async def asker(broker: RunningBroker) -> AsyncIterator[Asker]:
    asker = Asker(broker.address)
    await asker.join()
    yield asker
    await asker.close()


async def reply(
    peer: Peer, code: int = RequestCode.SEND_REPLY_MESSAGE_V2, marks: dict[str, str] = MARKS
) -> Command:
    header = send_header(REPLY_TOPIC, 0, marks)
    fields = header.encode() if code == RequestCode.SEND_REPLY_MESSAGE else header.to_v2().encode()
    return await peer.ask(code, fields, b"42")


@pytest.mark.parametrize("code", [RequestCode.SEND_REPLY_MESSAGE, RequestCode.SEND_REPLY_MESSAGE_V2])
async def test_a_reply_reaches_who_waits_and_is_kept(peer: Peer, asker: Asker, code: int) -> None:
    answer = await reply(peer, code)
    assert answer.code == ResponseCode.SUCCESS
    push = asker.pushed.get_nowait()
    told = ReplyMessageRequest.decode(push.fields)
    properties = decode_properties(told.properties or "")
    assert (push.code, bytes(push.body), told.topic) == (326, b"42", REPLY_TOPIC)
    assert properties["CORRELATION_ID"] == "c-1"
    assert properties["PUSH_REPLY_TIME"].isdigit()
    (kept,) = records(await peer.pull(REPLY_TOPIC, 0))
    assert kept.body == b"42"
    assert kept.offset_msg_id == answer.fields["msgId"]


async def test_a_reply_to_nobody_is_an_error_and_is_kept(peer: Peer) -> None:
    answer = await reply(peer)
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert answer.remark == "push reply message fail, channel of <asker> not found."
    assert len(records(await peer.pull(REPLY_TOPIC, 0))) == 1


@pytest.mark.parametrize("code", [RequestCode.SEND_REPLY_MESSAGE, RequestCode.SEND_REPLY_MESSAGE_V2])
async def test_a_reply_that_names_no_client_is_an_error_and_is_kept(
    peer: Peer, asker: Asker, code: int
) -> None:
    answer = await reply(peer, code, {key: value for key, value in MARKS.items() if key != "REPLY_TO_CLIENT"})
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert answer.remark == "reply message properties[REPLY_TO_CLIENT] is null"
    assert asker.pushed.empty()
    assert len(records(await peer.pull(REPLY_TOPIC, 0))) == 1


async def test_a_reply_that_its_client_refuses_is_an_error(broker: RunningBroker, peer: Peer) -> None:
    asker = Asker(broker.address, code=1)
    await asker.join()
    answer = await reply(peer)
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert answer.remark == "push reply message to asker fail."
    await asker.close()


async def test_replies_need_not_be_kept(start_broker: StartBroker) -> None:
    broker = await start_broker(storeReplyMessageEnable="false")
    peer, asker = Peer(broker.address), Asker(broker.address)
    await asker.join()
    answer = await reply(peer)
    assert answer.code == ResponseCode.SUCCESS
    assert (answer.fields["msgId"], answer.fields["queueOffset"]) == ("0", "0")
    assert (await peer.pull(REPLY_TOPIC, 0)).code == ResponseCode.PULL_NOT_FOUND
    await asker.close()
    await peer.close()


async def test_a_reply_to_an_unknown_topic_is_refused(peer: Peer, asker: Asker) -> None:
    header = send_header("nowhere", 0, MARKS).to_v2()
    answer = await peer.ask(RequestCode.SEND_REPLY_MESSAGE_V2, header.encode(), b"42")
    assert answer.code == ResponseCode.TOPIC_NOT_EXIST
    assert asker.pushed.empty()


def test_a_client_is_found_by_its_id_until_it_leaves() -> None:
    table: ProducerTable[str] = ProducerTable()
    info = ClientInfo("asker", 0, 479, 0)
    table.register("askers", "old", info)
    table.register("askers", "new", info)
    table.drop_channel("old")
    assert table.channel_of("asker") == "new"
    table.unregister("askers", "new")
    assert table.channel_of("asker") is None
