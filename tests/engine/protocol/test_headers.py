"""Headers: golden string maps, the tolerance that clients need, and round trips of every class."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import fields

from engine.errors import BadRequest, EngineError
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.headers.groups import HeartbeatResponse, UnregisterClientRequest
from engine.protocol.headers.namesrv import PutKVConfigRequest, RegisterBrokerRequest
from engine.protocol.headers.offsets import (
    GetConsumeStatsRequest,
    GetMaxOffsetRequest,
    ResetOffsetRequest,
    SearchOffsetRequest,
    UpdateConsumerOffsetRequest,
)
from engine.protocol.headers.pull import PullMessageRequest, PullMessageResponse, QueryMessageRequest
from engine.protocol.headers.send import (
    SendMessageRequest,
    SendMessageRequestV2,
    SendMessageResponse,
    decode_send,
)
from engine.protocol.headers.topics import (
    CreateTopicRequest,
    format_attribute_changes,
    parse_attribute_changes,
)
from engine.protocol.wire import Header, camel_case
from tests.engine.protocol.wire_samples import HEADERS, instances_of

V2_FIELDS = {
    "a": "group", "b": "topic", "c": "TBW102", "d": "4", "e": "1", "f": "0", "g": "1700000000000", "h": "7",
    "i": "TAGS\x01x\x02", "j": "2", "k": "true", "l": "16", "m": "false", "n": "broker-a",
}  # fmt: skip
SEND = SendMessageRequest(
    "group", "topic", "TBW102", 4, 1, 0, 1700000000000, 7, "TAGS\x01x\x02", 2, True, 16, False, "broker-a"
)
LONG_FIELDS = {
    "producerGroup": "group", "topic": "topic", "defaultTopic": "TBW102",
    "defaultTopicQueueNums": "4", "queueId": "1",
    "sysFlag": "0", "bornTimestamp": "1700000000000", "flag": "7", "properties": "TAGS\x01x\x02",
    "reconsumeTimes": "2",
    "unitMode": "true", "maxReconsumeTimes": "16", "batch": "false", "bname": "broker-a",
}  # fmt: skip


def test_both_forms_of_a_send_decode_to_one_value() -> None:
    for code in (
        RequestCode.SEND_MESSAGE_V2,
        RequestCode.SEND_BATCH_MESSAGE,
        RequestCode.SEND_REPLY_MESSAGE_V2,
    ):
        assert decode_send(code, V2_FIELDS) == SEND
    for code in (RequestCode.SEND_MESSAGE, RequestCode.SEND_REPLY_MESSAGE):
        assert decode_send(code, LONG_FIELDS) == SEND


def test_both_forms_of_a_send_encode_back() -> None:
    assert SEND.encode() == LONG_FIELDS
    assert SEND.to_v2().encode() == V2_FIELDS


def test_both_forms_list_the_same_fields_in_the_same_order() -> None:
    assert [f.name for f in fields(SendMessageRequest)] == [f.name for f in fields(SendMessageRequestV2)]


def test_a_send_of_ali_ons_without_m_and_n_is_no_batch() -> None:
    send = decode_send(310, {name: V2_FIELDS[name] for name in "abcdefgh"})
    assert (send.batch, send.broker_name, send.properties, send.reconsume_times) == (False, None, None, None)


def test_extra_fields_of_credentials_and_zones_are_ignored() -> None:
    extra = {"Signature": "", "AccessKey": "", "OnsChannel": "", "nsd": "true", "__ZONE_NAME": "z"}
    assert decode_send(310, {**V2_FIELDS, **extra}) == SEND


@pytest.mark.parametrize("missing", list("abcdefgh"))
def test_a_missing_required_field_is_named(missing: str) -> None:
    partial = {name: value for name, value in V2_FIELDS.items() if name != missing}
    with pytest.raises(BadRequest, match=f"field {missing} ") as refusal:
        decode_send(310, partial)
    assert refusal.value.code == ResponseCode.SYSTEM_ERROR
    assert refusal.value.data["field"] == missing


@pytest.mark.parametrize(
    "bad", ["x", "1.5", "1_0", " 1", "", "0x1", "2147483648", "-2147483649", "9" * 5000, "²", "-", "+-1"]
)
def test_a_bad_int32_is_refused(bad: str) -> None:
    with pytest.raises(BadRequest, match="field e "):
        decode_send(310, {**V2_FIELDS, "e": bad})


@pytest.mark.parametrize(
    ("text", "value"), [("-2147483648", -(2**31)), ("2147483647", 2**31 - 1), ("+5", 5), ("007", 7)]
)
def test_int32_borders(text: str, value: int) -> None:
    assert decode_send(310, {**V2_FIELDS, "e": text}).queue_id == value


def test_int64_borders() -> None:
    assert decode_send(310, {**V2_FIELDS, "g": str(2**63 - 1)}).born_timestamp == 2**63 - 1
    with pytest.raises(BadRequest, match="field g "):
        decode_send(310, {**V2_FIELDS, "g": str(2**63)})


@pytest.mark.parametrize(
    ("text", "value"), [("TRUE", True), ("True", True), ("1", False), ("yes", False), ("", False)]
)
def test_booleans_compare_with_true_ignoring_case(text: str, value: bool) -> None:
    assert decode_send(310, {**V2_FIELDS, "k": text}).unit_mode is value


def test_an_empty_optional_field_is_absent() -> None:
    left = UnregisterClientRequest.decode({"clientID": "c", "producerGroup": "", "consumerGroup": "g"})
    assert left == UnregisterClientRequest("c", None, "g")
    assert left.encode() == {"clientID": "c", "consumerGroup": "g"}


def test_an_empty_required_text_is_kept() -> None:
    assert PutKVConfigRequest.decode({"namespace": "n", "key": "k", "value": ""}).value == ""


def test_send_response_always_has_region_and_trace() -> None:
    assert SendMessageResponse("id", 1, 2).encode() == {
        "msgId": "id", "queueId": "1", "queueOffset": "2", "MSG_REGION": "DefaultRegion", "TRACE_ON": "true",
    }  # fmt: skip


def test_pull_headers() -> None:
    pull = PullMessageRequest.decode(
        {"consumerGroup": "g", "topic": "t", "queueId": "0", "queueOffset": "5",
        "maxMsgNums": "32", "sysFlag": "7",
         "commitOffset": "5", "suspendTimeoutMillis": "15000", "subscription": "*", "subVersion": "1",
         "proxyFrowardClientId": "p"}
    )  # fmt: skip
    assert (pull.commits_offset, pull.may_suspend, pull.has_subscription) == (True, True, True)
    assert (pull.expression_type, pull.proxy_forward_client_id) == (None, "p")
    assert PullMessageResponse(0, 6, 0, 9).encode() == {
        "suggestWhichBrokerId": "0", "nextBeginOffset": "6", "minOffset": "0", "maxOffset": "9",
    }  # fmt: skip


def test_odd_wire_names() -> None:
    assert ResetOffsetRequest("t", "g", -1, is_force=True).encode()["isForce"] == "true"
    assert QueryMessageRequest("t", "k", 1, 0, 9, True).encode()["_UNIQUE_KEY_QUERY"] == "true"
    assert HeartbeatResponse().encode() == {"IS_SUPPORT_HEART_BEAT_V2": "true", "IS_SUB_CHANGE": "false"}
    assert RegisterBrokerRequest("b", "a", "c", "h", 0).encode()["bodyCrc32"] == "0"
    assert camel_case("index_last_update_phyoffset") == "indexLastUpdatePhyoffset"


def test_acting_master_is_known_by_its_presence() -> None:
    base = {"brokerName": "b", "brokerAddr": "a", "clusterName": "c", "haServerAddr": "h", "brokerId": "1"}
    assert RegisterBrokerRequest.decode(base).enable_acting_master is None
    assert RegisterBrokerRequest.decode({**base, "enableActingMaster": "false"}).enable_acting_master is False


def test_a_topic_creation_by_cpp_lacks_the_order() -> None:
    created = CreateTopicRequest.decode(
        {"topic": "t", "defaultTopic": "TBW102", "readQueueNums": "4", "writeQueueNums": "4", "perm": "6",
         "topicFilterType": "SINGLE_TAG"}
    )  # fmt: skip
    assert created.order is False


def test_a_negative_commit_of_ali_ons_is_read() -> None:
    commit = {"consumerGroup": "g", "topic": "t", "queueId": "0", "commitOffset": "-1"}
    assert UpdateConsumerOffsetRequest.decode(commit).commit_offset == -1


def test_search_boundary_is_lower_unless_upper_is_spelled() -> None:
    assert SearchOffsetRequest("t", 0, 1, "UPPER").wants_upper
    assert not SearchOffsetRequest("t", 0, 1, "LOWER").wants_upper
    assert not SearchOffsetRequest("t", 0, 1).wants_upper
    assert GetMaxOffsetRequest.decode({"topic": "t", "queueId": "0"}).committed


def test_topics_of_consume_stats() -> None:
    assert GetConsumeStatsRequest.decode({"consumerGroup": "g"}).topics == ()
    assert GetConsumeStatsRequest.decode({"consumerGroup": "g", "topic": "t"}).topics == ("t",)
    assert GetConsumeStatsRequest.decode({"consumerGroup": "g", "topicList": "a;b;"}).topics == ("a", "b")


def test_attribute_changes() -> None:
    changes = parse_attribute_changes("+a=1,-b,+c=x=y")
    assert changes == {"a": "1", "b": None, "c": "x=y"}
    assert parse_attribute_changes(format_attribute_changes(changes)) == changes
    assert parse_attribute_changes(None) == parse_attribute_changes("") == {}
    for bad in ("a=1", "+a", "-a=1", "+=1", "+a=1,+a=2", "-"):
        with pytest.raises(BadRequest, match="attribute"):
            parse_attribute_changes(bad)


@pytest.mark.parametrize("cls", HEADERS, ids=lambda cls: cls.__name__)
def test_every_header_survives_a_round_trip(cls: type[Header]) -> None:
    @settings(max_examples=15)
    @given(instances_of(cls, blank=False))
    def check(header: Header) -> None:
        encoded = header.encode()
        assert all(type(value) is str for value in encoded.values())
        assert cls.decode(encoded) == header

    check()


@pytest.mark.parametrize("cls", HEADERS, ids=lambda cls: cls.__name__)
def test_junk_fields_raise_nothing_but_engine_errors(cls: type[Header]) -> None:
    names = [camel_case(field.name) for field in fields(cls)] + list("abcdefgh")

    @settings(max_examples=15)
    @given(st.dictionaries(st.sampled_from(names) | st.text(max_size=3), st.text(max_size=5) | st.just("1")))
    def check(junk: dict[str, str]) -> None:
        try:
            cls.decode(junk)
        except EngineError:
            return

    check()
