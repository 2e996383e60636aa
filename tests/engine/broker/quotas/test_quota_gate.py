"""Quotas on a real broker: who is slowed down, by how much, what is refused, and what it costs when off."""

from __future__ import annotations

import asyncio
import time

from engine.broker.quotas import handlers_gate as quota_gate
from engine.protocol.codes import RequestCode, ResponseCode
from tests.engine.broker.peers import Peer, eventually, records


async def change(peer: Peer, **settings: object) -> None:
    text = "".join(f"{key}={value}\n" for key, value in settings.items())
    assert (await peer.ask(RequestCode.UPDATE_BROKER_CONFIG, body=text.encode())).code == 0


async def timed(*waiting) -> tuple[float, list]:
    begun = time.monotonic()
    answers = await asyncio.gather(*waiting)
    return time.monotonic() - begun, answers


async def test_without_quotas_the_handlers_are_not_wrapped(broker, peer):
    inner = broker.inner
    served = inner.net._routes
    for code in (*quota_gate._SENDS, *quota_gate._READS):
        assert served[code] == inner.routes[code]
    await change(peer, signalboxTopicRequestsPerSecond=5)
    assert served[RequestCode.SEND_MESSAGE_V2] == inner.net.quotas.send
    assert inner.net._vip_routes[RequestCode.SEND_MESSAGE_V2] == inner.net.quotas.send
    assert RequestCode.PULL_MESSAGE not in inner.net._vip_routes
    await change(peer, signalboxTopicRequestsPerSecond=0)
    assert served[RequestCode.SEND_MESSAGE_V2] == inner.routes[RequestCode.SEND_MESSAGE_V2]


async def test_sends_over_the_quota_of_their_topic_are_held_in_order_and_none_fails(broker, peer):
    await peer.send("orders")
    await peer.send("others")
    await change(peer, signalboxTopicRequestsPerSecond=10)
    seconds, answers = await timed(*(peer.send("orders", b"%d" % n) for n in range(25)))
    assert {answer.code for answer in answers} == {0}
    assert seconds >= 1.3, "25 at 10 a second, 10 of them at once"
    stored = records(await peer.pull("orders", 1))
    assert [bytes(record.body) for record in stored] == [b"%d" % n for n in range(25)]
    assert (broker.inner.net.quotas.held, broker.inner.net.quotas.refused) == (15, 0)
    assert (await peer.send("others")).code == 0
    assert broker.inner.net.quotas.held == 15


async def test_what_would_wait_too_long_is_refused_before_the_append(broker, peer):
    await peer.send("orders")
    await change(peer, signalboxTopicRequestsPerSecond=10)
    _, answers = await timed(*(peer.send("orders") for _ in range(60)))
    refused = [answer for answer in answers if answer.code]
    assert {answer.code for answer in refused} == {ResponseCode.SYSTEM_BUSY}
    assert all((answer.remark or "").startswith("[FLOW_CONTROL]") for answer in refused)
    assert len(refused) == broker.inner.net.quotas.refused
    assert 25 <= len(refused) <= 30
    stored = await peer.ask(RequestCode.GET_MAX_OFFSET, {"topic": "orders", "queueId": "0"})
    assert stored.fields["offset"] == str(1 + 60 - len(refused))


async def test_bytes_count_too_and_a_large_message_passes(broker, peer):
    await peer.send("orders")
    await change(peer, signalboxClientBytesPerSecond=10_000)
    seconds, answers = await timed(peer.send("orders", bytes(20_000)), peer.send("orders"))
    assert [answer.code for answer in answers] == [0, 0]
    assert seconds >= 0.9


async def test_a_quota_of_clients_is_each_clients_own(broker, peer):
    await peer.send("orders")
    await change(peer, signalboxClientRequestsPerSecond=3)
    other = Peer(broker.address, "client-2")
    await timed(*(peer.send("orders") for _ in range(6)))
    held = broker.inner.net.quotas.held
    _, answers = await timed(*(other.send("orders") for _ in range(3)))
    assert {answer.code for answer in answers} == {0}
    assert broker.inner.net.quotas.held == held
    await other.close()


async def test_reads_of_a_group_pay_for_the_bytes_that_they_got(broker, peer):
    for _ in range(3):
        await peer.send("orders", bytes(30_000))
    await change(peer, signalboxGroupBytesPerSecond=30_000)
    assert len(records(await peer.pull("orders", 0, max_msg_nums=2))) == 2
    assert broker.inner.net.quotas.held == 0
    seconds, answers = await timed(peer.pull("orders", 2))
    assert len(records(answers[0])) == 1
    assert broker.inner.net.quotas.held == 1 and seconds >= 0.3, "30,000 bytes of debt, less what has passed"
    await peer.pull("orders", 0, consumer_group="others")
    assert broker.inner.net.quotas.held == 1


async def test_reads_that_wait_for_the_same_moment_are_served_one_after_another(broker, peer):
    """A consumer pulls all its queues at once: its quota is not theirs to take again for each."""
    for queue_id in range(4):
        await peer.send("orders", bytes(10_000), queue_id=queue_id)
    await change(peer, signalboxGroupBytesPerSecond=9_000)
    seconds, answers = await timed(*(peer.pull("orders", 0, queue_id=queue_id) for queue_id in range(4)))
    assert [len(records(answer)) for answer in answers] == [1] * 4
    assert seconds >= 2.2, "30 KB before the last one, 9 KB of them at once, at 9 KB a second"
    assert broker.inner.net.quotas.refused == 0


async def test_a_read_that_waited_as_long_as_it_may_is_told_to_come_back(broker, peer, monkeypatch):
    monkeypatch.setattr(quota_gate, "LONGEST_READ_S", 1.0)
    for queue_id in range(4):
        await peer.send("orders", bytes(10_000), queue_id=queue_id)
    await change(peer, signalboxGroupBytesPerSecond=9_000)
    seconds, answers = await timed(*(peer.pull("orders", 0, queue_id=queue_id) for queue_id in range(4)))
    assert sorted(answer.code for answer in answers) == [0, 0] + 2 * [ResponseCode.FLOW_CONTROL]
    assert seconds < 2.0 and broker.inner.net.quotas.refused == 2
    assert not broker.inner.net.quotas._held


async def test_a_stop_answers_reads_that_wait(broker, peer):
    for queue_id in range(4):
        await peer.send("orders", bytes(10_000), queue_id=queue_id)
    await change(peer, signalboxGroupBytesPerSecond=3_000)
    reads = [asyncio.ensure_future(peer.pull("orders", 0, queue_id=queue_id)) for queue_id in range(4)]
    await eventually(lambda: broker.inner.net.quotas.held == 3)
    begun = time.monotonic()
    await broker.stop()
    assert [(await read).code for read in reads] == [0] * 4
    assert time.monotonic() - begun < 3


async def test_a_group_far_in_debt_is_told_to_come_back(broker, peer):
    for _ in range(4):
        await peer.send("orders", bytes(60_000))
    await change(peer, signalboxGroupBytesPerSecond=10_000)
    await peer.pull("orders", 0)
    answer = await peer.pull("orders", 0)
    assert answer.code == ResponseCode.FLOW_CONTROL
    assert (answer.remark or "").startswith("[FLOW_CONTROL]")


async def test_a_long_wait_of_ours_is_no_backlog_for_fast_failure(broker, peer):
    await peer.send("orders")
    await change(peer, signalboxTopicRequestsPerSecond=1, waitTimeMillsInSendQueue=200)
    seconds, answers = await timed(*(peer.send("orders") for _ in range(2)))
    assert [answer.code for answer in answers] == [0, 0]
    assert seconds >= 0.9


async def test_clients_that_leave_take_what_waits_with_them(broker, peer):
    await peer.send("orders")
    await change(peer, signalboxTopicRequestsPerSecond=2)
    leaving = Peer(broker.address, "leaving")
    sends = [asyncio.ensure_future(leaving.send("orders", bytes(1000))) for _ in range(5)]
    await eventually(lambda: broker.inner.net.quotas.held == 3)
    assert broker.inner.net.quotas._held_bytes == 3000
    await leaving.close()
    await asyncio.gather(*sends, return_exceptions=True)
    await eventually(lambda: broker.inner.net.quotas._held_bytes == 0)
    assert not broker.inner.net.quotas._held
    stored = await peer.ask(RequestCode.GET_MAX_OFFSET, {"topic": "orders", "queueId": "0"})
    assert stored.fields["offset"] == "3"


async def test_only_so_many_bytes_are_held(broker, peer, monkeypatch):
    monkeypatch.setattr(quota_gate, "MOST_HELD_BYTES", 2_500)
    await peer.send("orders")
    await change(peer, signalboxTopicRequestsPerSecond=10)
    _, answers = await timed(*(peer.send("orders", bytes(1000)) for _ in range(15)))
    assert [answer.code for answer in answers] == [0] * 12 + [ResponseCode.SYSTEM_BUSY] * 3


async def test_a_stop_answers_what_is_held(broker, peer):
    await peer.send("orders")
    await change(peer, signalboxTopicRequestsPerSecond=1)
    sends = [asyncio.ensure_future(peer.send("orders")) for _ in range(2)]
    await eventually(lambda: broker.inner.net.quotas.held == 1)
    begun = time.monotonic()
    await broker.stop()
    assert [(await send).code for send in sends] == [0, 0]
    assert time.monotonic() - begun < 3


async def test_retries_are_not_held_back_by_a_topics_quota(broker, peer):
    await change(peer, signalboxTopicRequestsPerSecond=1)
    await peer.heartbeat("consumers", "orders")
    await timed(*(peer.send("%RETRY%consumers") for _ in range(4)))
    assert broker.inner.net.quotas.held == 0
