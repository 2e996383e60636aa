"""SQL92 subscriptions over a real socket: checked when subscribing, applied by pulls and long polls."""

from __future__ import annotations

import asyncio

import pytest

from engine.protocol.bodies.clients import (
    CheckClientRequestBody,
    ConsumerData,
    HeartbeatData,
    SubscriptionData,
)
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.headers.pull import PULL_SUBSCRIPTION, PULL_SUSPEND
from tests.engine.broker.conftest import StartBroker
from tests.engine.broker.peers import Peer, RunningBroker, eventually, records

SQL = PULL_SUBSCRIPTION


@pytest.fixture
async def broker(start_broker: StartBroker) -> RunningBroker:
    return await start_broker(enablePropertyFilter="true")


def sql_data(expression: str, topic: str = "orders") -> SubscriptionData:
    return SubscriptionData(topic=topic, sub_string=expression, sub_version=7, expression_type="SQL92")


async def check(peer: Peer, expression: str) -> tuple[int, str]:
    body = CheckClientRequestBody("c", "consumers", None, sql_data(expression)).encode()
    answer = await peer.ask(RequestCode.CHECK_CLIENT_CONFIG, body=body)
    return answer.code, answer.remark or ""


async def announce(peer: Peer, *subscriptions: SubscriptionData) -> None:
    consumer = ConsumerData("consumers", subscription_data_set=subscriptions)
    answer = await peer.ask(
        RequestCode.HEART_BEAT, body=HeartbeatData(peer.client_id, (), (consumer,)).encode()
    )
    assert answer.code == 0


async def send_ages(peer: Peer, broker: RunningBroker, *ages: int) -> None:
    for age in ages:
        await peer.send("orders", b"%d" % age, properties={"age": str(age), "TAGS": "t"})
    await eventually(lambda: not broker.inner.core.store.queues.has_undispatched())


async def test_an_expression_is_checked_when_subscribing(broker: RunningBroker, peer: Peer) -> None:
    assert await check(peer, "age > 17 AND city IN ('Oslo', 'Bergen')") == (0, "")
    code, why = await check(peer, "age > 17 AND city IN (Oslo)")
    assert code == ResponseCode.SUBSCRIPTION_PARSE_FAILED
    assert "position 23" in why
    assert ">>>Oslo)" in why
    for bomb in ("a OR " * 99_999 + "a", "(" * 10_000 + "a" + ")" * 10_000, "NOT " * 8_000 + "a"):
        assert (await check(peer, bomb))[0] == ResponseCode.SUBSCRIPTION_PARSE_FAILED


async def test_a_pull_brings_only_what_matches(broker: RunningBroker, peer: Peer) -> None:
    await send_ages(peer, broker, 10, 20, 30, 15, 40)
    answer = await peer.pull(
        "orders", 0, subscription="age BETWEEN 20 AND 39", expression_type="SQL92", sys_flag=SQL
    )
    assert [record.body for record in records(answer)] == [b"20", b"30"]
    assert answer.fields["nextBeginOffset"] == "5"

    nothing = await peer.pull("orders", 0, subscription="age > 99", expression_type="SQL92", sys_flag=SQL)
    assert nothing.code == ResponseCode.PULL_RETRY_IMMEDIATELY
    assert (nothing.remark, nothing.fields["nextBeginOffset"]) == ("NO_MATCHED_MESSAGE", "5")

    wrong = await peer.pull("orders", 0, subscription="age >", expression_type="SQL92", sys_flag=SQL)
    assert wrong.code == ResponseCode.SUBSCRIPTION_PARSE_FAILED


async def test_the_heartbeats_expression_filters_pulls_without_one(broker: RunningBroker, peer: Peer) -> None:
    await send_ages(peer, broker, 10, 20, 30)
    await announce(peer, sql_data("age <> 20"))
    answer = await peer.pull("orders", 0, subscription=None, sys_flag=0, sub_version=7)
    assert [record.body for record in records(answer)] == [b"10", b"30"]


async def test_a_wrong_announced_expression_costs_only_its_own_topic(
    broker: RunningBroker, peer: Peer
) -> None:
    await send_ages(peer, broker, 10)
    await peer.send("others", b"fine")
    await announce(peer, sql_data("age >"), SubscriptionData(topic="others", sub_version=7))
    wrong = await peer.pull("orders", 0, subscription=None, sys_flag=0, sub_version=7)
    assert wrong.code == ResponseCode.FILTER_DATA_NOT_EXIST
    assert "position 6" in str(wrong.remark)
    await eventually(lambda: not broker.inner.core.store.queues.has_undispatched())
    fine = await peer.pull("others", 0, subscription=None, sys_flag=0, sub_version=7)
    assert [record.body for record in records(fine)] == [b"fine"]


async def test_a_long_poll_is_woken_by_a_wanted_message_only(broker: RunningBroker, peer: Peer) -> None:
    await send_ages(peer, broker, 1)
    waiting = asyncio.create_task(
        peer.pull(
            "orders",
            1,
            subscription="age > 17",
            expression_type="SQL92",
            sys_flag=PULL_SUBSCRIPTION | PULL_SUSPEND,
        )
    )
    await eventually(lambda: len(broker.inner.tasks.waits.holds) == 1)
    await send_ages(peer, broker, 2, 3)
    assert len(broker.inner.tasks.waits.holds) == 1
    await send_ages(peer, broker, 50)
    answer = await waiting
    assert [record.body for record in records(answer)] == [b"50"]
    assert answer.fields["nextBeginOffset"] == "4"


async def test_messages_of_an_earlier_run_are_filtered_too(start_broker: StartBroker) -> None:
    """They are cold: read and looked at in a thread."""
    first = await start_broker(enablePropertyFilter="true")
    peer = Peer(first.address)
    await send_ages(peer, first, *range(50))
    await peer.close()
    await first.stop()
    second = await start_broker(enablePropertyFilter="true")
    second.inner.core.store._commit_log.checked_from = second.inner.core.store.log.max_offset
    peer = Peer(second.address)
    got: list[bytes] = []
    at = 0
    while at < 50:
        answer = await peer.pull(
            "orders", at, subscription="age >= 30", expression_type="SQL92", sys_flag=SQL
        )
        assert answer.code in (ResponseCode.SUCCESS, ResponseCode.PULL_RETRY_IMMEDIATELY)
        got += [record.body for record in records(answer)]
        at = int(answer.fields["nextBeginOffset"])
    assert got == [b"%d" % age for age in range(30, 50)]
    assert second.inner.core.figures.traffic.got_by_pair["orders", "consumers"].messages == 20
    await peer.close()
