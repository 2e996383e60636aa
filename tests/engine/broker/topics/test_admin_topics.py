"""Topics as an administrator changes and reads them, over a real socket."""

from __future__ import annotations

import pytest

from engine.protocol.bodies.basics import DataVersion, MessageQueue, TopicList
from engine.protocol.bodies.stats import TopicStatsTable
from engine.protocol.bodies.topics import (
    CreateTopicListRequestBody,
    TopicConfig,
    TopicConfigAndMappingSerializeWrapper,
)
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Command
from engine.protocol.headers.topics import CreateTopicRequest
from tests.engine.broker.conftest import StartBroker
from tests.engine.broker.peers import Peer, RunningBroker, eventually

BAD_NAMES = ["../x", "..%2f", "a\0b", ".", "a" * 128, "%RETRY%../../", "a\u2215b", " "]


async def create(peer: Peer, topic: str, **changes: object) -> Command:
    values: dict[str, object] = {"topic": topic, "read_queue_nums": 4, "write_queue_nums": 4, "perm": 6}
    header = CreateTopicRequest(**{**values, **changes})  # type: ignore[arg-type]
    return await peer.ask(RequestCode.UPDATE_AND_CREATE_TOPIC, header.encode())


async def config(peer: Peer, topic: str) -> TopicConfig:
    answer = await peer.ask(RequestCode.GET_TOPIC_CONFIG, {"topic": topic, "lo": "true"})
    assert answer.code == 0, answer.remark
    return TopicConfig.decode(answer.body)


async def test_a_topic_is_made_changed_and_kept_over_a_restart(start_broker: StartBroker) -> None:
    broker = await start_broker()
    peer = Peer(broker.address)
    assert (await create(peer, "orders", write_queue_nums=2)).code == 0
    assert (await create(peer, "orders", perm=4, attributes="+message.type=FIFO")).code == 0
    await peer.close()
    await broker.stop()

    peer = Peer((await start_broker()).address)
    kept = await config(peer, "orders")
    await peer.close()
    assert (kept.read_queue_nums, kept.write_queue_nums, kept.perm) == (4, 4, 4)
    assert kept.attributes == {"message.type": "FIFO"}


async def test_mixed_topics_are_made_where_they_are_allowed_and_outlive_the_setting(
    start_broker: StartBroker,
) -> None:
    mixed = {"attributes": "+message.type=MIXED"}
    broker = await start_broker()
    peer = Peer(broker.address)
    refused = await create(peer, "orders", **mixed)
    assert (refused.code, refused.remark) == (29, "MIXED message type is not supported.")
    listed = CreateTopicListRequestBody((TopicConfig("orders", attributes={"+message.type": "MIXED"}),))
    answer = await peer.ask(RequestCode.UPDATE_AND_CREATE_TOPIC_LIST, body=listed.encode())
    assert answer.code == 29 and "orders" not in broker.inner.core.tables.topics
    for allowed, code in ((b"true", 0), (b"false", 29)):
        setting = b"enableMixedMessageType=" + allowed
        assert (await peer.ask(RequestCode.UPDATE_BROKER_CONFIG, body=setting)).code == 0
        assert (await create(peer, f"new-{code}", **mixed)).code == code
    assert (await peer.send("new-0")).code == 0
    await peer.close()
    await broker.stop()

    peer = Peer((await start_broker()).address)
    assert (await create(peer, "new-0", write_queue_nums=7, **mixed)).code == 0
    kept = await config(peer, "new-0")
    assert (kept.attributes, kept.write_queue_nums) == ({"message.type": "MIXED"}, 7)
    assert (await peer.send("new-0")).code == 0
    await peer.close()


async def test_an_equal_topic_is_no_change(broker: RunningBroker, peer: Peer) -> None:
    await create(peer, "orders")
    version = broker.inner.core.tables.topics.version
    assert (await create(peer, "orders")).code == 0
    assert broker.inner.core.tables.topics.version == version


@pytest.mark.parametrize("name", [*BAD_NAMES, "TBW102", "TestCluster"])
async def test_a_bad_or_system_name_makes_no_topic(broker: RunningBroker, peer: Peer, name: str) -> None:
    before = broker.inner.core.tables.topics.names()
    answer = await create(peer, name)
    assert answer.code == ResponseCode.INVALID_PARAMETER
    assert answer.remark
    assert broker.inner.core.tables.topics.names() == before


async def test_a_missing_field_is_named(broker: RunningBroker, peer: Peer) -> None:
    answer = await peer.ask(RequestCode.UPDATE_AND_CREATE_TOPIC, {"topic": "orders"})
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert "readQueueNums" in str(answer.remark)


async def test_a_million_queues_are_refused(broker: RunningBroker, peer: Peer) -> None:
    answer = await create(peer, "orders", write_queue_nums=2**31 - 1)
    assert answer.code == ResponseCode.INVALID_PARAMETER
    assert "orders" not in broker.inner.core.tables.topics


async def test_a_list_is_taken_whole_or_not_at_all(broker: RunningBroker, peer: Peer) -> None:
    good = (TopicConfig("a", 1, 1), TopicConfig("b", 2, 2))
    bad = CreateTopicListRequestBody((*good, TopicConfig("../c", 1, 1)))
    answer = await peer.ask(RequestCode.UPDATE_AND_CREATE_TOPIC_LIST, body=bad.encode())
    assert answer.code == ResponseCode.INVALID_PARAMETER
    assert "a" not in broker.inner.core.tables.topics
    answer = await peer.ask(
        RequestCode.UPDATE_AND_CREATE_TOPIC_LIST, body=CreateTopicListRequestBody(good).encode()
    )
    assert answer.code == 0
    assert (await config(peer, "b")).read_queue_nums == 2


async def test_a_deleted_topic_takes_offsets_and_queues_with_it(broker: RunningBroker, peer: Peer) -> None:
    await peer.send("orders", b"x")
    await eventually(lambda: broker.inner.core.store.queues.max_offset("orders", 0) == 1)
    commit = {"consumerGroup": "g", "topic": "orders", "queueId": "0", "commitOffset": "1"}
    await peer.ask(RequestCode.UPDATE_CONSUMER_OFFSET, commit)
    assert broker.inner.core.tables.offsets.topics_of("g") == ["orders"]

    assert (await peer.ask(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": "orders"})).code == 0

    assert "orders" not in broker.inner.core.tables.topics
    assert broker.inner.core.tables.offsets.topics_of("g") == []
    assert "orders" not in broker.inner.core.store.queues.ids_by_topic()
    assert "orders" not in broker.inner.core.figures.traffic.put_by_topic
    assert (await peer.send("orders", b"new")).fields["queueOffset"] == "0"


async def test_deleting_what_is_not_there_succeeds(broker: RunningBroker, peer: Peer) -> None:
    assert (await peer.ask(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": "nothing"})).code == 0


@pytest.mark.parametrize("name", [*BAD_NAMES, "TBW102", "broker-a"])
async def test_bad_or_system_topics_are_not_deleted(broker: RunningBroker, peer: Peer, name: str) -> None:
    before = broker.inner.core.tables.topics.names()
    answer = await peer.ask(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": name})
    assert answer.code == ResponseCode.INVALID_PARAMETER
    assert broker.inner.core.tables.topics.names() == before


async def test_an_unknown_topic_has_no_configuration(broker: RunningBroker, peer: Peer) -> None:
    for code in (RequestCode.GET_TOPIC_CONFIG, RequestCode.GET_TOPIC_STATS_INFO):
        answer = await peer.ask(code, {"topic": "nothing"})
        assert answer.code == ResponseCode.TOPIC_NOT_EXIST


async def test_all_topics_come_at_once_or_in_pages(broker: RunningBroker, peer: Peer) -> None:
    now = 1
    for number in range(600):
        broker.inner.core.tables.topics.put(TopicConfig(f"topic-{number:04}", 1, 1), now)
    whole = await peer.ask(RequestCode.GET_ALL_TOPIC_CONFIG)
    everything = TopicConfigAndMappingSerializeWrapper.decode(whole.body)
    assert whole.fields["totalTopicNum"] == str(len(broker.inner.core.tables.topics))
    assert everything.topic_config_table == broker.inner.core.tables.topics.configs()
    assert everything.data_version == broker.inner.core.tables.topics.version

    names: list[str] = []
    version = DataVersion()
    while len(names) < len(broker.inner.core.tables.topics):
        fields = {
            "topicSeq": str(len(names)),
            "dataVersion": version.encode().decode(),
            "maxTopicNum": "100",
        }
        page = TopicConfigAndMappingSerializeWrapper.decode(
            (await peer.ask(RequestCode.GET_ALL_TOPIC_CONFIG, fields)).body
        )
        assert len(page.topic_config_table) <= 100
        names += sorted(page.topic_config_table)
        version = page.data_version
    assert names == sorted(broker.inner.core.tables.topics.names())


async def test_a_bad_page_is_refused(broker: RunningBroker, peer: Peer) -> None:
    answer = await peer.ask(RequestCode.GET_ALL_TOPIC_CONFIG, {"topicSeq": "0", "dataVersion": "{{{"})
    assert answer.code == ResponseCode.SYSTEM_ERROR


async def test_topic_stats_show_every_queue(broker: RunningBroker, peer: Peer) -> None:
    await create(peer, "orders", read_queue_nums=2, write_queue_nums=3)
    await peer.send("orders", b"x", queue_id=1)
    await eventually(lambda: broker.inner.core.store.queues.max_offset("orders", 1) == 1)
    answer = await peer.ask(RequestCode.GET_TOPIC_STATS_INFO, {"topic": "orders"})
    stats = TopicStatsTable.decode(answer.body)
    assert sorted(queue.queue_id for queue in stats.offset_table) == [0, 1, 2]
    written = stats.offset_table[MessageQueue("orders", "broker-a", 1)]
    assert (written.min_offset, written.max_offset) == (0, 1)
    assert written.last_update_timestamp > 1_600_000_000_000
    assert stats.offset_table[MessageQueue("orders", "broker-a", 0)].last_update_timestamp == 0
    assert stats.topic_put_tps > 0


async def test_system_topics_are_listed(broker: RunningBroker, peer: Peer) -> None:
    await create(peer, "orders")
    answer = await peer.ask(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER)
    names = TopicList.decode(answer.body).topic_list
    assert {"TBW102", "TestCluster", "broker-a", "SELF_TEST_TOPIC"} <= set(names)
    assert "orders" not in names
