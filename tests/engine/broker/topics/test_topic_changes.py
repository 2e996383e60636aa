"""Which topics an administrator may ask for."""

from __future__ import annotations

import pytest

from engine.broker.topics.topic_rules import TopicRules
from engine.errors import EngineError
from engine.protocol.bodies.topics import TopicConfig, TopicFilterType
from engine.protocol.codes import ResponseCode
from engine.protocol.headers.topics import CreateTopicRequest

RULES = TopicRules("TestCluster", "broker-a", may_be_mixed=lambda: False)


def asked(topic: str = "orders", **changes: object) -> CreateTopicRequest:
    values: dict[str, object] = {"topic": topic, "read_queue_nums": 4, "write_queue_nums": 2, "perm": 6}
    return CreateTopicRequest(**{**values, **changes})  # type: ignore[arg-type]


def test_a_header_becomes_a_configuration() -> None:
    header = asked(topic_filter_type="MULTI_TAG", order=True, attributes="+message.type=FIFO")
    assert RULES.from_header(header, None) == TopicConfig(
        "orders", 4, 2, 6, TopicFilterType.MULTI_TAG, 0, True, {"message.type": "FIFO"}
    )


def test_attributes_are_changes_to_what_is_there() -> None:
    current = TopicConfig("orders", attributes={"message.type": "FIFO", "reserve.time": "1"})
    changed = RULES.from_header(asked(attributes="-reserve.time,+message.type=NORMAL"), current)
    assert changed.attributes == {"message.type": "NORMAL"}
    assert RULES.from_header(asked(), current).attributes == current.attributes


def test_a_whole_configuration_keeps_its_attributes() -> None:
    whole = TopicConfig("orders", 3, 3, attributes={"+message.type": "FIFO"})
    assert RULES.from_body(whole, None).attributes == {"message.type": "FIFO"}


@pytest.mark.parametrize(
    "header",
    [
        asked("../../etc/passwd"),
        asked("..%2f"),
        asked("a\0b"),
        asked("."),
        asked("a" * 128),
        asked("%RETRY%../../x"),
        asked("a\u2215b"),
        asked(" "),
        asked("TBW102"),
        asked("SCHEDULE_TOPIC_XXXX"),
        asked("rmq_sys_anything"),
        asked("TestCluster"),
        asked("broker-a"),
        asked(read_queue_nums=0),
        asked(write_queue_nums=-1),
        asked(write_queue_nums=2**31 - 1),
        asked(read_queue_nums=1_000_000),
        asked(perm=8),
        asked(perm=-1),
        asked(topic_filter_type="ANY"),
        asked(topic_sys_flag=4),
    ],
)
def test_a_bad_topic_is_an_invalid_parameter(header: CreateTopicRequest) -> None:
    with pytest.raises(EngineError) as refusal:
        RULES.from_header(header, None)
    assert refusal.value.code == ResponseCode.INVALID_PARAMETER


@pytest.mark.parametrize(
    "attributes",
    [
        "+queue.type=BatchCQ",
        "+cleanup.policy=COMPACTION",
        "+message.type=ODD",
        "+reserve.time=soon",
        "+reserve.time=" + "1" * 400,
        "+unknown=1",
        "-message.type",
        "message.type=FIFO",
        "+message.type=FIFO,+message.type=NORMAL",
    ],
)
def test_a_bad_attribute_is_an_error_of_its_own(attributes: str) -> None:
    with pytest.raises(EngineError) as refusal:
        RULES.from_header(asked(attributes=attributes), None)
    assert refusal.value.code == ResponseCode.SYSTEM_ERROR


def test_the_queue_type_cannot_be_taken_away() -> None:
    current = TopicConfig("orders", attributes={"queue.type": "SimpleCQ"})
    with pytest.raises(EngineError):
        RULES.from_header(asked(attributes="-queue.type"), current)


@pytest.mark.parametrize("current", [None, TopicConfig("orders", attributes={"message.type": "FIFO"})])
def test_a_topic_becomes_mixed_only_where_the_broker_allows_it(current: TopicConfig | None) -> None:
    whole = TopicConfig("orders", 3, 3, attributes={"+message.type": "MIXED"})
    for ask in (
        lambda rules: rules.from_header(asked(attributes="+message.type=MIXED"), current),
        lambda rules: rules.from_body(whole, current),
    ):
        with pytest.raises(EngineError, match=r"^MIXED message type is not supported\.$") as refusal:
            ask(RULES)
        assert refusal.value.code == ResponseCode.INVALID_PARAMETER
        allowing = TopicRules("TestCluster", "broker-a", may_be_mixed=lambda: True)
        assert ask(allowing).attributes == {"message.type": "MIXED"}


def test_a_topic_that_is_mixed_stays_so_and_can_be_changed() -> None:
    current = TopicConfig("orders", attributes={"message.type": "MIXED"})
    for attributes in ("", "+message.type=MIXED", "+reserve.time=1"):
        header = asked(attributes=attributes, write_queue_nums=7)
        changed = RULES.from_header(header, current)
        assert (changed.attributes["message.type"], changed.write_queue_nums) == ("MIXED", 7)
    assert RULES.from_header(asked(attributes="-message.type"), current).attributes == {}
