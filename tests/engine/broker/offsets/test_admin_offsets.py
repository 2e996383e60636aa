"""Offsets that an administrator moves, over a real socket."""

from __future__ import annotations

import asyncio

import pytest

from engine.broker.offsets.handlers_admin import NOT_COMPARABLE, correction_offsets, legacy_reset_offset
from engine.protocol import fastjson
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.bodies.groups import SubscriptionGroupConfig
from engine.protocol.bodies.offsets import (
    ConsumerOffsetSerializeWrapper,
    DelayOffsetSerializeWrapper,
    QueryCorrectionOffsetBody,
    ResetOffsetBody,
)
from engine.protocol.bodies.topics import TopicConfig
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Command
from tests.engine.broker.conftest import StartBroker
from tests.engine.broker.peers import WAITING, Peer, RunningBroker, eventually

RESET = RequestCode.INVOKE_BROKER_TO_RESET_OFFSET


async def load(broker: RunningBroker, peer: Peer) -> None:
    """Topic orders with five messages in queue 0; group billing has consumed all of them."""
    broker.inner.core.tables.topics.put(TopicConfig("orders", 2, 2), 1)
    broker.inner.core.tables.groups.put(SubscriptionGroupConfig("billing"), 1)
    await peer.send_batch("orders", [b"x"] * 5)
    await eventually(lambda: broker.inner.core.store.queues.max_offset("orders", 0) == 5)
    broker.inner.core.tables.offsets.commit("orders", "billing", 0, 5)
    broker.inner.core.tables.offsets.commit("orders", "billing", 1, 0)


@pytest.fixture
async def loaded(broker: RunningBroker, peer: Peer) -> RunningBroker:
    await load(broker, peer)
    return broker


async def reset(peer: Peer, **changes: str) -> Command:
    fields = {"topic": "orders", "group": "billing", "timestamp": "0", "isForce": "true", **changes}
    return await peer.ask(RESET, fields)


def table(answer: Command) -> dict[int, int]:
    assert answer.code == 0, answer.remark
    return {
        queue.queue_id: offset for queue, offset in ResetOffsetBody.decode(answer.body).offset_table.items()
    }


async def test_a_reset_sends_the_next_pull_back(loaded: RunningBroker, peer: Peer) -> None:
    assert table(await reset(peer)) == {0: 0, 1: 0}
    assert loaded.inner.core.tables.offsets.committed("orders", "billing", 0) == 0
    commit = {"consumerGroup": "billing", "topic": "orders", "queueId": "0", "commitOffset": "5"}
    await peer.ask(RequestCode.UPDATE_CONSUMER_OFFSET, commit)
    assert loaded.inner.core.tables.offsets.committed("orders", "billing", 0) == 0
    moved = await peer.pull("orders", 5, consumer_group="billing")
    assert (moved.code, moved.fields["nextBeginOffset"]) == (ResponseCode.PULL_OFFSET_MOVED, "0")
    assert (await peer.pull("orders", 0, consumer_group="billing")).code == 0


async def test_a_reset_answers_the_pulls_that_are_held(loaded: RunningBroker, peer: Peer) -> None:
    """Of the group that was reset; others wait on."""
    ours, other = Peer(loaded.address), Peer(loaded.address)
    held = asyncio.create_task(ours.pull("orders", 5, consumer_group="billing", sys_flag=WAITING))
    waiting = asyncio.create_task(other.pull("orders", 5, consumer_group="shipping", sys_flag=WAITING))
    await eventually(lambda: len(loaded.inner.tasks.waits.holds) == 2)
    assert table(await reset(peer, queueId="0", offset="3")) == {0: 3}
    moved = await asyncio.wait_for(held, 5)
    assert (moved.code, moved.fields["nextBeginOffset"]) == (ResponseCode.PULL_OFFSET_MOVED, "3")
    assert len(loaded.inner.tasks.waits.holds) == 1 and not waiting.done()
    waiting.cancel()


async def test_a_reset_survives_a_restart(start_broker: StartBroker) -> None:
    broker = await start_broker()
    peer = Peer(broker.address)
    await load(broker, peer)
    assert (await reset(peer)).code == 0
    await peer.close()
    await broker.stop()
    again = await start_broker()
    assert again.inner.core.tables.offsets.committed("orders", "billing", 0) == 0


async def test_minus_one_skips_to_the_end(loaded: RunningBroker, peer: Peer) -> None:
    loaded.inner.core.tables.offsets.commit("orders", "billing", 0, 1)
    assert table(await reset(peer, timestamp="-1")) == {0: 5, 1: 0}


async def test_one_queue_goes_to_one_offset(loaded: RunningBroker, peer: Peer) -> None:
    assert table(await reset(peer, queueId="0", offset="3")) == {0: 3}
    assert table(await reset(peer, queueId="0", offset="-1", timestamp="-1")) == {0: 5}


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"topic": "nothing"}, ResponseCode.TOPIC_NOT_EXIST),
        ({"topic": "../x"}, ResponseCode.TOPIC_NOT_EXIST),
        ({"group": "nobody"}, ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST),
        ({"queueId": "2", "offset": "0"}, ResponseCode.SYSTEM_ERROR),
        ({"queueId": "-2", "offset": "0"}, ResponseCode.SYSTEM_ERROR),
        ({"queueId": "0", "offset": "7"}, ResponseCode.SYSTEM_ERROR),
        ({"queueId": "0", "offset": "-5"}, ResponseCode.SYSTEM_ERROR),
        ({"timestamp": "yesterday"}, ResponseCode.SYSTEM_ERROR),
    ],
)
async def test_a_bad_reset_changes_nothing(
    loaded: RunningBroker, peer: Peer, changes: dict[str, str], code: ResponseCode
) -> None:
    answer = await reset(peer, **changes)
    assert answer.code == code
    assert loaded.inner.core.tables.offsets.queues("orders", "billing") == {0: 5, 1: 0}
    assert not loaded.inner.core.tables.offsets.has_reset("orders", "billing", 0)


async def test_the_old_way_tells_the_members(start_broker: StartBroker) -> None:
    broker = await start_broker(useServerSideResetOffset="false")
    peer = Peer(broker.address)
    await load(broker, peer)
    assert (await reset(peer)).code == ResponseCode.CONSUMER_NOT_ONLINE
    await peer.heartbeat("billing", "orders")
    assert (await peer.notices.get()).code == RequestCode.NOTIFY_CONSUMER_IDS_CHANGED
    assert table(await reset(peer, isForce="false")) == {0: 0, 1: 0}
    async with asyncio.timeout(5):
        told = await peer.notices.get()
    assert told.code == RequestCode.RESET_CONSUMER_CLIENT_OFFSET
    assert told.is_oneway
    assert told.fields == {"topic": "orders", "group": "billing", "timestamp": "0"}
    assert ResetOffsetBody.decode(told.body).offset_table[MessageQueue("orders", "broker-a", 0)] == 0
    assert broker.inner.core.tables.offsets.committed("orders", "billing", 0) == 5
    await peer.close()


async def test_corrections_ignore_the_groups_named(loaded: RunningBroker, peer: Peer) -> None:
    loaded.inner.core.tables.offsets.commit("orders", "audit", 0, 2)
    loaded.inner.core.tables.offsets.commit("orders", "slow", 0, 1)
    fields = {"topic": "orders", "compareGroup": "billing", "filterGroups": "slow"}
    answer = await peer.ask(RequestCode.QUERY_CORRECTION_OFFSET, fields)
    assert QueryCorrectionOffsetBody.decode(answer.body).correction_offsets == {0: 2, 1: 0}
    assert loaded.inner.core.tables.offsets.committed("orders", "slow", 0) == 1
    assert (await peer.ask(RequestCode.QUERY_CORRECTION_OFFSET)).code == ResponseCode.SYSTEM_ERROR


async def test_offsets_are_cloned(loaded: RunningBroker, peer: Peer) -> None:
    fields = {"srcGroup": "billing", "destGroup": "copy", "offline": "false"}
    assert (await peer.ask(RequestCode.CLONE_GROUP_OFFSET, fields)).code == 0
    assert loaded.inner.core.tables.offsets.queues("orders", "copy") == {0: 5, 1: 0}


async def test_what_the_source_left_is_cloned_only_offline(loaded: RunningBroker, peer: Peer) -> None:
    await peer.heartbeat("billing", "bills")
    fields = {"srcGroup": "billing", "destGroup": "copy", "topic": "orders", "offline": "false"}
    await peer.ask(RequestCode.CLONE_GROUP_OFFSET, fields)
    assert loaded.inner.core.tables.offsets.queues("orders", "copy") == {}
    await peer.ask(RequestCode.CLONE_GROUP_OFFSET, {**fields, "offline": "true"})
    assert loaded.inner.core.tables.offsets.queues("orders", "copy") == {0: 5, 1: 0}


async def test_a_clone_under_a_bad_name_is_refused(loaded: RunningBroker, peer: Peer) -> None:
    fields = {"srcGroup": "billing", "destGroup": "../copy", "offline": "true"}
    answer = await peer.ask(RequestCode.CLONE_GROUP_OFFSET, fields)
    assert answer.code == ResponseCode.INVALID_PARAMETER
    assert loaded.inner.core.tables.offsets.topics_of("../copy") == []


async def test_all_offsets_are_shown_in_fastjsons_style(loaded: RunningBroker, peer: Peer) -> None:
    answer = await peer.ask(RequestCode.GET_ALL_CONSUMER_OFFSET)
    assert ConsumerOffsetSerializeWrapper.decode(answer.body).offset_table == {"orders@billing": {0: 5, 1: 0}}
    assert loaded.inner.core.tables.offsets.is_dirty, "showing the table is not saving it"


async def test_no_delay_level_has_an_offset(broker: RunningBroker, peer: Peer) -> None:
    answer = await peer.ask(RequestCode.GET_ALL_DELAY_OFFSET)
    assert DelayOffsetSerializeWrapper.decode(answer.body).offset_table == {}
    assert "dataVersion" in fastjson.loads(answer.body)


@pytest.mark.parametrize(
    ("committed", "wanted", "is_force", "expected"),
    [(10, 4, False, 4), (10, 20, False, 10), (10, 20, True, 20), (None, 20, False, 20)],
)
def test_without_force_a_reset_only_goes_back(
    committed: int | None, wanted: int, is_force: bool, expected: int
) -> None:
    assert legacy_reset_offset(committed, wanted, is_force) == expected


def test_corrections_are_the_smallest_offsets_of_all_groups() -> None:
    assert correction_offsets([{0: 5, 1: 9}, {0: 3, 1: -1}], {}) == {0: 3, 1: 9}


def test_a_group_behind_all_others_has_nothing_to_correct_to() -> None:
    assert correction_offsets([{0: 5}, {0: 3}], {0: 2, 7: 1}) == {0: NOT_COMPARABLE, 7: NOT_COMPARABLE}
    assert correction_offsets([{0: 5}, {0: 3}], {0: 4}) == {0: 3}
