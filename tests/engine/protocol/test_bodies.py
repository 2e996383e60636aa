"""Bodies: golden texts of each odd style, what C++ and old brokers send, round trips of every class."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.errors import BadRequest, EngineError
from engine.protocol.bodies.auth import PlainAccessConfig, UserInfo
from engine.protocol.bodies.basics import DataVersion, KVTable, MessageQueue, TopicList
from engine.protocol.bodies.clients import (
    Connection,
    ConsumeFromWhere,
    ConsumerConnection,
    ConsumerRunningInfo,
    ConsumeType,
    HeartbeatData,
    MessageModel,
    ProcessQueueInfo,
    ProducerInfo,
)
from engine.protocol.bodies.groups import LockBatchRequestBody, LockBatchResponseBody, SubscriptionGroupConfig
from engine.protocol.bodies.offsets import (
    ConsumerOffsetSerializeWrapper,
    GetConsumerStatusBody,
    ResetOffsetBody,
)
from engine.protocol.bodies.pop import BatchAck, BatchAckMessageRequestBody, encode_bit_set
from engine.protocol.bodies.routes import BrokerData, ClusterInfo, QueueData, TopicRouteData
from engine.protocol.bodies.stats import ConsumeStats, OffsetWrapper, TopicOffset, TopicStatsTable
from engine.protocol.bodies.topics import TopicConfig
from engine.protocol.codes import LanguageCode
from engine.protocol.wire import Body, decode_list, encode_list
from tests.engine.protocol.wire_samples import BODIES, instances_of

QUEUE = MessageQueue("t", "b", 0)
QUEUE_TEXT = b'{"brokerName":"b","queueId":0,"topic":"t"}'


def test_a_queue_is_written_as_operators_write_it() -> None:
    assert f"{MessageQueue('orders', 'broker-a', 3)}" == "orders@broker-a@3"


def test_route_in_both_styles() -> None:
    route = TopicRouteData(
        (QueueData("b", 4, 4, 6),),
        (BrokerData("c", "b", {0: "1.2.3.4:10911", 1: "é"}),),
        order_topic_conf="b:4",
    )
    assert (
        route.encode()
        == (
            '{"brokerDatas":[{"brokerAddrs":{0:"1.2.3.4:10911",1:"é"},"brokerName":"b","cluster":"c",'
            '"enableActingMaster":false}],"filterServerTable":{},"orderTopicConf":"b:4","queueDatas":'
            '[{"brokerName":"b","perm":6,"readQueueNums":4,"topicSysFlag":0,"writeQueueNums":4}]}'
        ).encode()
    )
    assert route.encode(standard=True) == route.encode().replace(b"{0:", b'{"0":').replace(
        b",1:", b',"1":'
    ).replace("é".encode(), b"\\u00e9")
    assert (
        TopicRouteData.decode(route.encode()) == TopicRouteData.decode(route.encode(standard=True)) == route
    )


def test_cluster_info() -> None:
    info = ClusterInfo({"b": BrokerData("c", "b", {0: "x"})}, {"c": frozenset({"b2", "b"})})
    assert info.encode() == (
        b'{"brokerAddrTable":{"b":{"brokerAddrs":{0:"x"},"brokerName":"b","cluster":"c","enableActingMaster":false}},'
        b'"clusterAddrTable":{"c":["b","b2"]}}'
    )


def test_the_old_spelling_of_the_topic_flag_is_read() -> None:
    assert QueueData.decode(b'{"brokerName":"b","topicSynFlag":2}').topic_sys_flag == 2
    assert "topicSynFlag" not in QueueData("b", topic_sys_flag=2).to_json()


def test_object_keyed_tables() -> None:
    stats = TopicStatsTable({QUEUE: TopicOffset(1, 9, 5)}, 0.5)
    assert stats.encode() == (
        b'{"offsetTable":{'
        + QUEUE_TEXT
        + b':{"lastUpdateTimestamp":5,"maxOffset":9,"minOffset":1}},"topicPutTps":0.5}'
    )
    assert TopicStatsTable.decode(stats.encode()) == stats


def test_a_bean_key_spelled_as_a_string_is_read() -> None:
    text = b'{"messageQueueTable":{"{\\"brokerName\\":\\"b\\",\\"queueId\\":0,\\"topic\\":\\"t\\"}":7}}'
    assert GetConsumerStatusBody.decode(text).message_queue_table == {QUEUE: 7}


def test_reset_offsets_as_map_and_as_the_list_of_cpp() -> None:
    body = ResetOffsetBody({QUEUE: 42})
    assert body.encode() == b'{"offsetTable":{' + QUEUE_TEXT + b":42}}"
    assert (
        body.encode_list_form() == b'{"offsetTable":[{"brokerName":"b","offset":42,"queueId":0,"topic":"t"}]}'
    )
    assert ResetOffsetBody.decode(body.encode()) == ResetOffsetBody.decode(body.encode_list_form()) == body


def test_consumer_offsets_keep_integer_queue_ids() -> None:
    table = ConsumerOffsetSerializeWrapper({"t@g": {0: 123, 10: 456}})
    assert table.encode() == b'{"offsetTable":{"t@g":{0:123,10:456}}}'
    assert ConsumerOffsetSerializeWrapper.decode(b'{"offsetTable":{"t@g":{"0":"123","10":456}}}') == table


def test_heartbeat_of_the_cpp_client() -> None:
    beat = HeartbeatData.decode(
        b'{"clientID":"1.1.1.1@7#8","consumerDataSet":[{"consumeFromWhere":4,"consumeType":1,"groupName":"g",'
        b'"messageModel":1,"subscriptionDataSet":[{"codeSet":["0"],"subString":"a","subVersion":"1700000000000",'
        b'"tagsSet":["a"],"topic":"t"},{"subString":"*","subVersion":"1","topic":"%RETRY%g"}]}]}'
    )
    (consumer,) = beat.consumer_data_set
    assert beat.client_id == "1.1.1.1@7#8"
    assert beat.producer_data_set == ()
    assert consumer.consume_type is ConsumeType.CONSUME_PASSIVELY
    assert consumer.message_model is MessageModel.CLUSTERING
    assert consumer.consume_from_where is ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET
    assert consumer.subscription_data_set[0].sub_version == 1700000000000
    assert consumer.subscription_data_set[1].tags_set == frozenset()
    assert consumer.subscription_data_set[1].expression_type == "TAG"


def test_heartbeat_of_java_writes_names() -> None:
    beat = HeartbeatData.decode(
        b'{"clientID":"c","consumerDataSet":[{"consumeFromWhere":"CONSUME_FROM_TIMESTAMP","consumeType":"CONSUME_POP",'
        b'"groupName":"g","messageModel":"BROADCASTING","subscriptionDataSet":[],"unitMode":false}],'
        b'"heartbeatFingerprint":0,"producerDataSet":[{"groupName":"p"}],"withoutSub":false,"newKey":{"x":[1]}}'
    )
    assert beat.consumer_data_set[0].consume_type is ConsumeType.CONSUME_POP
    assert b'"messageModel":"BROADCASTING"' in beat.encode()
    assert b'"clientID":"c"' in beat.encode()


def test_an_unknown_enum_name_reads_as_the_default() -> None:
    assert Connection.decode(b'{"language":"KLINGON","version":"5"}') == Connection(version=5)
    assert Connection.decode(b'{"language":"CPP"}').language is LanguageCode.CPP
    assert ConsumerConnection.decode(b'{"consumeType":"CONSUME_BY_MAGIC"}').consume_type is None


def test_lock_bodies() -> None:
    asked = LockBatchRequestBody.decode(b'{"clientId":"c","consumerGroup":"g","mqSet":[' + QUEUE_TEXT + b"]}")
    assert asked.mq_set == (QUEUE,)
    assert asked.only_this_broker is False
    assert LockBatchResponseBody((QUEUE,)).encode() == b'{"lockOKMQSet":[' + QUEUE_TEXT + b"]}"


def test_running_info_of_a_client() -> None:
    info = ConsumerRunningInfo.decode(
        b'{"jstack":"x","mqTable":{'
        + QUEUE_TEXT
        + b':{"cachedMsgSizeInMiB":3,"droped":true,"locked":false}},'
        b'"mqPopTable":{},"properties":{"PROP_CONSUMEORDERLY":"false","n":5},"statusTable":{"t":{"consumeOKTPS":1.5}},'
        b'"subscriptionSet":[]}'
    )
    assert info.mq_table == {QUEUE: ProcessQueueInfo(cached_msg_size_in_mib=3, dropped=True)}
    assert info.properties == {"PROP_CONSUMEORDERLY": "false", "n": "5"}
    assert info.status_table["t"].consume_ok_tps == 1.5
    assert ConsumerRunningInfo.decode(info.encode()) == info


def test_golden_configs() -> None:
    assert TopicConfig("t").encode() == (
        b'{"attributes":{},"order":false,"perm":6,"readQueueNums":16,"topicFilterType":"SINGLE_TAG",'
        b'"topicName":"t","topicSysFlag":0,"writeQueueNums":16}'
    )
    assert SubscriptionGroupConfig("g").encode() == (
        b'{"attributes":{},"brokerId":0,"consumeBroadcastEnable":true,"consumeEnable":true,"consumeFromMinEnable":true,'
        b'"consumeMessageOrderly":false,"consumeTimeoutMinute":15,"groupName":"g","groupRetryPolicy":{"type":"CUSTOMIZED"},'
        b'"groupSysFlag":0,"notifyConsumerIdsChangedEnable":true,"retryMaxTimes":16,"retryQueueNums":1,'
        b'"whichBrokerWhenConsumeSlowly":1}'
    )
    assert TopicList(("a",)).encode() == b'{"topicList":["a"]}'
    assert ProducerInfo("c", "1.1.1.1").to_json()["remoteIP"] == "1.1.1.1"


def test_data_versions_move_on() -> None:
    first = DataVersion(0, 1, 5)
    assert first.next_version(now_ms=9, state_version=2) == DataVersion(2, 9, 6)
    assert first != DataVersion(0, 1, 6)


def test_queues_sort_by_topic_broker_and_number() -> None:
    queues = [
        MessageQueue("t", "b", 10),
        MessageQueue("t", "b", 2),
        MessageQueue("t", "a", 11),
        MessageQueue("s", "z", 0),
    ]
    assert sorted(queues) == [queues[3], queues[2], queues[1], queues[0]]


def test_lag_is_what_is_not_consumed() -> None:
    stats = ConsumeStats(
        {QUEUE: OffsetWrapper(10, 4, 7, 0), MessageQueue("t", "b", 1): OffsetWrapper(5, 5, 5, 0)}
    )
    assert (stats.total_lag, stats.total_inflight) == (6, 3)


def test_secrets_stay_out_of_reprs() -> None:
    assert "hunter2" not in repr(UserInfo("u", "hunter2"))
    assert "hunter2" not in repr(PlainAccessConfig("a", "hunter2"))


def test_lists_as_bodies() -> None:
    users = [UserInfo("a"), UserInfo("b", user_type="Super")]
    assert encode_list(users) == b'[{"username":"a"},{"userType":"Super","username":"b"}]'
    assert decode_list(UserInfo, encode_list(users)) == users
    with pytest.raises(BadRequest, match="array of UserInfo"):
        decode_list(UserInfo, b"{}")


def test_batch_acks_in_short_and_long_names() -> None:
    ack = BatchAck("g", "t", "0", 100, 1, 2, 3, 4, encode_bit_set(100, [100, 103, 109]))
    assert ack.bit_set == "CQI="
    assert ack.acked_offsets() == [100, 103, 109]
    body = BatchAckMessageRequestBody("b", (ack,))
    assert body.encode() == (
        b'{"acks":[{"b":"CQI=","c":"g","it":4,"pt":3,"q":1,"r":"0","rq":2,"so":100,"t":"t"}],"brokerName":"b"}'
    )
    long_form = b'{"consumerGroup":"g","topic":"t","startOffset":100,"queueId":1,"reviveQueueId":2,"popTime":3,"invisibleTime":4,"bitSet":"CQI="}'  # noqa: E501
    assert BatchAck.decode(long_form) == ack
    for bad in ("*", "A", "A" * 5000):
        with pytest.raises(BadRequest, match="bit set"):
            BatchAck(bit_set=bad).acked_offsets()


@pytest.mark.parametrize(
    ("cls", "text"),
    [
        (TopicConfig, b"[]"),
        (TopicConfig, b"5"),
        (TopicConfig, b"null"),
        (TopicConfig, b""),
        (TopicConfig, b'{"readQueueNums":"x"}'),
        (TopicConfig, b'{"readQueueNums":2147483648}'),
        (TopicConfig, b'{"readQueueNums":1e999}'),
        (TopicConfig, b'{"readQueueNums":[1]}'),
        (TopicConfig, b'{"attributes":[]}'),
        (TopicConfig, b'{"topicName":{}}'),
        (TopicConfig, b'{"order":[]}'),
        (TopicConfig, b'{"topicFilterType":{}}'),
        (TopicList, b'{"topicList":{}}'),
        (TopicList, b'{"topicList":[[]]}'),
        (KVTable, b'{"table":{"a":{}}}'),
        (MessageQueue, b'{"brokerName":"b","queueId":0}'),
        (BrokerData, b'{"brokerAddrs":{"x":"a"}}'),
        (TopicStatsTable, b'{"offsetTable":{"x":{}}}'),
        (TopicStatsTable, b'{"offsetTable":{{"topic":"t"}:{}}}'),
        (TopicStatsTable, b'{"topicPutTps":[]}'),
        (ResetOffsetBody, b'{"offsetTable":[{"topic":"t","brokerName":"b","queueId":0}]}'),
        (ResetOffsetBody, b'{"offsetTable":[7]}'),
    ],
)  # fmt: skip
def test_wrong_shapes_are_bad_requests(cls: type[Body], text: bytes) -> None:
    with pytest.raises(BadRequest):
        cls.decode(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b'{"perm":"4","order":"TRUE","topicName":7}', TopicConfig("7", perm=4, order=True)),
        (b'{"perm":4.0,"order":1,"topicName":true}', TopicConfig("true", perm=4, order=True)),
        (b'{"perm":null,"attributes":null,"other":1}', TopicConfig()),
        (b'{"topicFilterType":1}', TopicConfig(topic_filter_type=TopicConfig().topic_filter_type.MULTI_TAG)),
        (b'{"attributes":{"a":1,"b":null}}', TopicConfig(attributes={"a": "1"})),
    ],
)
def test_lenient_reading(text: bytes, value: TopicConfig) -> None:
    assert TopicConfig.decode(text) == value


@pytest.mark.parametrize("cls", BODIES, ids=lambda cls: cls.__name__)
def test_every_body_survives_a_round_trip(cls: type[Body]) -> None:
    @settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example])
    @given(instances_of(cls))
    def check(body: Body) -> None:
        assert cls.decode(body.encode()) == body

    check()


_JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize("cls", BODIES, ids=lambda cls: cls.__name__)
def test_junk_objects_raise_nothing_but_engine_errors(cls: type[Body]) -> None:
    keys = sorted(cls.from_json({}).to_json()) if cls not in _WITH_REQUIRED else ["topic", "queueId"]

    @settings(max_examples=15)
    @given(st.dictionaries(st.sampled_from(keys or ["x"]), _JUNK))
    def check(junk: dict[str, Any]) -> None:
        try:
            cls.from_json(junk)
        except EngineError:
            return

    check()


_WITH_REQUIRED = {cls for cls in BODIES if cls.__name__ in ("MessageQueue", "QueueOffset")}
