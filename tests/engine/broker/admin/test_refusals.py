"""Bad input: RocketMQ's code, a remark that says what is wrong, and nothing stored."""

from __future__ import annotations

import pytest

from engine.protocol.batches import BatchItem, encode_batch
from engine.protocol.bodies.topics import TopicConfig
from engine.protocol.codes import RequestCode, ResponseCode
from tests.engine.broker.conftest import StartBroker
from tests.engine.broker.peers import WAITING, Peer, RunningBroker, records, send_header

BAD_NAMES = ["../x", "..%2f", ".", "a b", "a\x00b", "x" * 128, "%RETRY%../../x", "a∕b", "", " "]


def stored_bytes(broker: RunningBroker) -> int:
    return broker.inner.core.store.log.max_offset


@pytest.mark.parametrize("name", BAD_NAMES)
async def test_a_bad_topic_name_is_refused_everywhere(broker: RunningBroker, peer: Peer, name: str) -> None:
    sent = await peer.send(name)
    assert sent.code in (ResponseCode.INVALID_PARAMETER, ResponseCode.SYSTEM_ERROR)
    assert sent.remark
    assert (await peer.pull(name, 0)).code == ResponseCode.TOPIC_NOT_EXIST
    offset = {"topic": name, "queueId": "0", "consumerGroup": "consumers", "commitOffset": "1"}
    answer = await peer.ask(RequestCode.UPDATE_CONSUMER_OFFSET, offset)
    assert answer.code in (ResponseCode.TOPIC_NOT_EXIST, ResponseCode.SYSTEM_ERROR)
    assert stored_bytes(broker) == 0
    assert name not in broker.inner.core.tables.topics


@pytest.mark.parametrize("group", ["../x", "a.b", "g" * 249])
async def test_a_bad_group_name_is_refused_everywhere(broker: RunningBroker, peer: Peer, group: str) -> None:
    await peer.send("orders")
    pulled = await peer.pull("orders", 0, consumer_group=group)
    assert pulled.code == ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST
    assert (await peer.heartbeat(group, "orders")).code == ResponseCode.INVALID_PARAMETER
    assert group not in broker.inner.core.tables.groups
    assert f"%RETRY%{group}" not in broker.inner.core.tables.topics


REFUSED_SENDS = [
    ("a queue that is not there", {"queue_id": 4}, ResponseCode.INVALID_PARAMETER, "queueId[4]"),
    ("a far time", {"properties": {"TIMER_DELAY_SEC": "259201"}}, ResponseCode.MESSAGE_ILLEGAL, "timerMax"),
    ("no time", {"properties": {"TIMER_DELIVER_MS": "soon"}}, ResponseCode.MESSAGE_ILLEGAL, "not a number"),
    ("half by its bits only", {"sys_flag": 4}, ResponseCode.MESSAGE_ILLEGAL, "contradict"),
    ("committed already", {"sys_flag": 8}, ResponseCode.MESSAGE_ILLEGAL, "contradict"),
    ("an inner batch", {"sys_flag": 0x80}, ResponseCode.MESSAGE_ILLEGAL, "inner batch"),
    ("large properties", {"properties": {"K": "v" * 32_768}}, ResponseCode.MESSAGE_ILLEGAL, "properties"),
    ("a large body", {"body": bytes(1025)}, ResponseCode.MESSAGE_ILLEGAL, "maxMessageSize 1024"),
]


@pytest.mark.parametrize(
    ("what", "change", "code", "said"), REFUSED_SENDS, ids=[row[0] for row in REFUSED_SENDS]
)
async def test_a_send_is_refused_before_anything_is_stored(
    start_broker: StartBroker, what: str, change: dict[str, object], code: int, said: str
) -> None:
    broker = await start_broker(maxMessageSize="1024")
    peer = Peer(broker.address)
    await peer.send("orders")
    before = stored_bytes(broker)

    answer = await peer.send("orders", **change)  # type: ignore[arg-type]

    assert (answer.code, said in str(answer.remark)) == (code, True), answer.remark
    assert stored_bytes(broker) == before
    await peer.close()


async def test_limits_are_met_exactly(start_broker: StartBroker) -> None:
    broker = await start_broker(maxMessageSize="1024")
    peer = Peer(broker.address)
    assert (await peer.send("orders", bytes(1024))).code == 0
    assert (await peer.send("orders", properties={"DELAY": "0"})).code == 0
    await peer.close()


@pytest.mark.parametrize("topic", ["SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC", "SELF_TEST_TOPIC"])
async def test_system_topics_take_no_sends(broker: RunningBroker, peer: Peer, topic: str) -> None:
    answer = await peer.send(topic)
    assert answer.code == ResponseCode.NO_PERMISSION
    assert stored_bytes(broker) == 0


@pytest.mark.parametrize("field", list("abcdefgh"))
async def test_a_missing_field_is_named(broker: RunningBroker, peer: Peer, field: str) -> None:
    fields = send_header("orders", 0, {}).to_v2().encode()
    del fields[field]
    answer = await peer.ask(RequestCode.SEND_MESSAGE_V2, fields)
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert f"field {field} " in str(answer.remark)
    assert stored_bytes(broker) == 0


@pytest.mark.parametrize("value", ["", "x", "1.5", "99999999999", " 1"])
async def test_a_number_that_is_none_is_refused(broker: RunningBroker, peer: Peer, value: str) -> None:
    fields = {**send_header("orders", 0, {}).to_v2().encode(), "e": value}
    answer = await peer.ask(RequestCode.SEND_MESSAGE_V2, fields)
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert stored_bytes(broker) == 0


GOOD_BATCH = encode_batch([BatchItem(0, b"a", b""), BatchItem(0, b"b", b"")])
BAD_BATCHES = {
    "empty": b"",
    "cut": GOOD_BATCH[:-1],
    "trailing": GOOD_BATCH + b"\x00",
    "negative size": b"\xff\xff\xff\xff" + GOOD_BATCH[4:],
    "delayed": encode_batch([BatchItem(0, b"a", b""), BatchItem(0, b"b", b"DELAY\x013\x02")]),
}


@pytest.mark.parametrize("body", BAD_BATCHES.values(), ids=BAD_BATCHES)
async def test_a_batch_is_stored_whole_or_not_at_all(broker: RunningBroker, peer: Peer, body: bytes) -> None:
    await peer.send("orders")
    before = stored_bytes(broker)
    answer = await peer.send("orders", body, batch=True)
    assert answer.code == ResponseCode.MESSAGE_ILLEGAL
    assert stored_bytes(broker) == before


async def test_a_batch_to_a_retry_topic_is_refused(broker: RunningBroker, peer: Peer) -> None:
    answer = await peer.send("%RETRY%g", GOOD_BATCH, batch=True)
    assert answer.code == ResponseCode.MESSAGE_ILLEGAL
    assert stored_bytes(broker) == 0


async def test_an_unknown_topic_is_refused_when_topics_may_not_make_themselves(
    start_broker: StartBroker,
) -> None:
    broker = await start_broker(autoCreateTopicEnable="false")
    peer = Peer(broker.address)
    answer = await peer.send("orders")
    assert answer.code == ResponseCode.TOPIC_NOT_EXIST
    assert "orders" in str(answer.remark)
    assert "orders" not in broker.inner.core.tables.topics
    await peer.close()


async def test_an_unknown_group_is_refused_when_groups_may_not_make_themselves(
    start_broker: StartBroker,
) -> None:
    broker = await start_broker(autoCreateSubscriptionGroup="false")
    peer = Peer(broker.address)
    await peer.send("orders")
    assert (await peer.pull("orders", 0)).code == ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST
    await peer.close()


async def test_pulls_are_refused_with_the_code_of_what_is_wrong(broker: RunningBroker, peer: Peer) -> None:
    await peer.send("orders")
    outside = await peer.pull("orders", 0, queue_id=4)
    assert outside.code == ResponseCode.INVALID_PARAMETER
    sql = await peer.pull("orders", 0, subscription="a > 1", expression_type="SQL92")
    assert sql.code == ResponseCode.SYSTEM_ERROR
    assert "SQL92" in str(sql.remark)
    assert (await peer.pull("orders", 0, subscription="||")).code == ResponseCode.SUBSCRIPTION_PARSE_FAILED
    assert (await peer.pull("orders", 0, sys_flag=0)).code == ResponseCode.SUBSCRIPTION_NOT_EXIST
    await peer.heartbeat("consumers", "other")
    assert (await peer.pull("orders", 0, sys_flag=0)).code == ResponseCode.SUBSCRIPTION_NOT_EXIST
    await peer.heartbeat("consumers", "orders")
    stale = await peer.pull("orders", 0, sys_flag=0, sub_version=99)
    assert stale.code == ResponseCode.SUBSCRIPTION_NOT_LATEST
    found = await peer.pull("orders", 0, sys_flag=2)
    assert [record.body for record in records(found)] == [b"hello"]


async def test_a_forbidden_pull_says_what_is_forbidden(broker: RunningBroker, peer: Peer) -> None:
    await peer.send("orders")
    await peer.heartbeat("consumers", "orders")
    broker.inner.core.tables.groups.set_readable("consumers", "orders", False, 0)
    answer = await peer.pull("orders", 0, sys_flag=0)
    assert (answer.code, answer.fields["forbiddenType"]) == (ResponseCode.NO_PERMISSION, "5")
    broker.inner.options.live.broker_permission = 2
    answer = await peer.pull("orders", 0)
    assert (answer.code, answer.fields["forbiddenType"]) == (ResponseCode.NO_PERMISSION, "1")


async def test_lite_pull_can_be_switched_off(start_broker: StartBroker) -> None:
    broker = await start_broker(litePullMessageEnable="false")
    peer = Peer(broker.address)
    answer = await peer.ask(RequestCode.LITE_PULL_MESSAGE, {})
    assert answer.code == ResponseCode.NO_PERMISSION
    await peer.close()


@pytest.mark.parametrize(
    ("code", "words"), [(905, "do not act as masters"), (1002, "not part of this version yet")]
)
async def test_what_is_not_there_is_refused_in_words(
    broker: RunningBroker, peer: Peer, code: int, words: str
) -> None:
    answer = await peer.ask(code)
    assert answer.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED
    assert words in str(answer.remark)


async def test_a_full_disk_refuses_writes_and_keeps_reads(broker: RunningBroker, peer: Peer) -> None:
    await peer.send("orders")
    broker.inner.core.figures.disk.is_writable = False
    refused = await peer.send("orders")
    assert refused.code == ResponseCode.SERVICE_NOT_AVAILABLE
    assert "full" in str(refused.remark)
    assert len(records(await peer.pull("orders", 0, sys_flag=WAITING))) == 1
    broker.inner.core.figures.disk.is_writable = True
    assert (await peer.send("orders")).code == 0


async def test_a_request_that_waited_too_long_is_refused_before_the_append(
    broker: RunningBroker, peer: Peer
) -> None:
    await peer.send("orders")
    before = stored_bytes(broker)
    broker.inner.options.live.wait_time_mills_in_send_queue = -1
    answer = await peer.send("orders")
    assert answer.code == ResponseCode.SYSTEM_BUSY
    assert str(answer.remark).startswith("[TIMEOUT_CLEAN_QUEUE]broker busy")
    assert stored_bytes(broker) == before


async def test_whoever_waited_is_told_of_a_store_that_takes_nothing(
    broker: RunningBroker, peer: Peer
) -> None:
    """ "Busy" would make clients knock again; a full or fenced store sends them elsewhere."""
    await peer.send("orders")
    broker.inner.options.live.wait_time_mills_in_send_queue = -1
    broker.inner.core.store.log.fence()
    assert (await peer.send("orders")).code == ResponseCode.SERVICE_NOT_AVAILABLE
    broker.inner.core.figures.disk.is_writable = False
    assert (await peer.send("orders")).code == ResponseCode.SERVICE_NOT_AVAILABLE


async def test_sends_before_the_time_to_accept_are_refused(start_broker: StartBroker) -> None:
    broker = await start_broker(startAcceptSendRequestTimeStamp=str(1 << 60))
    peer = Peer(broker.address)
    answer = await peer.send("orders")
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert "until" in str(answer.remark)
    await peer.close()


async def test_an_oversized_heartbeat_is_refused(broker: RunningBroker, peer: Peer) -> None:
    body = b'{"clientID":"c","producerDataSet":[' + b",".join([b'{"groupName":"g"}'] * 1001) + b"]}"
    answer = await peer.ask(RequestCode.HEART_BEAT, body=body)
    assert answer.code == ResponseCode.INVALID_PARAMETER
    for junk in (b"", b"[]", b"{", b"null", b'{"clientID":5,"consumerDataSet":"x"}'):
        assert (await peer.ask(RequestCode.HEART_BEAT, body=junk)).code != 0


async def test_a_broker_that_is_closed_for_writing_refuses_ordered_topics(
    start_broker: StartBroker,
) -> None:
    broker = await start_broker(brokerPermission="4")
    peer = Peer(broker.address)
    broker.inner.core.tables.topics.put(TopicConfig("ordered", 4, 4, 6, order=True), 0)
    broker.inner.core.tables.topics.put(TopicConfig("plain", 4, 4, 6), 0)
    assert (await peer.send("ordered")).code == ResponseCode.NO_PERMISSION
    assert (await peer.send("plain")).code == 0
    await peer.close()
