"""Queues that the broker shares out, with and without a name server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from engine.namesrv.namesrv import Namesrv
from engine.namesrv.options import NamesrvOptions
from engine.protocol.bodies.clients import MessageModel
from engine.protocol.bodies.groups import (
    MessageRequestMode,
    MessageRequestModeSerializeWrapper,
    QueryAssignmentRequestBody,
    QueryAssignmentResponseBody,
    SetMessageRequestModeRequestBody,
    SubscriptionGroupConfig,
)
from engine.protocol.bodies.topics import TopicConfig
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Command
from tests.engine.broker.conftest import StartBroker
from tests.engine.broker.peers import Peer, RunningBroker


@pytest.fixture
async def name_server(tmp_path: Path) -> AsyncIterator[str]:
    server = Namesrv(
        NamesrvOptions(listen_port=0, kv_config_path=str(tmp_path / "kv.json"), metrics_prom_exporter_port=-1)
    )
    await server.start()
    yield f"{server.address[0]}:{server.address[1]}"
    await server.stop()


async def assigned(
    peer: Peer, client_id: str, strategy: str = "AVG", **changes: object
) -> list[tuple[str, int]]:
    body = QueryAssignmentRequestBody("orders", "billing", client_id, strategy, **changes)  # type: ignore[arg-type]
    answer = await peer.ask(RequestCode.QUERY_ASSIGNMENT, body=body.encode())
    assert answer.code == 0, answer.remark
    assignments = QueryAssignmentResponseBody.decode(answer.body).message_queue_assignments
    assert all(one.mode is MessageRequestMode.PULL for one in assignments)
    queues = [one.message_queue for one in assignments]
    return [(queue.broker_name, queue.queue_id) for queue in queues if queue is not None]


async def shared(peer: Peer, client_id: str) -> list[int]:
    body = QueryAssignmentRequestBody("orders", "billing", client_id, "AVG")
    answer = await peer.ask(RequestCode.QUERY_ASSIGNMENT, body=body.encode())
    assignments = QueryAssignmentResponseBody.decode(answer.body).message_queue_assignments
    assert all(one.mode is MessageRequestMode.POP for one in assignments)
    return [one.message_queue.queue_id for one in assignments if one.message_queue is not None]


async def two_members(broker: RunningBroker, topic: str) -> tuple[Peer, Peer]:
    first, second = Peer(broker.address, "c-1"), Peer(broker.address, "c-2")
    for member in (first, second):
        await member.heartbeat("billing", topic)
    return first, second


async def test_members_share_this_brokers_queues(broker: RunningBroker) -> None:
    broker.inner.core.tables.topics.put(TopicConfig("orders", 5, 5), 1)
    first, second = await two_members(broker, "orders")
    assert await assigned(first, "c-1") == [("broker-a", 0), ("broker-a", 1), ("broker-a", 2)]
    assert await assigned(second, "c-2") == [("broker-a", 3), ("broker-a", 4)]
    assert await assigned(second, "c-2", "AVG_BY_CIRCLE") == [("broker-a", 1), ("broker-a", 3)]
    assert await assigned(first, "stranger") == []
    everything = await assigned(first, "c-1", message_model=MessageModel.BROADCASTING)
    assert len(everything) == 5
    await first.close()
    await second.close()


async def test_queues_of_other_brokers_come_from_the_name_server(
    name_server: str, start_broker: StartBroker, tmp_path: Path
) -> None:
    broker = await start_broker(namesrvAddr=name_server)
    other = await RunningBroker.start(
        tmp_path / "other", {"namesrvAddr": name_server, "brokerName": "broker-b"}
    )
    peer = Peer(broker.address, "c-1")
    for one in (broker, other):
        create = {"topic": "orders", "readQueueNums": "2", "writeQueueNums": "2", "perm": "6"}
        admin = Peer(one.address)
        assert (await admin.ask(RequestCode.UPDATE_AND_CREATE_TOPIC, create)).code == 0
        await admin.close()
    await peer.heartbeat("billing", "orders")
    assert await assigned(peer, "c-1") == [("broker-a", 0), ("broker-a", 1), ("broker-b", 0), ("broker-b", 1)]
    await peer.close()
    await other.stop()


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (QueryAssignmentRequestBody("nothing", "billing", "c"), ResponseCode.TOPIC_NOT_EXIST),
        (QueryAssignmentRequestBody("../x", "billing", "c"), ResponseCode.INVALID_PARAMETER),
        (QueryAssignmentRequestBody("orders", "../g", "c"), ResponseCode.INVALID_PARAMETER),
        (QueryAssignmentRequestBody("orders", "g", "c", "CONSISTENT_HASH"), ResponseCode.SYSTEM_ERROR),
    ],
)
async def test_a_bad_question_is_refused(
    broker: RunningBroker, peer: Peer, body: QueryAssignmentRequestBody, code: ResponseCode
) -> None:
    assert (await peer.ask(RequestCode.QUERY_ASSIGNMENT, body=body.encode())).code == code


async def set_mode(
    peer: Peer, topic: str, group: str, mode: MessageRequestMode = MessageRequestMode.PULL
) -> Command:
    body = SetMessageRequestModeRequestBody(topic, group, mode)
    return await peer.ask(RequestCode.SET_MESSAGE_REQUEST_MODE, body=body.encode())


async def test_popping_members_share_all_queues_or_those_of_neighbours(broker: RunningBroker) -> None:
    broker.inner.core.tables.topics.put(TopicConfig("orders", 6, 6), 1)
    members = [Peer(broker.address, f"c-{number}") for number in range(4)]
    for member in members:
        await member.heartbeat("billing", "orders")
    assert (await set_mode(members[0], "orders", "billing", MessageRequestMode.POP)).code == 0
    assert [await shared(member, member.client_id) for member in members] == [[-1]] * 4
    assert await shared(members[0], "stranger") == []
    body = SetMessageRequestModeRequestBody("orders", "billing", MessageRequestMode.POP, 1)
    assert (await members[0].ask(RequestCode.SET_MESSAGE_REQUEST_MODE, body=body.encode())).code == 0
    own_and_next = [await shared(member, member.client_id) for member in members]
    assert own_and_next == [[0, 1, 2, 3], [2, 3, 4], [4, 5], [0, 1, 5]]
    for member in members:
        await member.close()


async def test_a_mode_is_kept_over_a_restart(start_broker: StartBroker) -> None:
    broker = await start_broker()
    broker.inner.core.tables.topics.put(TopicConfig("orders", 1, 1), 1)
    broker.inner.core.tables.groups.put(SubscriptionGroupConfig("billing"), 1)
    peer = Peer(broker.address)
    assert (await set_mode(peer, "orders", "billing")).code == 0
    await peer.close()
    await broker.stop()
    peer = Peer((await start_broker()).address)
    answer = await peer.ask(RequestCode.GET_ALL_MESSAGE_REQUEST_MODE)
    await peer.close()
    modes = MessageRequestModeSerializeWrapper.decode(answer.body).message_request_mode_map
    assert modes["orders"]["billing"].mode is MessageRequestMode.PULL


async def test_bad_modes_are_refused(broker: RunningBroker, peer: Peer) -> None:
    broker.inner.core.tables.topics.put(TopicConfig("orders", 1, 1), 1)
    broker.inner.core.tables.groups.put(SubscriptionGroupConfig("billing"), 1)
    refusals = [
        await set_mode(peer, "%RETRY%billing", "billing"),
        await set_mode(peer, "nothing", "billing"),
        await set_mode(peer, "orders", "nobody"),
    ]
    assert [refusal.code for refusal in refusals] == [
        ResponseCode.NO_PERMISSION,
        ResponseCode.TOPIC_NOT_EXIST,
        ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST,
    ]
    assert broker.inner.core.tables.modes.snapshot().message_request_mode_map == {}
