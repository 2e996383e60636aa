"""Messages that come back: 36, the rule for sends to retry topics, and the way to the dead letters."""

from __future__ import annotations

import asyncio

import pytest

from engine.broker.delivery.retries import plan_send_back
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.bodies.groups import SubscriptionGroupConfig
from engine.protocol.bodies.stats import BrokerStatsData
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Command
from engine.protocol.headers.send import ConsumerSendMsgBackRequest
from engine.protocol.properties import decode_properties
from engine.protocol.records import Record, decode_record, encode_record
from tests.engine.broker.conftest import StartBroker
from tests.engine.broker.peers import Peer, RunningBroker, eventually, records

RETRY, DLQ, SCHEDULE = "%RETRY%consumers", "%DLQ%consumers", "SCHEDULE_TOPIC_XXXX"
NEW_CLIENT, OLD_CLIENT = 400, 100


def stored(reconsume_times: int = 0, **properties: str) -> Record:
    encoded = encode_record(
        topic="orders",
        body=b"x",
        properties={"UNIQ_KEY": "U", **properties},
        queue_id=3,
        flag=7,
        commit_log_offset=4096,
        reconsume_times=reconsume_times,
    )
    return decode_record(encoded)


def back(delay_level: int = 0, max_reconsume_times: int | None = None) -> ConsumerSendMsgBackRequest:
    return ConsumerSendMsgBackRequest(4096, "consumers", delay_level, max_reconsume_times=max_reconsume_times)


def plan(record: Record, header: ConsumerSendMsgBackRequest, version: int = NEW_CLIENT, **group: int):  # type: ignore[no-untyped-def]
    config = SubscriptionGroupConfig("consumers", **group)  # type: ignore[arg-type]
    draft = plan_send_back(record, config, header, version, lambda count: count - 1).draft
    return draft, decode_properties(draft.properties.decode())


@pytest.mark.parametrize(("times", "level"), [(0, "3"), (1, "4"), (15, "18")])
def test_the_delay_grows_with_each_try(times: int, level: str) -> None:
    draft, properties = plan(stored(times), back())
    assert (draft.topic, draft.reconsume_times, properties["DELAY"]) == (RETRY, times + 1, level)


def test_a_level_that_the_client_chose_counts() -> None:
    assert plan(stored(5), back(delay_level=2))[1]["DELAY"] == "2"


def test_the_seventeenth_failure_leads_to_the_dead_letters() -> None:
    draft, properties = plan(stored(16, DELAY="9"), back())
    assert (draft.topic, draft.queue_id, draft.reconsume_times) == (DLQ, 0, 17)
    assert "DELAY" not in properties


def test_a_negative_level_leads_there_at_once() -> None:
    assert plan(stored(0), back(delay_level=-1))[0].topic == DLQ


def test_a_groups_own_limit_and_a_clients_own_limit_count() -> None:
    assert plan(stored(2), back(), retry_max_times=2)[0].topic == DLQ
    assert plan(stored(2), back(max_reconsume_times=3), retry_max_times=2)[0].topic == RETRY
    assert plan(stored(2), back(max_reconsume_times=3), OLD_CLIENT, retry_max_times=2)[0].topic == DLQ


def test_first_topic_first_id_and_what_was_sent_are_kept() -> None:
    record = stored(0)
    draft, properties = plan(record, back(), retry_queue_nums=4)
    assert (draft.body, draft.flag, draft.queue_id) == (b"x", 7, 3)
    assert properties["UNIQ_KEY"] == "U"
    assert properties["RETRY_TOPIC"] == "orders"
    assert properties["ORIGIN_MESSAGE_ID"] == record.offset_msg_id
    assert properties["WAIT"] == "false"
    _, later = plan(stored(1, RETRY_TOPIC="first", ORIGIN_MESSAGE_ID="id"), back())
    assert (later["RETRY_TOPIC"], later["ORIGIN_MESSAGE_ID"]) == ("first", "id")


async def send_back(peer: Peer, offset: int, **fields: str) -> Command:
    given = {"offset": str(offset), "group": "consumers", "delayLevel": "0", **fields}
    return await peer.ask(RequestCode.CONSUMER_SEND_MSG_BACK, given)


async def pulled(peer: Peer, topic: str, count: int) -> list[Record]:
    async with asyncio.timeout(10):
        while True:
            answer = await peer.pull(topic, 0)
            if answer.code == 0 and len(records(answer)) >= count:
                return records(answer)
            await asyncio.sleep(0.02)


async def test_a_message_fails_until_it_is_a_dead_letter(start_broker: StartBroker) -> None:
    broker = await start_broker(messageDelayLevel="1s 1s 1s")
    peer = Peer(broker.address)
    sent = await peer.send("orders", b"bad", properties={"TAGS": "t", "UNIQ_KEY": "K" * 32})
    (record,) = await pulled(peer, "orders", 1)
    for attempt in (1, 2):
        answer = await send_back(peer, record.commit_log_offset, maxReconsumeTimes="2")
        assert answer.code == ResponseCode.SUCCESS
        record = (await pulled(peer, RETRY, attempt))[-1]
        assert record.reconsume_times == attempt
        assert record.properties["RETRY_TOPIC"] == "orders"
        assert record.properties["ORIGIN_MESSAGE_ID"] == sent.fields["msgId"]
    assert (await send_back(peer, record.commit_log_offset, maxReconsumeTimes="2")).code == 0
    (dead,) = await pulled(peer, DLQ, 1)
    assert (dead.body, dead.reconsume_times, dead.uniq_key) == (b"bad", 3, "K" * 32)
    assert broker.inner.core.tables.topics.get(DLQ).perm == 6  # type: ignore[union-attr]
    view = {"statsName": "SNDBCK_PUT_NUMS", "statsKey": f"orders@{DLQ.removeprefix('%DLQ%')}"}
    stats = await peer.ask(RequestCode.VIEW_BROKER_STATS_DATA, view)
    assert BrokerStatsData.decode(stats.body).stats_minute.sum == 3
    await peer.close()


async def test_a_group_without_retry_queues_drops_the_message(broker: RunningBroker, peer: Peer) -> None:
    await peer.send("orders")
    config = SubscriptionGroupConfig("consumers", retry_queue_nums=0)
    broker.inner.core.tables.groups.put(config, 1)
    end = broker.inner.core.store.log.max_offset
    assert (await send_back(peer, 0)).code == 0
    assert broker.inner.core.store.log.max_offset == end


async def test_what_is_not_in_the_log_cannot_come_back(broker: RunningBroker, peer: Peer) -> None:
    await peer.send("orders")
    end = broker.inner.core.store.log.max_offset
    for offset in (-1, 7, end, end + 10_000, (1 << 63) - 1):
        assert (await send_back(peer, offset)).code == ResponseCode.SYSTEM_ERROR
    assert broker.inner.core.store.log.max_offset == end


async def test_a_group_that_may_not_make_itself_is_unknown(start_broker: StartBroker) -> None:
    broker = await start_broker(autoCreateSubscriptionGroup="false")
    peer = Peer(broker.address)
    await peer.send("orders")
    assert (await send_back(peer, 0)).code == ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST
    assert (await peer.send(RETRY)).code == ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST
    await peer.close()


async def test_under_sync_flush_it_is_answered_once_on_disk(start_broker: StartBroker) -> None:
    broker = await start_broker(flushDiskType="SYNC_FLUSH")
    peer = Peer(broker.address)
    await peer.send("orders")
    assert (await send_back(peer, 0)).code == 0
    assert broker.inner.core.store.log.flushed_offset == broker.inner.core.store.log.max_offset
    await peer.close()


async def test_a_send_to_the_retry_topic_waits_its_delay(broker: RunningBroker, peer: Peer) -> None:
    properties = {"DELAY": "3", "RETRY_TOPIC": "orders"}
    assert (await peer.send(RETRY, properties=properties, reconsume_times=16)).code == 0
    await eventually(lambda: broker.inner.core.store.queues.max_offset(SCHEDULE, 2) == 1)
    assert DLQ not in broker.inner.core.tables.topics


async def test_a_send_to_the_retry_topic_with_too_many_tries_is_a_dead_letter(
    broker: RunningBroker, peer: Peer
) -> None:
    properties = {"DELAY": "3", "RETRY_TOPIC": "orders"}
    answer = await peer.send(RETRY, properties=properties, reconsume_times=17)
    assert answer.code == 0
    (dead,) = await pulled(peer, DLQ, 1)
    assert "DELAY" not in dead.properties
    assert dead.reconsume_times == 17
    await peer.send(RETRY, properties=properties, reconsume_times=4, max_reconsume_times=3)
    assert len(await pulled(peer, DLQ, 2)) == 2
    assert broker.inner.core.store.queues.max_offset(SCHEDULE, 2) == 0


async def test_a_group_that_consumes_in_order_sends_dead_letters(broker: RunningBroker, peer: Peer) -> None:
    queue = MessageQueue("orders", "broker-a", 0)
    broker.inner.core.clients.locks.lock("consumers", "client-1", [queue], 1 << 60)
    await peer.send(RETRY, properties={"RETRY_TOPIC": "orders"}, reconsume_times=1)
    assert len(await pulled(peer, DLQ, 1)) == 1
