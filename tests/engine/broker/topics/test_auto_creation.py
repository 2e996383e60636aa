"""Limits for topics and groups that make themselves: who is refused, in which words; nothing changes."""

from __future__ import annotations

import pytest

from engine.broker.groups.group_table import SubscriptionGroupTable
from engine.broker.settings.options import LiveOptions
from engine.broker.topics.auto_creation import AutoCreated, AutoCreationRefused, creator_of
from engine.broker.topics.topic_table import TopicTable
from engine.protocol.bodies.clients import ConsumerData, HeartbeatData
from engine.protocol.bodies.groups import SubscriptionGroupConfig
from engine.protocol.bodies.topics import TopicConfig
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Command
from engine.protocol.headers.groups import GetSubscriptionGroupConfigRequest
from engine.protocol.headers.offsets import UpdateConsumerOffsetRequest
from engine.protocol.headers.send import ConsumerSendMsgBackRequest
from engine.protocol.names import dlq_topic, retry_topic
from tests.engine.broker.conftest import StartBroker
from tests.engine.broker.peers import Peer, RunningBroker, records
from tests.engine.broker.pop.popping import pop_header

NOW_MS = 1_700_000_000_000
NO_TOPIC, NO_GROUP = ResponseCode.TOPIC_NOT_EXIST, ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST


def counted(limit: int = 0, address_limit: int = 0) -> AutoCreated:
    live = LiveOptions(
        signalbox_max_auto_created_topics=limit, signalbox_max_auto_created_topics_per_address=address_limit
    )
    return AutoCreated("topic", NO_TOPIC, live)


# -- the table ----------------------------------------------------------------------------------------------


def test_one_address_is_limited_by_what_it_made_and_what_is_still_there() -> None:
    made = counted(address_limit=2)
    for name in ("a", "b"):
        made.check(name, "10.0.0.1", 0)
        made.note(name, "10.0.0.1")
    with pytest.raises(AutoCreationRefused, match=r"10.0.0.1 has had 2 topics created.*PerAddress is 2"):
        made.check("c", "10.0.0.1", 2)
    made.check("c", "10.0.0.2", 2)
    made.forget("a")
    made.check("c", "10.0.0.1", 1)


def test_an_address_without_anything_is_forgotten() -> None:
    made = counted(address_limit=5)
    for number in range(1_000):
        made.note("passing", f"10.0.{number // 256}.{number % 256}")
        made.forget("passing")
    assert not made._counts and not made._creators


@pytest.mark.parametrize(
    ("host", "creator"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("fe80::1%eth0", "fe80::/64"),
        ("not:an:address", "not:an:address"),
    ],
)
def test_what_counts_as_one_address(host: str, creator: str) -> None:
    assert creator_of(host) == creator


def test_a_flood_of_refusals_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    made = counted(limit=1)
    for number in range(50):
        with pytest.raises(AutoCreationRefused):
            made.check(f"topic-{number}", "10.0.0.1", 1)
    assert len(caplog.records) == 1


def test_what_a_slave_adopts_frees_what_is_gone() -> None:
    topics, groups = TopicTable(), SubscriptionGroupTable()
    topics.create_unsaved(TopicConfig("t"), NOW_MS, "10.0.0.1")
    groups.find_or_create("g", True, NOW_MS, "10.0.0.1")
    topics.adopt({}, topics.version)
    groups.adopt(SubscriptionGroupTable().snapshot())
    assert not topics.auto_created._creators and not groups.auto_created._creators


# -- a broker -----------------------------------------------------------------------------------------------


@pytest.fixture
async def full(start_broker: StartBroker) -> RunningBroker:
    """Takes two more topics and one more group."""
    return await start_broker(signalboxMaxAutoCreatedTopics="2", signalboxMaxAutoCreatedGroups="1")


def state(broker: RunningBroker) -> tuple[object, ...]:
    inner = broker.inner
    counts = (
        dict(inner.core.tables.topics.auto_created._counts),
        dict(inner.core.tables.groups.auto_created._counts),
    )
    names = sorted(inner.core.tables.topics.names()), sorted(inner.core.tables.groups.names())
    return (
        *names,
        inner.core.tables.topics.version,
        inner.core.tables.groups.version,
        inner.core.store.log.max_offset,
        *counts,
    )


async def refused(
    broker: RunningBroker, peer: Peer, code: int, *setting: str, request: tuple[int, dict[str, str], bytes]
) -> None:
    before = state(broker)
    answer: Command = await peer.ask(*request)
    assert answer.code == code, answer
    assert all(word in str(answer.remark) for word in setting), answer.remark
    assert state(broker) == before


async def test_a_topic_too_many_is_refused_and_an_administrators_is_not(full: RunningBroker) -> None:
    peer = Peer(full.address)
    for topic in ("first", "second"):
        assert (await peer.send(topic)).code == 0
    before = state(full)
    for topic in ("third", "%RETRY%unknown+orders", "%DLQ%anything"):
        answer = await peer.send(topic)
        assert answer.code == NO_TOPIC
        assert "signalboxMaxAutoCreatedTopics is 2" in str(answer.remark)
    assert state(full) == before
    assert (await peer.send("first")).code == 0
    fields = {
        "topic": "third",
        "defaultTopic": "TBW102",
        "readQueueNums": "1",
        "writeQueueNums": "1",
        "perm": "6",
        "topicFilterType": "SINGLE_TAG",
        "topicSysFlag": "0",
        "order": "false",
    }
    assert (await peer.ask(RequestCode.UPDATE_AND_CREATE_TOPIC, fields)).code == 0
    assert (await peer.send("third")).code == 0
    await peer.close()


async def test_a_group_too_many_is_refused_on_every_way(full: RunningBroker) -> None:
    peer = Peer(full.address)
    assert (await peer.send("orders")).code == 0
    assert (await peer.heartbeat("first", "orders")).code == 0
    name = "signalboxMaxAutoCreatedGroups is 1"
    offset = UpdateConsumerOffsetRequest("late", "orders", 0, 1).encode()
    back = ConsumerSendMsgBackRequest(offset=0, group="late", delay_level=1).encode()
    heartbeat = HeartbeatData("c", (), (ConsumerData("late"),)).encode()
    pop = pop_header("orders", consumer_group="late").encode()
    for request in (
        (RequestCode.HEART_BEAT, {}, heartbeat),
        (RequestCode.UPDATE_CONSUMER_OFFSET, offset, b""),
        (RequestCode.CONSUMER_SEND_MSG_BACK, back, b""),
        (RequestCode.POP_MESSAGE, pop, b""),
        (RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG, GetSubscriptionGroupConfigRequest("late").encode(), b""),
    ):
        await refused(full, peer, NO_GROUP, name, request=request)
    before = state(full)
    for answer in (await peer.pull("orders", 0, consumer_group="late"), await peer.send("%RETRY%late")):
        assert answer.code == NO_GROUP and name in str(answer.remark)
    assert state(full) == before
    config = SubscriptionGroupConfig(group_name="late").encode()
    assert (await peer.ask(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=config)).code == 0
    assert (await peer.pull("orders", 0, consumer_group="late")).code == 0
    await peer.close()


async def test_a_heartbeat_keeps_its_other_groups(full: RunningBroker) -> None:
    peer = Peer(full.address)
    groups = tuple(ConsumerData(name) for name in ("late", "first", "later"))
    full.inner.core.tables.groups.put(SubscriptionGroupConfig(group_name="first"), NOW_MS)
    answer = await peer.ask(RequestCode.HEART_BEAT, body=HeartbeatData("c", (), groups).encode())
    assert answer.code == NO_GROUP and "signalboxMaxAutoCreatedGroups" in str(answer.remark)
    assert full.inner.core.clients.consumers.names() == ["first"]
    assert (
        retry_topic("first") in full.inner.core.tables.topics and "late" not in full.inner.core.tables.groups
    )
    await peer.close()


async def test_messages_of_a_known_group_come_back_whatever_the_number_of_topics(full: RunningBroker) -> None:
    peer = Peer(full.address)
    for topic in ("orders", "others"):
        await peer.send(topic)
    assert (await peer.pull("orders", 0, consumer_group="first")).code == 0
    stored = records(await peer.pull("orders", 0, consumer_group="first"))[0]
    back = ConsumerSendMsgBackRequest(offset=stored.commit_log_offset, group="first", delay_level=-1)
    assert (await peer.ask(RequestCode.CONSUMER_SEND_MSG_BACK, back.encode())).code == 0
    assert dlq_topic("first") in full.inner.core.tables.topics
    assert (await peer.send(retry_topic("first"))).code == 0
    assert (await peer.send("third")).code == NO_TOPIC
    await peer.close()


async def test_a_restart_does_not_forget_the_limit_in_all(start_broker: StartBroker) -> None:
    settings = {"signalboxMaxAutoCreatedTopics": "2"}
    first = await start_broker(**settings)
    peer = Peer(first.address)
    for topic in ("first", "second"):
        assert (await peer.send(topic)).code == 0
    await peer.close()
    await first.stop()
    second = await start_broker(**settings)
    peer = Peer(second.address)
    assert (await peer.send("third")).code == NO_TOPIC
    await peer.close()


async def test_limits_of_an_address_change_at_run_time_and_zero_is_none(start_broker: StartBroker) -> None:
    names = ("signalboxMaxAutoCreatedTopicsPerAddress", "signalboxMaxAutoCreatedGroupsPerAddress")
    broker = await start_broker(**dict.fromkeys(names, "1"))
    peer = Peer(broker.address)
    assert (await peer.send("first")).code == 0
    answer = await peer.send("second")
    assert answer.code == NO_TOPIC and "127.0.0.1 has had 1 topics created" in str(answer.remark)
    assert (await peer.heartbeat("first", "first")).code == 0
    answer = await peer.heartbeat("second", "first")
    assert answer.code == NO_GROUP and f"{names[1]} is 1" in str(answer.remark)
    text = "".join(f"{name}=0\n" for name in names)
    assert (await peer.ask(RequestCode.UPDATE_BROKER_CONFIG, body=text.encode())).code == 0
    assert (await peer.send("second")).code == 0
    assert (await peer.heartbeat("second", "first")).code == 0
    await peer.close()


async def test_deleting_gives_an_address_room(start_broker: StartBroker) -> None:
    broker = await start_broker(signalboxMaxAutoCreatedTopicsPerAddress="1")
    peer = Peer(broker.address)
    assert (await peer.send("first")).code == 0
    assert (await peer.ask(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": "first"})).code == 0
    assert (await peer.send("second")).code == 0
    await peer.close()
