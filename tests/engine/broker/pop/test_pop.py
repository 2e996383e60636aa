"""Pop, acknowledge, come back: over the wire, on a real broker."""

from __future__ import annotations

import asyncio
import time
import tracemalloc
from collections.abc import Hashable
from pathlib import Path

import pytest
from msgspec.structs import replace

from engine.broker.pop.pop_requests import ALL_POPS, waited_for, waiting_key
from engine.broker.pulling.long_polls import Holds
from engine.protocol.bodies.pop import BatchAck, BatchAckMessageRequestBody, encode_bit_set
from engine.protocol.bodies.stats import BrokerStatsData
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.headers.pop import NotificationRequest, PeekMessageRequest, PollingInfoRequest
from engine.protocol.properties import Property
from engine.store.results import MessageDraft, PutStatus
from tests.engine.broker.conftest import StartBroker
from tests.engine.broker.peers import Peer, RunningBroker, eventually, records
from tests.engine.broker.pop.popping import ack, ask_pop, change, pop
from tests.engine.broker.pulling.test_holds import Request

REVIVE = "rmq_sys_REVIVE_LOG_TestCluster"
SOON = 300
"""An invisible time that a test can wait for."""


async def send(peer: Peer, topic: str, *bodies: bytes, queues: int = 4) -> None:
    for number, body in enumerate(bodies):
        properties = {"UNIQ_KEY": f"{topic}-{body.decode()}", "TAGS": "blue" if number % 2 else "red"}
        answer = await peer.send(topic, body, queue_id=number % queues, properties=properties)
        assert answer.code == 0


async def test_a_pop_gives_messages_of_all_queues_and_hides_them(broker: RunningBroker, peer: Peer) -> None:
    await send(peer, "orders", b"1", b"2", b"3", b"4", b"5")
    await eventually(lambda: broker.inner.core.store.queues.max_offset("orders", 0) == 2)
    given = await pop(peer, "orders")
    assert sorted(message.body for message in given) == [b"1", b"2", b"3", b"4", b"5"]
    again = await ask_pop(peer, "orders")
    assert again.code == ResponseCode.POLLING_TIMEOUT


async def test_a_pop_gives_no_more_than_asked_and_tells_the_rest(broker: RunningBroker, peer: Peer) -> None:
    await send(peer, "orders", *(str(n).encode() for n in range(10)), queues=1)
    await eventually(lambda: broker.inner.core.store.queues.max_offset("orders", 0) == 10)
    answer = await ask_pop(peer, "orders", max_msg_nums=4)
    assert len(records(answer)) == 4
    assert answer.fields["restNum"] == "6"
    assert answer.fields["msgOffsetInfo"] == "0 0 0,1,2,3"
    assert answer.fields["startOffsetInfo"] == "0 0 0"


async def test_a_parked_pop_gets_a_message_when_it_arrives(broker: RunningBroker, peer: Peer) -> None:
    await send(peer, "orders", b"first")
    await pop(peer, "orders", poll_time=5_000)
    waiting = asyncio.create_task(pop(peer, "orders", poll_time=5_000))
    await eventually(lambda: len(broker.inner.tasks.waits.holds) == 1)
    await send(peer, "orders", b"later")
    assert [message.body for message in await waiting] == [b"later"]


async def test_one_arrival_wakes_one_of_the_waiting_pops(broker: RunningBroker, peer: Peer) -> None:
    await send(peer, "orders", b"first")
    await pop(peer, "orders", poll_time=5_000)
    waiting = [asyncio.create_task(pop(peer, "orders", poll_time=5_000)) for _ in range(3)]
    await eventually(lambda: len(broker.inner.tasks.waits.holds) == 3)
    info = PollingInfoRequest("poppers", "orders", -1).encode()
    assert (await peer.ask(RequestCode.POLLING_INFO, info)).fields["pollingNum"] == "3"
    await send(peer, "orders", b"a", b"b", b"c")
    bodies = sorted(message.body for given in await asyncio.gather(*waiting) for message in given)
    assert bodies == [b"a", b"b", b"c"]


async def test_a_pop_that_waits_in_vain_is_answered_in_time(broker: RunningBroker, peer: Peer) -> None:
    await send(peer, "orders", b"1")
    await pop(peer, "orders", poll_time=5_000)
    begun = time.monotonic()
    answer = await ask_pop(peer, "orders", poll_time=300)
    assert answer.code == ResponseCode.POLLING_TIMEOUT
    assert 0.2 <= time.monotonic() - begun < 2


async def test_an_acknowledged_message_does_not_come_back(broker: RunningBroker, peer: Peer) -> None:
    await send(peer, "orders", b"kept", b"done", queues=1)
    await eventually(lambda: broker.inner.core.store.queues.max_offset("orders", 0) == 2)
    kept, done = await pop(peer, "orders", invisible_time=SOON)
    assert (await ack(peer, done)).code == 0
    back = await pop(peer, "orders", poll_time=5_000)
    assert [message.body for message in back] == [b"kept"]
    assert len(broker.inner.tasks.master.pops.checkpoints) == 1
    assert (await ack(peer, back[0])).code == 0
    assert len(broker.inner.tasks.master.pops.checkpoints) == 0
    assert kept.record.reconsume_times == 0


@pytest.mark.parametrize(
    ("is_v2", "topic"), [("false", "%RETRY%poppers_orders"), ("true", "%RETRY%poppers+orders")]
)
async def test_a_message_comes_back_under_its_topic_one_try_older(
    start_broker: StartBroker, is_v2: str, topic: str
) -> None:
    broker = await start_broker(enableRetryTopicV2=is_v2)
    peer = Peer(broker.address)
    await send(peer, "orders", b"1")
    (first,) = await pop(peer, "orders", invisible_time=SOON, poll_time=5_000)
    (second,) = await pop(peer, "orders", invisible_time=SOON, poll_time=5_000)
    (third,) = await pop(peer, "orders", poll_time=5_000)
    assert [m.record.topic for m in (first, second, third)] == ["orders"] * 3
    assert [m.record.reconsume_times for m in (first, second, third)] == [0, 1, 2]
    assert [m.topic for m in (first, second, third)] == ["orders", topic, topic]
    popped_at = str(first.handle.pop_time_ms)
    assert second.record.properties[Property.FIRST_POP_TIME] == popped_at
    assert third.record.properties[Property.FIRST_POP_TIME] == popped_at
    assert third.record.properties["UNIQ_KEY"] == "orders-1"
    assert second.handle.pop_time_ms >= first.handle.pop_time_ms + SOON
    assert (await ack(peer, third)).code == 0
    assert len(broker.inner.tasks.master.pops.checkpoints) == 0
    await peer.close()


async def test_each_group_pops_all_with_handles_of_its_own(broker: RunningBroker, peer: Peer) -> None:
    await send(peer, "orders", b"1")
    (mine,) = await pop(peer, "orders", poll_time=5_000)
    await asyncio.sleep(0.002)  # handles of the same millisecond name the same pop, also in RocketMQ
    (theirs,) = await pop(peer, "orders", consumer_group="others", poll_time=5_000)
    assert mine.handle.pop_time_ms < theirs.handle.pop_time_ms
    await ack(peer, theirs, consumer_group="poppers", extra_info=theirs.handle.encode())
    await ack(peer, mine, consumer_group="strangers")
    assert len(broker.inner.tasks.master.pops.checkpoints) == 2


async def test_handles_that_fit_nothing_get_codes_and_change_nothing(
    broker: RunningBroker, peer: Peer
) -> None:
    await send(peer, "orders", b"1", b"2", queues=1)
    await send(peer, "bills", b"1", queues=1)
    await eventually(lambda: broker.inner.core.store.queues.max_offset("orders", 0) == 2)
    first, _ = await pop(peer, "orders")
    text = first.handle.encode()
    codes = {
        "no topic": (await ack(peer, first, topic="absent")).code,
        "no queue": (await ack(peer, first, queue_id=99)).code,
        "beyond the end": (await ack(peer, first, offset=1_000_000)).code,
        "not a handle": (await ack(peer, first, extra_info="1 2 3")).code,
        "not numbers": (await ack(peer, first, extra_info=text.replace("0 ", "x ", 1))).code,
        "other broker": (await ack(peer, first, extra_info=text.replace("broker-a", "broker-b"))).code,
        "other offset": (await ack(peer, first, offset=1)).code,
        "other topic": (await ack(peer, first, topic="bills")).code,
        "change of other topic": (await change(peer, first, 1000, topic="bills")).code,
    }
    assert codes == {
        "no topic": ResponseCode.TOPIC_NOT_EXIST,
        "no queue": ResponseCode.MESSAGE_ILLEGAL,
        "beyond the end": ResponseCode.NO_MESSAGE,
        "not a handle": ResponseCode.SYSTEM_ERROR,
        "not numbers": ResponseCode.SYSTEM_ERROR,
        "other broker": ResponseCode.NO_MESSAGE,
        "other offset": ResponseCode.NO_MESSAGE,
        "other topic": ResponseCode.SUCCESS,
        "change of other topic": ResponseCode.NO_MESSAGE,
    }
    key = ("orders", "poppers", 0, first.handle.start_offset, first.handle.pop_time_ms)
    entry = broker.inner.tasks.master.pops.checkpoints.find(key)
    assert entry is not None and list(entry.unacked) == [0, 1]


async def test_a_shorter_invisible_time_brings_the_message_back_sooner(
    broker: RunningBroker, peer: Peer
) -> None:
    await send(peer, "orders", b"1")
    (given,) = await pop(peer, "orders", poll_time=5_000)
    answer = await change(peer, given, SOON)
    assert answer.code == 0
    assert int(answer.fields["popTime"]) > given.handle.pop_time_ms
    assert answer.fields["invisibleTime"] == str(SOON)
    assert (await change(peer, given, SOON)).code == ResponseCode.NO_MESSAGE
    (back,) = await pop(peer, "orders", poll_time=5_000)
    assert back.record.reconsume_times == 1


async def test_many_are_acknowledged_at_once(broker: RunningBroker, peer: Peer) -> None:
    await send(peer, "orders", *(str(n).encode() for n in range(5)), queues=1)
    await eventually(lambda: broker.inner.core.store.queues.max_offset("orders", 0) == 5)
    given = await pop(peer, "orders")
    handle = given[0].handle
    bits = encode_bit_set(handle.start_offset, [0, 2, 4])
    part = BatchAck(
        "poppers",
        "orders",
        "0",
        handle.start_offset,
        0,
        handle.revive_queue_id,
        handle.pop_time_ms,
        60_000,
        bits,
    )
    body = BatchAckMessageRequestBody("broker-a", (part,)).encode()
    assert (await peer.ask(RequestCode.BATCH_ACK_MESSAGE, body=body)).code == 0
    key = ("orders", "poppers", 0, handle.start_offset, handle.pop_time_ms)
    entry = broker.inner.tasks.master.pops.checkpoints.find(key)
    assert entry is not None and list(entry.unacked) == [1, 3]
    greedy = replace(part, bit_set=encode_bit_set(0, range(24_000)), consumer_group="strangers")
    flood = BatchAckMessageRequestBody("broker-a", (greedy,) * 500).encode()
    assert (await peer.ask(RequestCode.BATCH_ACK_MESSAGE, body=flood)).code == 0
    assert list(entry.unacked) == [1, 3]
    empty = BatchAckMessageRequestBody("broker-a", ()).encode()
    assert (await peer.ask(RequestCode.BATCH_ACK_MESSAGE, body=empty)).code == ResponseCode.NO_MESSAGE


async def test_only_wanted_messages_are_popped(broker: RunningBroker, peer: Peer) -> None:
    await send(peer, "orders", b"1", b"2", b"3", b"4", queues=1)
    await eventually(lambda: broker.inner.core.store.queues.max_offset("orders", 0) == 4)
    given = await pop(peer, "orders", exp="blue", exp_type="TAG")
    assert [message.body for message in given] == [b"2", b"4"]
    assert (await ask_pop(peer, "orders")).code == ResponseCode.POLLING_TIMEOUT


async def test_a_group_that_asks_for_the_end_of_a_young_topic_gets_all(
    broker: RunningBroker, peer: Peer
) -> None:
    await send(peer, "orders", b"1", b"2", queues=1)
    await eventually(lambda: broker.inner.core.store.queues.max_offset("orders", 0) == 2)
    assert len(await pop(peer, "orders", init_mode=1)) == 2


async def test_a_peek_shows_and_moves_nothing(broker: RunningBroker, peer: Peer) -> None:
    await send(peer, "orders", b"1", b"2", queues=1)
    await eventually(lambda: broker.inner.core.store.queues.max_offset("orders", 0) == 2)
    header = PeekMessageRequest("orders", 0, 32, "poppers").encode()
    for _ in range(2):
        assert len(records(await peer.ask(RequestCode.PEEK_MESSAGE, header))) == 2
    assert len(await pop(peer, "orders")) == 2
    assert (await peer.ask(RequestCode.PEEK_MESSAGE, header)).code == ResponseCode.PULL_NOT_FOUND


async def test_a_notification_waits_for_a_message(broker: RunningBroker, peer: Peer) -> None:
    await send(peer, "orders", b"1")
    await pop(peer, "orders", poll_time=5_000)
    header = NotificationRequest("poppers", "orders", -1, 5_000, 0).encode()
    waiting = asyncio.create_task(peer.ask(RequestCode.NOTIFICATION, header))
    await eventually(lambda: len(broker.inner.tasks.waits.holds) == 1)
    await send(peer, "orders", b"2")
    assert (await waiting).fields == {"hasMsg": "true", "pollingFull": "false"}
    short = NotificationRequest("nobody", "absent", -1, 0, 0).encode()
    assert (await peer.ask(RequestCode.NOTIFICATION, short)).code == ResponseCode.TOPIC_NOT_EXIST


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"max_msg_nums": 33}, ResponseCode.INVALID_PARAMETER),
        ({"queue_id": 99}, ResponseCode.INVALID_PARAMETER),
        ({"queue_id": -2}, ResponseCode.INVALID_PARAMETER),
        ({"topic": "absent"}, ResponseCode.TOPIC_NOT_EXIST),
        ({"consumer_group": "no/slash"}, ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST),
        ({"invisible_time": -5}, ResponseCode.SYSTEM_ERROR),
        ({"invisible_time": 1 << 62}, ResponseCode.SYSTEM_ERROR),
        ({"exp": "||", "exp_type": "TAG"}, ResponseCode.SUBSCRIPTION_PARSE_FAILED),
    ],
)
async def test_a_bad_pop_is_refused(
    broker: RunningBroker, peer: Peer, changes: dict[str, object], code: ResponseCode
) -> None:
    await send(peer, "orders", b"1")
    topic = str(changes.pop("topic", "orders"))
    assert (await ask_pop(peer, topic, **changes)).code == code
    assert len(broker.inner.tasks.master.pops.checkpoints) == 0


async def test_what_was_popped_and_acknowledged_is_known_after_a_restart(start_broker: StartBroker) -> None:
    broker = await start_broker()
    peer = Peer(broker.address)
    await send(peer, "orders", *(str(n).encode() for n in range(4)), queues=1)
    await eventually(lambda: broker.inner.core.store.queues.max_offset("orders", 0) == 4)
    given = await pop(peer, "orders", invisible_time=2_000)
    await ack(peer, given[0])
    await ack(peer, given[2])
    await peer.close()
    await broker.stop()
    broker = await start_broker()
    peer = Peer(broker.address)
    assert len(broker.inner.tasks.master.pops.checkpoints) == 1
    assert (await ack(peer, given[1])).code == 0
    back = await pop(peer, "orders", poll_time=8_000)
    assert [message.body for message in back] == [b"3"]
    await ack(peer, back[0])
    await peer.close()
    await broker.stop()
    broker = await start_broker()
    assert len(broker.inner.tasks.master.pops.checkpoints) == 0


async def test_a_group_that_a_crash_made_unknown_gets_its_messages_back(
    start_broker: StartBroker, tmp_path: Path
) -> None:
    """The table of groups is saved a moment after the first pop of a group that makes itself."""
    broker = await start_broker()
    peer = Peer(broker.address)
    await send(peer, "orders", b"1", b"2", queues=1)
    await eventually(lambda: broker.inner.core.store.queues.max_offset("orders", 0) == 2)
    assert len(await pop(peer, "orders", invisible_time=SOON)) == 2
    await peer.close()
    await broker.stop()
    for saved in tmp_path.rglob("subscriptionGroup.json*"):
        saved.unlink()
    broker = await start_broker()
    await eventually(lambda: len(broker.inner.tasks.master.pops.checkpoints) == 0)
    assert "poppers" in broker.inner.core.tables.groups
    peer = Peer(broker.address)
    assert sorted([message.body for message in await pop(peer, "orders", poll_time=5_000)]) == [b"1", b"2"]
    await peer.close()


async def restarted(start_broker: StartBroker, count: int, **settings: str) -> tuple[RunningBroker, Peer]:
    """A broker that has not looked at its messages since it was started: reading them is a cold read."""
    broker = await start_broker(**settings)
    peer = Peer(broker.address)
    await send(peer, "orders", *(b"%d" % number for number in range(count)), queues=1)
    await peer.close()
    await broker.stop()
    broker = await start_broker(**settings)
    return broker, Peer(broker.address)


async def test_two_cold_pops_at_once_share_what_there_is(start_broker: StartBroker) -> None:
    broker, peer = await restarted(start_broker, 12)
    given = await asyncio.gather(*(pop(peer, "orders", max_msg_nums=4, poll_time=5_000) for _ in range(3)))
    assert sorted(int(message.body) for one in given for message in one) == list(range(12))
    assert (await ask_pop(peer, "orders")).code == ResponseCode.POLLING_TIMEOUT
    for one in given:
        for message in one:
            assert (await ack(peer, message)).code == 0
    assert len(broker.inner.tasks.master.pops.checkpoints) == 0
    await peer.close()


async def test_a_cold_pop_skips_what_is_not_wanted(start_broker: StartBroker) -> None:
    _, peer = await restarted(start_broker, 6, enablePropertyFilter="true")
    given = await pop(peer, "orders", exp="TAGS = 'blue'", exp_type="SQL92")
    assert [message.body for message in given] == [b"1", b"3", b"5"]
    none = await ask_pop(peer, "orders", consumer_group="strangers", exp="TAGS = 'x'", exp_type="SQL92")
    assert none.code == ResponseCode.POLLING_TIMEOUT
    await peer.close()


async def test_cold_messages_are_peeked_and_popped_in_order(start_broker: StartBroker) -> None:
    _, peer = await restarted(start_broker, 4)
    header = PeekMessageRequest("orders", 0, 32, "poppers").encode()
    assert len(records(await peer.ask(RequestCode.PEEK_MESSAGE, header))) == 4
    both = await asyncio.gather(*(pop(peer, "orders", order=True, max_msg_nums=2) for _ in range(2)))
    assert sorted(len(given) for given in both) == [0, 2]
    await peer.close()


async def test_a_deleted_topic_takes_its_retry_topic_and_its_open_pops_along(
    broker: RunningBroker, peer: Peer
) -> None:
    await send(peer, "orders", b"1", b"2", queues=1)
    await eventually(lambda: broker.inner.core.store.queues.max_offset("orders", 0) == 2)
    await pop(peer, "orders", invisible_time=SOON, max_msg_nums=1)
    await pop(peer, "orders", poll_time=5_000, max_msg_nums=1)
    await pop(peer, "orders", poll_time=5_000, invisible_time=SOON)
    assert "%RETRY%poppers_orders" in broker.inner.core.tables.topics
    assert (await peer.ask(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": "orders"})).code == 0
    assert "%RETRY%poppers_orders" not in broker.inner.core.tables.topics
    await eventually(lambda: len(broker.inner.tasks.master.pops.checkpoints) <= 1)
    assert "%RETRY%poppers_orders" not in broker.inner.core.tables.topics


async def test_what_another_broker_left_on_its_timers_is_revived_when_it_arrives(
    broker: RunningBroker, peer: Peer
) -> None:
    await send(peer, "orders", b"1", b"2", queues=1)
    await eventually(lambda: broker.inner.core.store.queues.max_offset("orders", 0) == 2)
    broker.inner.core.tables.groups.find_or_create("poppers", True, 1)
    broker.inner.core.tables.offsets.commit("orders", "poppers", 0, 2)
    checkpoint = b'{"so":0,"pt":1000,"it":1000,"bm":0,"n":2,"q":0,"t":"orders","c":"poppers","d":[0,1]}'
    done = b'{"ao":0,"so":0,"c":"poppers","t":"orders","q":0,"pt":1000,"bn":"b"}'
    store = broker.inner.core.store
    for tag, body in ((b"ck", checkpoint), (b"ack", done)):
        properties = b"TAGS\x01" + tag + b"\x02"
        draft = MessageDraft(REVIVE, 3, 0, 0, 0, store.log.store_host, 0, 0, body, properties)
        assert store.log.put(draft, 1).status is PutStatus.PUT_OK
    broker.inner.tasks.log.dispatching.schedule()
    (back,) = await pop(peer, "orders", poll_time=10_000)
    assert (back.body, back.record.reconsume_times) == (b"2", 1)


@pytest.mark.parametrize("properties", [{}, {"DELAY": "1"}])
async def test_nobody_writes_into_the_revive_log_from_outside(
    broker: RunningBroker, peer: Peer, properties: dict[str, str]
) -> None:
    answer = await peer.send(REVIVE, b"{}", properties={"TAGS": "ack", **properties})
    assert answer.code == ResponseCode.NO_PERMISSION
    assert broker.inner.core.store.log.max_offset == 0


def park_pops(broker: RunningBroker, count: int, keys: tuple[Hashable, ...]) -> None:
    """As long polls of other clients would."""
    holds = broker.inner.tasks.waits.holds
    for number in range(count):
        client = f"client-{number % 100}"
        holds.park(Request(*keys, client=client, accepts=lambda arrival: False), 1 << 40)


@pytest.mark.parametrize(
    ("parked", "keys"),
    [(1_024, (waiting_key("orders", "poppers", -1),)), (100_000, (ALL_POPS,))],
)
async def test_a_pop_too_many_does_not_wait(
    broker: RunningBroker, peer: Peer, parked: int, keys: tuple[Hashable, ...]
) -> None:
    await send(peer, "orders", b"1")
    await pop(peer, "orders", poll_time=5_000)
    holds = broker.inner.tasks.waits.holds
    park_pops(broker, parked - 1, keys)
    waiting = asyncio.create_task(ask_pop(peer, "orders", poll_time=5_000))
    await eventually(lambda: holds.count_at(keys[0]) == parked)
    assert (await ask_pop(peer, "orders", poll_time=5_000)).code == ResponseCode.POLLING_FULL
    # Not even then is it told to wait whose time is up.
    assert (await ask_pop(peer, "orders", poll_time=0)).code == ResponseCode.POLLING_TIMEOUT
    holds.drop_client("client-0")
    second = asyncio.create_task(ask_pop(peer, "orders", poll_time=5_000))
    await send(peer, "orders", b"2", b"3")
    bodies = [record.body for answer in await asyncio.gather(waiting, second) for record in records(answer)]
    assert sorted(bodies) == [b"2", b"3"]
    holds.release_all()


@pytest.mark.parametrize("key", ["popPollingSize", "maxPopPollingSize"])
async def test_an_operator_says_how_many_pops_wait(broker: RunningBroker, peer: Peer, key: str) -> None:
    assert (await peer.ask(RequestCode.UPDATE_BROKER_CONFIG, {}, f"{key}=1".encode())).code == 0
    await send(peer, "orders", b"1")
    await pop(peer, "orders", poll_time=5_000)
    waiting = asyncio.create_task(ask_pop(peer, "orders", poll_time=5_000))
    await eventually(lambda: broker.inner.tasks.waits.holds.count_at(ALL_POPS) == 1)
    assert (await ask_pop(peer, "orders", poll_time=5_000)).code == ResponseCode.POLLING_FULL
    await send(peer, "orders", b"2")
    assert [record.body for record in records(await waiting)] == [b"2"]


async def test_a_notification_too_many_does_not_wait(broker: RunningBroker, peer: Peer) -> None:
    await peer.ask(RequestCode.UPDATE_BROKER_CONFIG, {}, b"popPollingSize=1")
    await send(peer, "orders", b"1")
    await pop(peer, "orders", poll_time=5_000)
    header = NotificationRequest("poppers", "orders", -1, 5_000, 0).encode()
    waiting = asyncio.create_task(peer.ask(RequestCode.NOTIFICATION, header))
    await eventually(lambda: len(broker.inner.tasks.waits.holds) == 1)
    second = await peer.ask(RequestCode.NOTIFICATION, header)
    assert second.fields == {"hasMsg": "false", "pollingFull": "true"}
    await send(peer, "orders", b"2")
    assert (await waiting).fields["hasMsg"] == "true"


def test_a_hundred_thousand_waiting_pops_fit_in_memory() -> None:
    """On all four queues of a topic, a group of its own each: the dearest case."""
    holds = Holds()
    tracemalloc.start()
    for number in range(100_000):
        group = f"group-{number}"
        keys = (*waited_for("orders", group, -1), waiting_key("orders", group, -1), ALL_POPS)
        holds.park(Request(*keys, client=number % 100), number)
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert used < 120 << 20
    assert len(holds.release_all()) == 100_000
    assert holds.count_at(ALL_POPS) == 0


async def view(peer: Peer, name: str, key: str) -> int | None:
    """The sum of the last minute; None: there is no such item."""
    fields = {"statsName": name, "statsKey": key}
    answer = await peer.ask(RequestCode.VIEW_BROKER_STATS_DATA, fields)
    if answer.code != 0:
        assert answer.code == ResponseCode.SYSTEM_ERROR
        return None
    return BrokerStatsData.decode(answer.body).stats_minute.sum


async def test_acks_and_checkpoints_are_counted_for_who_was_given_messages(
    broker: RunningBroker, peer: Peer
) -> None:
    await send(peer, "orders", b"1", b"2", b"3", queues=1)
    await eventually(lambda: broker.inner.core.store.queues.max_offset("orders", 0) == 3)
    first, second, _ = await pop(peer, "orders")
    assert await view(peer, "GROUP_CK_NUMS", "orders@poppers") == 1
    assert await view(peer, "GROUP_ACK_NUMS", "orders@poppers") is None
    for _ in range(2):
        await ack(peer, first)
    await ack(peer, second)
    assert await view(peer, "GROUP_ACK_NUMS", "orders@poppers") == 2
    assert await view(peer, "GROUP_CK_NUMS", "orders@strangers") is None
    assert await view(peer, "NO_SUCH_NUMS", "orders@poppers") is None
