"""Consumer groups as an administrator changes and reads them, over a real socket."""

from __future__ import annotations

import pytest

from engine.protocol.bodies.basics import DataVersion
from engine.protocol.bodies.groups import (
    GroupForbidden,
    SubscriptionGroupConfig,
    SubscriptionGroupList,
    SubscriptionGroupWrapper,
)
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Command
from engine.protocol.headers.pull import ForbiddenType
from engine.protocol.names import MAX_GROUP_LENGTH
from tests.engine.broker.conftest import StartBroker
from tests.engine.broker.peers import Peer, RunningBroker

PUT = RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP
BAD_NAMES = ["../x", "a\0b", ".", "g" * (MAX_GROUP_LENGTH + 1), "", "a b"]


async def put(peer: Peer, config: SubscriptionGroupConfig) -> Command:
    return await peer.ask(PUT, body=config.encode())


async def test_a_group_is_made_and_kept_over_a_restart(start_broker: StartBroker) -> None:
    broker = await start_broker()
    peer = Peer(broker.address)
    wanted = SubscriptionGroupConfig("billing", retry_max_times=3, consume_broadcast_enable=False)
    assert (await put(peer, wanted)).code == 0
    await peer.close()
    await broker.stop()

    peer = Peer((await start_broker()).address)
    answer = await peer.ask(RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG, {"group": "billing"})
    await peer.close()
    assert SubscriptionGroupConfig.decode(answer.body) == wanted


@pytest.mark.parametrize("name", BAD_NAMES)
async def test_a_bad_name_makes_no_group(broker: RunningBroker, peer: Peer, name: str) -> None:
    before = broker.inner.core.tables.groups.names()
    assert (await put(peer, SubscriptionGroupConfig(name))).code == ResponseCode.INVALID_PARAMETER
    answer = await peer.ask(RequestCode.DELETE_SUBSCRIPTIONGROUP, {"groupName": name, "cleanOffset": "true"})
    assert answer.code in (ResponseCode.INVALID_PARAMETER, ResponseCode.SYSTEM_ERROR)
    assert broker.inner.core.tables.groups.names() == before


@pytest.mark.parametrize(
    "config",
    [
        SubscriptionGroupConfig("g", retry_queue_nums=-1),
        SubscriptionGroupConfig("g", retry_queue_nums=2**31 - 1),
        SubscriptionGroupConfig("g", retry_max_times=-2),
        SubscriptionGroupConfig("g", broker_id=-1),
        SubscriptionGroupConfig("g", attributes={"+unknown": "1"}),
    ],
)
async def test_bad_numbers_make_no_group(
    broker: RunningBroker, peer: Peer, config: SubscriptionGroupConfig
) -> None:
    assert (await put(peer, config)).code in (ResponseCode.INVALID_PARAMETER, ResponseCode.SYSTEM_ERROR)
    assert "g" not in broker.inner.core.tables.groups


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"groupName":["x"]}'])
async def test_a_body_that_is_none_is_refused(broker: RunningBroker, peer: Peer, body: bytes) -> None:
    answer = await peer.ask(PUT, body=body)
    assert answer.code in (ResponseCode.SYSTEM_ERROR, ResponseCode.INVALID_PARAMETER)
    assert answer.remark


async def test_a_list_is_taken_whole_or_not_at_all(broker: RunningBroker, peer: Peer) -> None:
    code = RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST
    good = (SubscriptionGroupConfig("a"), SubscriptionGroupConfig("b"))
    bad = SubscriptionGroupList((*good, SubscriptionGroupConfig("../c")))
    assert (await peer.ask(code, body=bad.encode())).code == ResponseCode.INVALID_PARAMETER
    assert "a" not in broker.inner.core.tables.groups
    assert (await peer.ask(code, body=SubscriptionGroupList(good).encode())).code == 0
    assert "b" in broker.inner.core.tables.groups


async def test_a_deleted_group_keeps_its_offsets_unless_they_go_too(
    broker: RunningBroker, peer: Peer
) -> None:
    await put(peer, SubscriptionGroupConfig("billing"))
    broker.inner.core.tables.offsets.commit("orders", "billing", 0, 7)
    delete = RequestCode.DELETE_SUBSCRIPTIONGROUP
    assert (await peer.ask(delete, {"groupName": "billing", "cleanOffset": "false"})).code == 0
    assert "billing" not in broker.inner.core.tables.groups
    assert broker.inner.core.tables.offsets.committed("orders", "billing", 0) == 7
    assert (await peer.ask(delete, {"groupName": "billing", "cleanOffset": "true"})).code == 0
    assert broker.inner.core.tables.offsets.committed("orders", "billing", 0) is None


async def test_an_unknown_group_makes_itself_only_if_it_may(start_broker: StartBroker) -> None:
    broker = await start_broker(autoCreateSubscriptionGroup="false")
    peer = Peer(broker.address)
    ask = RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG
    assert (await peer.ask(ask, {"group": "new"})).code == ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST
    broker.inner.options.live.auto_create_subscription_group = True
    assert (await peer.ask(ask, {"group": "new"})).code == 0
    assert (await peer.ask(ask, {"group": "../x"})).code == ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST
    await peer.close()


async def test_all_groups_come_at_once_or_in_pages(broker: RunningBroker, peer: Peer) -> None:
    for number in range(300):
        broker.inner.core.tables.groups.put(SubscriptionGroupConfig(f"group-{number:03}"), 1)
    code = RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG
    whole = await peer.ask(code)
    assert whole.fields["totalGroupNum"] == str(len(broker.inner.core.tables.groups))
    wrapper = SubscriptionGroupWrapper.decode(whole.body)
    assert wrapper.subscription_group_table == broker.inner.core.tables.groups.configs()
    version = wrapper.data_version.encode().decode()
    page = await peer.ask(code, {"groupSeq": "2", "dataVersion": version, "maxGroupNum": "3"})
    names = list(SubscriptionGroupWrapper.decode(page.body).subscription_group_table)
    assert sorted(names) == sorted(broker.inner.core.tables.groups.names())[2:5]
    stale = DataVersion(0, 0, 0).encode().decode()
    again = await peer.ask(code, {"groupSeq": "2", "dataVersion": stale, "maxGroupNum": "1"})
    first = list(SubscriptionGroupWrapper.decode(again.body).subscription_group_table)
    assert first == sorted(broker.inner.core.tables.groups.names())[:1]


async def test_a_forbidden_topic_is_not_pulled(broker: RunningBroker, peer: Peer) -> None:
    await peer.send("orders")
    await peer.heartbeat("billing", "orders")
    code = RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN
    pair = {"group": "billing", "topic": "orders"}
    asked = await peer.ask(code, pair)
    assert GroupForbidden.decode(asked.body) == GroupForbidden("billing", "orders", True)
    told = await peer.ask(code, {**pair, "readable": "false"})
    assert GroupForbidden.decode(told.body).readable is False
    refused = await peer.pull("orders", 0, consumer_group="billing", sys_flag=0, sub_version=1)
    assert refused.code == ResponseCode.NO_PERMISSION
    assert refused.fields["forbiddenType"] == str(int(ForbiddenType.SUBSCRIPTION))
    await peer.ask(code, {**pair, "readable": "true"})
    assert broker.inner.core.tables.groups.forbidden() == {}


async def test_forbidding_checks_names(broker: RunningBroker, peer: Peer) -> None:
    code = RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN
    answer = await peer.ask(code, {"group": "../g", "topic": "orders", "readable": "false"})
    assert answer.code == ResponseCode.INVALID_PARAMETER
    assert broker.inner.core.tables.groups.forbidden() == {}
