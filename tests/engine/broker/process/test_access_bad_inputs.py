"""What faults.md tries against access control, as raw frames to a real broker: nothing changes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import orjson
import pytest

from engine.protocol.batches import BatchItem, encode_batch
from engine.protocol.bodies.pop import BatchAckMessageRequestBody
from engine.protocol.codes import RequestCode as Q
from engine.protocol.commands import BINARY_HEADER, ONEWAY_FLAG, Command, encode_command
from engine.protocol.frames import FrameParser
from engine.protocol.signing import sign
from tests.engine.broker.conftest import StartBroker
from tests.engine.broker.peers import RunningBroker, send_header
from tests.engine.broker.process.test_access_control import ADMIN, ALICE, BOB, SignedPeer, acl2


@pytest.fixture
async def broker(start_broker: StartBroker, tmp_path: Path) -> RunningBroker:
    broker = await start_broker(**acl2(tmp_path))
    admin = SignedPeer(broker.address, ADMIN)
    for who, team in ((ALICE, "a"), (BOB, "b")):
        await admin.create_user(who)
        await admin.allow(who.access_key, (f"Topic:{team}-*", "Pub,Sub,Get"), (f"Group:{team}-*", "Sub,Get"))
    for topic in ("a-topic", "b-topic"):
        assert (await admin.send(topic, b"first")).code == 0
    await admin.close()
    return broker


class Raw:
    """Frames as an attacker writes them."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def ask(self, frame: bytes, timeout_s: float = 5.0) -> Command | None:
        self._writer.write(frame)
        parser = FrameParser()
        try:
            async with asyncio.timeout(timeout_s):
                while data := await self._reader.read(65_536):
                    if answers := parser.receive_data(data):
                        return answers[0]
        except TimeoutError:
            pass
        return None

    def close(self) -> None:
        self._writer.close()


@pytest.fixture
async def raw(broker: RunningBroker) -> AsyncIterator[Raw]:
    made = Raw(*await asyncio.open_connection(*broker.inner.address))
    yield made
    made.close()


@pytest.fixture
async def admin(broker: RunningBroker) -> AsyncIterator[SignedPeer]:
    peer = SignedPeer(broker.address, ADMIN)
    yield peer
    await peer.close()


def a_send(topic: str = "a-topic", *, code: int = Q.SEND_MESSAGE_V2, **more: int) -> Command:
    header = send_header(topic, 0, {"UNIQ_KEY": "K"})
    fields = header.encode() if code == Q.SEND_MESSAGE else header.to_v2().encode()
    command = Command(code, opaque=7, fields=fields, body=b"hello", **more)  # type: ignore[arg-type]
    sign(command, ALICE)
    return command


async def count(admin: SignedPeer, topic: str = "a-topic") -> int:
    answer = await admin.ask(Q.GET_MAX_OFFSET, {"topic": topic, "queueId": "0"})
    return int(answer.fields["offset"])


def without(command: Command, name: str) -> Command:
    del command.fields[name]
    return command


def changed(command: Command, **fields: str) -> Command:
    command.fields.update(fields)
    return command


def with_body(command: Command, body: bytes) -> Command:
    command.body = body
    return command


FORGED = {
    "a field added": lambda: changed(a_send(), x="added"),
    "a field changed": lambda: changed(a_send(), b="b-topic"),
    "a field taken away": lambda: without(a_send(), "i"),
    "no signature": lambda: without(a_send(), "Signature"),
    "an empty signature": lambda: changed(a_send(), Signature=""),
    "no name": lambda: without(a_send(), "AccessKey"),
    "an empty name": lambda: changed(a_send(), AccessKey=""),
    "another's name": lambda: changed(a_send(), AccessKey="admin"),
    "a name with a line break": lambda: changed(a_send(), AccessKey="admin\nx"),
    "a name in other letters": lambda: changed(a_send(), AccessKey="ALICE"),
    "another body": lambda: with_body(a_send(), b"other"),
    "no body": lambda: with_body(a_send(), b""),
}


@pytest.mark.parametrize("name", FORGED)
@pytest.mark.parametrize("serialize_type", [0, BINARY_HEADER])
async def test_a_forged_request_is_refused(
    raw: Raw, admin: SignedPeer, name: str, serialize_type: int
) -> None:
    command = FORGED[name]()
    command.serialize_type = serialize_type
    answer = await raw.ask(encode_command(command))
    assert answer is not None and answer.code == 16
    assert await count(admin) == 1 and await count(admin, "b-topic") == 1


@pytest.mark.parametrize("wins", ["b-topic", "a-topic"])
async def test_a_field_given_twice_does_not_slip_through(raw: Raw, admin: SignedPeer, wins: str) -> None:
    """JSON keeps the last of two; whichever it is, it is the one that is checked and the one that is used."""
    command = a_send()
    fields = orjson.dumps(command.fields).decode()
    loses = "b-topic" if wins == "a-topic" else "a-topic"
    single = '"b":"a-topic"'
    assert single in fields
    doubled = fields.replace(single, f'"b":"{loses}"')[:-1] + f',"b":"{wins}"}}'
    header = (
        f'{{"code":310,"extFields":{doubled},"flag":0,"language":"JAVA","opaque":7,"version":479}}'.encode()
    )
    frame = (4 + len(header) + 5).to_bytes(4) + len(header).to_bytes(4) + header + b"hello"
    answer = await raw.ask(frame)
    assert answer is not None and answer.code == (0 if wins == "a-topic" else 16)
    assert await count(admin, "b-topic") == 1


async def test_a_one_way_request_is_checked_and_not_answered(raw: Raw, admin: SignedPeer) -> None:
    for command in (a_send("b-topic", flag=ONEWAY_FLAG), without(a_send(flag=ONEWAY_FLAG), "Signature")):
        assert await raw.ask(encode_command(command), 0.3) is None
    assert await count(admin) == 1 and await count(admin, "b-topic") == 1
    assert await raw.ask(encode_command(a_send(flag=ONEWAY_FLAG)), 0.3) is None
    assert await count(admin) == 2


@pytest.mark.parametrize("code", [Q.SEND_MESSAGE, Q.SEND_MESSAGE_V2])
@pytest.mark.parametrize("serialize_type", [0, BINARY_HEADER])
async def test_every_form_of_a_send_is_judged_by_the_topic_that_it_stores_to(
    raw: Raw, admin: SignedPeer, code: int, serialize_type: int
) -> None:
    """Long names and letters in one request: only those count that the handler of the code reads."""
    mixed = a_send("b-topic", code=code, serialize_type=serialize_type)
    mixed.fields["b" if code == Q.SEND_MESSAGE else "topic"] = "a-topic"
    sign(mixed, ALICE)
    answer = await raw.ask(encode_command(mixed))
    assert answer is not None and answer.code == 16
    good = await raw.ask(encode_command(a_send(code=code, serialize_type=serialize_type)))
    assert good is not None and good.code == 0
    assert await count(admin, "b-topic") == 1


async def test_a_signature_for_one_code_is_not_good_for_another_topic(raw: Raw, admin: SignedPeer) -> None:
    """The code is not signed (RocketMQ's wire), so another code may be tried: its own rule still applies."""
    command = a_send()
    command.code = Q.DELETE_TOPIC_IN_BROKER
    answer = await raw.ask(encode_command(command))
    assert answer is not None and answer.code == 16
    assert await count(admin) == 1


async def test_a_batch_cannot_hide_another_topic(raw: Raw, admin: SignedPeer) -> None:
    hidden = b"REAL_TOPIC\x01b-topic\x02TOPIC\x01b-topic\x02UNIQ_KEY\x01K2\x02"
    items = [BatchItem(0, b"one", b"UNIQ_KEY\x01K1\x02"), BatchItem(0, b"two", hidden)]
    header = send_header("a-topic", 0, {"REAL_TOPIC": "b-topic"}, batch=True)
    command = Command(Q.SEND_BATCH_MESSAGE, 7, fields=header.to_v2().encode(), body=encode_batch(items))
    sign(command, ALICE)
    answer = await raw.ask(encode_command(command))
    assert answer is not None and answer.code == 0
    assert await count(admin) == 3 and await count(admin, "b-topic") == 1


async def test_properties_redirect_nothing(raw: Raw, admin: SignedPeer) -> None:
    """Delayed and half messages with the real topic of another team: it is the header's that counts."""
    for properties, flags in (
        ({"DELAY": "1", "REAL_TOPIC": "b-topic", "UNIQ_KEY": "D"}, 0),
        ({"TRAN_MSG": "true", "PGROUP": "p", "REAL_TOPIC": "b-topic", "UNIQ_KEY": "T"}, 4),
        ({"POP_CK": "0 1 1 0 0 b 0", "RETRY_TOPIC": "b-topic", "UNIQ_KEY": "P"}, 0),
    ):
        header = send_header("a-topic", 0, properties, sys_flag=flags)
        command = Command(Q.SEND_MESSAGE_V2, 7, fields=header.to_v2().encode(), body=b"x")
        sign(command, ALICE)
        answer = await raw.ask(encode_command(command))
        assert answer is not None and answer.code in (0, 13)
    await asyncio.sleep(1.2)
    assert await count(admin, "b-topic") == 1


async def test_anothers_handle_offsets_and_acknowledgements(broker: RunningBroker, admin: SignedPeer) -> None:
    alice, bob = SignedPeer(broker.address, ALICE), SignedPeer(broker.address, BOB)
    pop = {
        "consumerGroup": "b-group",
        "topic": "b-topic",
        "queueId": "-1",
        "maxMsgNums": "1",
        "invisibleTime": "60000",
        "pollTime": "0",
        "bornTime": "1",
        "initMode": "0",
    }
    popped = await bob.ask(Q.POP_MESSAGE, dict(pop))
    assert popped.code == 0
    extra = f"0 {popped.fields['popTime']} 60000 {popped.fields['reviveQid']} 0 broker-a 0 0"
    ack = {"topic": "b-topic", "queueId": "0", "extraInfo": extra, "offset": "0"}
    for group in ("b-group", "a-group"):
        assert (await alice.ask(Q.ACK_MESSAGE, ack | {"consumerGroup": group})).code == 16
        change = ack | {"consumerGroup": group, "invisibleTime": "1000"}
        assert (await alice.ask(Q.CHANGE_MESSAGE_INVISIBLETIME, change)).code == 16
        offset = {"topic": "b-topic", "queueId": "0", "commitOffset": "1", "consumerGroup": group}
        assert (await alice.ask(Q.UPDATE_CONSUMER_OFFSET, offset)).code == 16
    theirs = orjson.dumps(
        {
            "brokerName": "broker-a",
            "acks": [{"c": "a-group", "t": "a-topic"}, {"c": "b-group", "t": "b-topic"}],
        }
    )
    assert BatchAckMessageRequestBody.decode(theirs).acks
    assert (await alice.ask(Q.BATCH_ACK_MESSAGE, {}, theirs)).code == 16
    assert (await alice.send("rmq_sys_REVIVE_LOG_TestCluster", b"forged")).code == 16
    assert (await bob.ask(Q.ACK_MESSAGE, ack | {"consumerGroup": "b-group"})).code == 0
    for peer in (alice, bob):
        await peer.close()


@pytest.mark.parametrize("topic", ["SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC", "rmq_sys_wheel_timer"])
async def test_system_topics_are_not_for_plain_users(
    broker: RunningBroker, admin: SignedPeer, topic: str
) -> None:
    await admin.allow("alice", ("Topic:*", "All"), ("Group:*", "All"))
    alice = SignedPeer(broker.address, ALICE)
    assert (await alice.send("anything")).code == 0
    assert (await alice.send(topic)).code == 16
    assert (await alice.pull(topic, 0, consumer_group="g")).code == 16
    await alice.close()


async def test_a_recorded_request_can_be_sent_again(raw: Raw, admin: SignedPeer) -> None:
    """RocketMQ's signature has neither time nor nonce. Written down as it is: TLS is what helps."""
    frame = encode_command(a_send())
    for _ in range(10):
        answer = await raw.ask(frame)
        assert answer is not None and answer.code == 0
    assert await count(admin) == 11
