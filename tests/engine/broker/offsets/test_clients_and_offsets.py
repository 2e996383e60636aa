"""Heartbeats, members that are told of changes, locks, offsets, queries: over a real socket."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from engine.net.connection import Connection
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.bodies.clients import HeartbeatData, ProducerData
from engine.protocol.bodies.groups import (
    GetConsumerListByGroupResponseBody,
    LockBatchRequestBody,
    LockBatchResponseBody,
)
from engine.protocol.codes import RequestCode, ResponseCode
from engine.store.reading import record_reads
from tests.engine.broker.peers import COMMITTING, WAITING, Peer, RunningBroker, eventually, records


async def members(peer: Peer, group: str = "consumers") -> set[str]:
    answer = await peer.ask(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": group})
    if answer.code != 0:
        return set()
    return set(GetConsumerListByGroupResponseBody.decode(answer.body).consumer_id_list)


async def told(peer: Peer) -> str:
    notice = await asyncio.wait_for(peer.notices.get(), 2)
    assert notice.code == RequestCode.NOTIFY_CONSUMER_IDS_CHANGED
    assert notice.is_oneway
    return notice.fields["consumerGroup"]


async def test_members_are_told_of_who_comes_and_goes(broker: RunningBroker, peer: Peer) -> None:
    answer = await peer.heartbeat("consumers", "orders")
    assert answer.fields == {"IS_SUPPORT_HEART_BEAT_V2": "true", "IS_SUB_CHANGE": "true"}
    assert await told(peer) == "consumers"
    assert (await peer.heartbeat("consumers", "orders")).fields["IS_SUB_CHANGE"] == "false"
    assert await members(peer) == {"client-1"}

    second = Peer(broker.address, "client-2")
    await second.heartbeat("consumers", "orders")
    assert await told(peer) == "consumers"
    assert await told(second) == "consumers"
    assert await members(peer) == {"client-1", "client-2"}

    await second.close()
    assert await told(peer) == "consumers"
    assert await members(peer) == {"client-1"}
    assert peer.notices.empty()


async def test_a_client_unregisters(broker: RunningBroker, peer: Peer) -> None:
    await peer.heartbeat("consumers", "orders")
    fields = {"clientID": "client-1", "producerGroup": "", "consumerGroup": "consumers"}
    assert (await peer.ask(RequestCode.UNREGISTER_CLIENT, fields)).code == 0
    assert await members(peer) == set()
    answer = await peer.ask(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": "consumers"})
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert "no consumer for this group" in str(answer.remark)
    assert broker.inner.core.clients.producers.names() == ["producers"]


async def test_nobody_unregisters_another_client(broker: RunningBroker, peer: Peer) -> None:
    await peer.heartbeat("consumers", "orders")
    stranger = Peer(broker.address, "stranger")
    fields = {"clientID": "client-1", "producerGroup": "producers", "consumerGroup": "consumers"}
    await stranger.ask(RequestCode.UNREGISTER_CLIENT, fields)
    assert await members(peer) == {"client-1"}
    assert broker.inner.core.clients.producers.names() == ["producers"]
    await stranger.close()


async def test_a_topic_that_cannot_exist_costs_a_client_nothing_else(
    broker: RunningBroker, peer: Peer
) -> None:
    assert (await peer.heartbeat("consumers", "orders", "my.topic", "../x")).code == 0
    assert await members(peer) == {"client-1"}
    group = broker.inner.core.clients.consumers.group("consumers")
    assert group is not None
    assert set(group.subscriptions) == {"orders"}


async def test_producer_groups_may_have_names_that_consumer_groups_may_not(
    broker: RunningBroker, peer: Peer
) -> None:
    long_name = "_INNER_TRACE_PRODUCER-" + "g" * 220
    for name in ("my.producers", long_name):
        data = HeartbeatData(peer.client_id, (ProducerData(name),))
        assert (await peer.ask(RequestCode.HEART_BEAT, body=data.encode())).code == 0
    assert set(broker.inner.core.clients.producers.names()) == {"my.producers", long_name}
    for name in ("", "g" * 256):
        data = HeartbeatData(peer.client_id, (ProducerData(name),))
        answer = await peer.ask(RequestCode.HEART_BEAT, body=data.encode())
        assert answer.code == ResponseCode.INVALID_PARAMETER


async def test_a_long_group_consumes_as_it_does_on_apache(broker: RunningBroker, peer: Peer) -> None:
    group = "g" * 200
    await peer.send("orders")
    assert (await peer.heartbeat(group, "orders")).code == 0
    assert await members(peer, group) == {"client-1"}
    assert (await peer.pull("orders", 0, consumer_group=group)).code == 0
    assert f"%RETRY%{group}" in broker.inner.core.tables.topics


async def test_a_short_heartbeat_of_an_unknown_member_asks_for_the_long_one(
    broker: RunningBroker, peer: Peer
) -> None:
    assert (await peer.heartbeat("consumers", without_sub=True)).fields["IS_SUB_CHANGE"] == "true"
    assert await members(peer) == set()
    await peer.heartbeat("consumers", "orders")
    assert (await peer.heartbeat("consumers", without_sub=True)).fields["IS_SUB_CHANGE"] == "false"
    group = broker.inner.core.clients.consumers.group("consumers")
    assert group is not None
    assert set(group.subscriptions) == {"orders"}


async def test_a_heartbeat_makes_group_and_retry_topic(broker: RunningBroker, peer: Peer) -> None:
    await peer.heartbeat("consumers", "orders")
    assert "consumers" in broker.inner.core.tables.groups
    retry = broker.inner.core.tables.topics.get("%RETRY%consumers")
    assert retry is not None
    assert (retry.write_queue_nums, retry.perm) == (1, 6)


async def test_a_silent_client_is_disconnected(broker: RunningBroker, peer: Peer) -> None:
    await peer.heartbeat("consumers", "orders")
    group = broker.inner.core.clients.consumers.group("consumers")
    assert group is not None
    (channel,) = group.clients
    assert isinstance(channel, Connection)
    last_ms = group.clients[channel].last_update_ms
    broker.inner.core.clients.membership.close_expired(last_ms + 120_001)
    await eventually(lambda: broker.inner.core.clients.consumers.group("consumers") is None)


async def test_check_client_config(broker: RunningBroker, peer: Peer) -> None:
    assert (await peer.ask(RequestCode.CHECK_CLIENT_CONFIG)).code == 0
    tag = b'{"clientId":"c","group":"g","subscriptionData":{"topic":"t","expressionType":"TAG"}}'
    assert (await peer.ask(RequestCode.CHECK_CLIENT_CONFIG, body=tag)).code == 0
    sql = tag.replace(b"TAG", b"SQL92")
    assert (await peer.ask(RequestCode.CHECK_CLIENT_CONFIG, body=sql)).code == ResponseCode.SYSTEM_ERROR


async def test_a_queue_is_locked_by_one_client(broker: RunningBroker, peer: Peer) -> None:
    queues = (MessageQueue("orders", "broker-a", 0), MessageQueue("orders", "broker-a", 1))

    async def lock(client_id: str, code: int = RequestCode.LOCK_BATCH_MQ) -> set[MessageQueue]:
        body = LockBatchRequestBody("consumers", client_id, queues).encode()
        answer = await peer.ask(code, body=body)
        assert answer.code == 0
        return set(LockBatchResponseBody.decode(answer.body).lock_ok_mq_set) if answer.body else set()

    assert await lock("a") == set(queues)
    assert await lock("b") == set()
    await lock("b", RequestCode.UNLOCK_BATCH_MQ)
    assert await lock("b") == set()
    await lock("a", RequestCode.UNLOCK_BATCH_MQ)
    assert await lock("b") == set(queues)


OFFSET_OF = {"consumerGroup": "consumers", "topic": "orders", "queueId": "0"}


async def test_offsets_are_committed_and_asked_for(broker: RunningBroker, peer: Peer) -> None:
    await peer.send("orders")
    assert (await peer.ask(RequestCode.UPDATE_CONSUMER_OFFSET, {**OFFSET_OF, "commitOffset": "7"})).code == 0
    answer = await peer.ask(RequestCode.QUERY_CONSUMER_OFFSET, OFFSET_OF)
    assert (answer.code, answer.fields["offset"]) == (0, "7")
    await peer.pull("orders", 0, sys_flag=COMMITTING, commit_offset=9)
    assert (await peer.ask(RequestCode.QUERY_CONSUMER_OFFSET, OFFSET_OF)).fields["offset"] == "9"


async def test_a_new_group_starts_at_0_on_a_young_topic(broker: RunningBroker, peer: Peer) -> None:
    await peer.send("orders")
    await eventually(lambda: broker.inner.core.store.queues.max_offset("orders", 0) == 1)
    assert (await peer.ask(RequestCode.QUERY_CONSUMER_OFFSET, OFFSET_OF)).fields["offset"] == "0"
    not_zero = {**OFFSET_OF, "setZeroIfNotFound": "false"}
    assert (await peer.ask(RequestCode.QUERY_CONSUMER_OFFSET, not_zero)).code == ResponseCode.QUERY_NOT_FOUND
    empty = {**OFFSET_OF, "queueId": "1"}
    assert (await peer.ask(RequestCode.QUERY_CONSUMER_OFFSET, empty)).code == ResponseCode.QUERY_NOT_FOUND


async def test_a_negative_commit_reads_as_not_found(broker: RunningBroker, peer: Peer) -> None:
    await peer.send("orders", queue_id=1)
    of_queue_2 = {**OFFSET_OF, "queueId": "2"}
    assert (
        await peer.ask(RequestCode.UPDATE_CONSUMER_OFFSET, {**of_queue_2, "commitOffset": "-1"})
    ).code == 0
    answer = await peer.ask(RequestCode.QUERY_CONSUMER_OFFSET, of_queue_2)
    assert answer.code == ResponseCode.QUERY_NOT_FOUND


async def test_a_pending_reset_moves_the_next_pull_and_swallows_commits(
    broker: RunningBroker, peer: Peer
) -> None:
    for _ in range(3):
        await peer.send("orders")
    await eventually(lambda: broker.inner.core.store.queues.max_offset("orders", 0) == 3)
    broker.inner.core.tables.offsets.reset("orders", "consumers", 0, 1)
    await peer.ask(RequestCode.UPDATE_CONSUMER_OFFSET, {**OFFSET_OF, "commitOffset": "3"})
    assert (await peer.ask(RequestCode.QUERY_CONSUMER_OFFSET, OFFSET_OF)).fields["offset"] == "1"
    moved = await peer.pull("orders", 3, sys_flag=WAITING)
    assert (moved.code, moved.remark) == (ResponseCode.PULL_OFFSET_MOVED, "OFFSET_RESET")
    assert moved.fields["nextBeginOffset"] == "1"
    assert len(records(await peer.pull("orders", 1))) == 2


async def test_ends_of_a_queue_and_search_by_time(broker: RunningBroker, peer: Peer) -> None:
    queue = {"topic": "orders", "queueId": "0"}
    for code in (RequestCode.GET_MAX_OFFSET, RequestCode.GET_MIN_OFFSET):
        assert (await peer.ask(code, queue)).fields["offset"] == "0"
    earliest = await peer.ask(RequestCode.GET_EARLIEST_MSG_STORETIME, queue)
    assert earliest.fields["timestamp"] == "-1"
    for _ in range(3):
        await peer.send("orders")
    await eventually(lambda: broker.inner.core.store.queues.max_offset("orders", 0) == 3)
    assert (await peer.ask(RequestCode.GET_MAX_OFFSET, queue)).fields["offset"] == "3"
    assert (await peer.ask(RequestCode.GET_MIN_OFFSET, queue)).fields["offset"] == "0"
    first_ms = int((await peer.ask(RequestCode.GET_EARLIEST_MSG_STORETIME, queue)).fields["timestamp"])
    search = RequestCode.SEARCH_OFFSET_BY_TIMESTAMP
    assert (await peer.ask(search, {**queue, "timestamp": str(first_ms)})).fields["offset"] == "0"
    assert (await peer.ask(search, {**queue, "timestamp": str(first_ms + 10**9)})).fields["offset"] == "3"


async def test_messages_are_found_by_key_and_by_place(broker: RunningBroker, peer: Peer) -> None:
    sent = await peer.send("orders", b"wanted", properties={"KEYS": "k1 k2", "UNIQ_KEY": "U" * 32})
    await peer.send("orders", b"other", properties={"KEYS": "k3"})
    await eventually(lambda: broker.inner.core.store.queues.max_offset("orders", 0) == 2)
    window = {"topic": "orders", "maxNum": "32", "beginTimestamp": "0", "endTimestamp": str(2**63 - 1)}

    for key, is_unique in (("k1", "false"), ("k2", "false"), ("U" * 32, "true")):
        fields = {**window, "key": key, "_UNIQUE_KEY_QUERY": is_unique}
        found = await peer.ask(RequestCode.QUERY_MESSAGE, fields)
        assert [record.body for record in records(found)] == [b"wanted"], key
        assert int(found.fields["indexLastUpdateTimestamp"]) > 0
    missing = await peer.ask(RequestCode.QUERY_MESSAGE, {**window, "key": "nothing"})
    assert missing.code == ResponseCode.QUERY_NOT_FOUND

    place = str(int(sent.fields["msgId"][-16:], 16))
    viewed = await peer.ask(RequestCode.VIEW_MESSAGE_BY_ID, {"offset": place})
    assert [record.body for record in records(viewed)] == [b"wanted"]
    for nowhere in ("1", "-1", str(2**40)):
        answer = await peer.ask(RequestCode.VIEW_MESSAGE_BY_ID, {"offset": nowhere})
        assert answer.code == ResponseCode.SYSTEM_ERROR


async def test_a_search_gives_sixty_four_at_most(broker: RunningBroker, peer: Peer) -> None:
    await peer.send("orders", b"first", properties={"KEYS": "k1"})
    for _ in range(69):
        await peer.send("orders", b"x", properties={"KEYS": "k1"})
    await eventually(lambda: broker.inner.core.store.queues.max_offset("orders", 0) == 70)
    window = {"topic": "orders", "key": "k1", "beginTimestamp": "0", "endTimestamp": str(2**63 - 1)}
    for asked, given in (("10", 10), ("64", 64), ("65", 64), ("100000", 64)):
        found = await peer.ask(RequestCode.QUERY_MESSAGE, {**window, "maxNum": asked})
        assert len(records(found)) == given


async def test_searches_never_read_the_log_on_the_loop(
    broker: RunningBroker, peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    await peer.send("orders", b"wanted", properties={"KEYS": "k1"})
    await eventually(lambda: broker.inner.core.store.queues.max_offset("orders", 0) == 1)
    read, threads = record_reads._read, []

    def noted(*arguments: Any) -> bytes | None:
        threads.append(threading.get_ident())
        return read(*arguments)

    monkeypatch.setattr(record_reads, "_read", noted)
    monkeypatch.setattr(broker.inner.core.store._commit_log, "read", None)
    window = {"topic": "orders", "maxNum": "32", "beginTimestamp": "0", "endTimestamp": str(2**63 - 1)}
    assert len(records(await peer.ask(RequestCode.QUERY_MESSAGE, {**window, "key": "k1"}))) == 1
    assert len(records(await peer.ask(RequestCode.VIEW_MESSAGE_BY_ID, {"offset": "0"}))) == 1
    assert len(threads) == 2
    assert threading.get_ident() not in threads
