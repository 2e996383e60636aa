"""Names: what may become a folder, and what belongs to the system."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import Refused
from engine.protocol import names
from engine.protocol.codes import ResponseCode


@pytest.mark.parametrize(
    "name",
    ["t", "a" * 127, "%RETRY%" + "g" * 248, "%DLQ%" + "g" * 250, "ns%topic", "a|b", "A-b_9",
    "%RETRY%g+t", "%RETRY%ns%g"],
)  # fmt: skip
def test_allowed_topics(name: str) -> None:
    names.check_topic(name)
    assert names.is_valid_topic(name)


@pytest.mark.parametrize(
    "name",
    [
        None, "", " ", "\t", "a" * 128, "%RETRY%" + "g" * 249, "%DLQ%" + "g" * 251, "../x",
        "..%2f", "a\x00", ".", "..", "a.b",
        "a/b", "a\\b", "%RETRY%../../", "a\n", "a b", "тема", "a\uff0fb", "a+b", "%DLQ%g+t", "a:b",
        "a*", "a$b",
    ],
)  # fmt: skip
def test_refused_topics_get_invalid_parameter(name: str | None) -> None:
    with pytest.raises(Refused) as refusal:
        names.check_topic(name)
    assert refusal.value.code == ResponseCode.INVALID_PARAMETER
    assert "topic name" in refusal.value.text
    assert not names.is_valid_topic(name)


def test_group_rules() -> None:
    names.check_group("g" * 248)
    names.check_topic(names.retry_topic("g" * 248))
    for bad in (None, "", "g" * 249, "../g", "g.h", "g+h", "g\n"):
        with pytest.raises(Refused) as refusal:
            names.check_group(bad)
        assert refusal.value.code == ResponseCode.INVALID_PARAMETER
        assert not names.is_valid_group(bad)


@given(st.text(max_size=300))
def test_a_valid_name_is_a_single_harmless_path_part(name: str) -> None:
    if names.is_valid_topic(name) or names.is_valid_group(name):
        assert name.isascii()
        assert name.isprintable()
        assert not set(name) & set("./\\: \x00*?\"'<>~$")


def test_names_built_from_a_group_lead_back_to_it() -> None:
    assert names.retry_topic("g") == "%RETRY%g"
    assert names.dlq_topic("g") == "%DLQ%g"
    assert names.pop_retry_topic("g", "t") == "%RETRY%g+t"
    assert names.pop_retry_topic_v1("g", "t") == "%RETRY%g_t"
    for topic in (names.retry_topic("g"), names.dlq_topic("g"), names.pop_retry_topic("g", "t")):
        assert names.group_of(topic) == "g"
    assert names.group_of("t") is None
    assert names.is_retry_topic("%RETRY%g")
    assert not names.is_retry_topic("%DLQ%g")
    assert names.is_dlq_topic("%DLQ%g")


def test_system_names() -> None:
    for topic in (
        "TBW102",
        "rmq_sys_anything",
        "cluster",
        "broker",
        "cluster_REPLY_TOPIC",
        "SCHEDULE_TOPIC_XXXX",
    ):
        assert names.is_system_topic(topic, "cluster", "broker")
    assert not names.is_system_topic("orders", "cluster", "broker")
    assert "TBW102" not in names.SEND_FORBIDDEN_TOPICS
    assert "RMQ_SYS_TRACE_TOPIC" not in names.SEND_FORBIDDEN_TOPICS
    assert names.SEND_FORBIDDEN_TOPICS < names.SYSTEM_TOPICS
    assert names.is_system_group("CID_RMQ_SYS_X")
    assert names.is_system_group("TOOLS_CONSUMER")
    assert not names.is_system_group("g")


def test_system_names_pass_their_own_rules() -> None:
    assert all(map(names.is_valid_topic, names.SYSTEM_TOPICS | {names.TIMER_TOPIC, names.revive_topic("c")}))
    assert all(map(names.is_valid_group, names.SYSTEM_GROUPS))
