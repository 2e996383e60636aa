"""Offset ids, unique keys and recall handles against values worked out by hand."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import BadInput
from engine.protocol.hosts import Host
from engine.protocol.message_ids import (
    RecallHandle,
    UniqueKeys,
    decode_recall_handle,
    encode_recall_handle,
    local_month_start_ms,
    offset_msg_id,
    parse_offset_msg_id,
)
from tests.engine.protocol.record_samples import hosts

V4_ID = "7F00000100002A9F00000000000004D2"
V6_ID = "0000000000000000000000000000000100002A9F00000000000004D2"


@pytest.mark.parametrize(("ip", "text"), [("127.0.0.1", V4_ID), ("::1", V6_ID)])
def test_an_offset_id_is_the_broker_and_the_place_in_its_log(ip: str, text: str) -> None:
    assert offset_msg_id((ip, 10911), 1234) == text
    assert parse_offset_msg_id(text) == ((ip, 10911), 1234)
    assert parse_offset_msg_id(text.lower()) == ((ip, 10911), 1234)


@given(hosts, st.integers(0, 2**63 - 1))
def test_every_offset_id_is_read_back(host: Host, commit_log_offset: int) -> None:
    assert parse_offset_msg_id(offset_msg_id(host, commit_log_offset)) == (host, commit_log_offset)


@pytest.mark.parametrize(
    "text",
    [
        "",
        V4_ID[:-1],
        V4_ID + "0",
        " " + V4_ID[1:],
        V4_ID[:-2] + "  ",
        V4_ID[:-1] + "G",
        V4_ID[:-1] + "\n",
        V4_ID[:-1] + "٣",
        "7F000001FFFFFFFF00000000000004D2",
        "7F00000100002A9F80000000000004D2",
    ],
)
def test_what_is_no_offset_id_is_refused(text: str) -> None:
    with pytest.raises(BadInput):
        parse_offset_msg_id(text)


@pytest.mark.parametrize("commit_log_offset", [-1, 1 << 63])
def test_no_id_names_an_impossible_offset(commit_log_offset: int) -> None:
    with pytest.raises(BadInput):
        offset_msg_id(("127.0.0.1", 10911), commit_log_offset)


def test_a_unique_key_is_ip_pid_salt_time_and_counter() -> None:
    keys = UniqueKeys("10.0.0.1", 0x12345, -2, month_start_ms=lambda now_ms: 1_000)
    assert keys.next(1_255) == "0A0000012345FFFFFFFE000000FF0001"
    assert keys.next(1_255) == "0A0000012345FFFFFFFE000000FF0002"


def test_a_unique_key_of_an_ipv6_host_is_longer() -> None:
    assert len(UniqueKeys("::1", 1, 1).next(1_700_000_000_000)) == 56


def test_the_time_of_a_late_day_wraps_at_32_bits() -> None:
    keys = UniqueKeys("10.0.0.1", 1, 1, month_start_ms=lambda now_ms: 0)
    assert keys.next(0x9000_0000)[20:28] == "90000000"


def test_the_counter_goes_round_without_growing() -> None:
    keys = UniqueKeys("10.0.0.1", 1, 1)
    many = {keys.next(1_700_000_000_000) for _ in range(65_536)}
    assert len(many) == 65_536
    assert {len(key) for key in many} == {32}


def test_the_month_is_asked_for_again_when_it_may_have_changed() -> None:
    starts = {0: 0, 1: 60_000}
    keys = UniqueKeys("10.0.0.1", 1, 1, month_start_ms=lambda now_ms: starts[now_ms // 60_000])
    assert [keys.next(now_ms)[20:28] for now_ms in (59_999, 60_000, 60_001)] == [
        "0000EA5F",
        "00000000",
        "00000001",
    ]


def test_the_month_starts_at_local_midnight_of_its_first_day() -> None:
    now = datetime(2024, 2, 29, 23, 59, 59, 999_000)
    assert local_month_start_ms(int(now.timestamp() * 1000)) == datetime(2024, 2, 1).timestamp() * 1000


HANDLE = RecallHandle("TopicA", "broker-a", 1700000000000, "7F0001")


def test_a_recall_handle_is_the_base64url_of_its_parts() -> None:
    text = urlsafe_b64encode(b"v1 TopicA broker-a 1700000000000 7F0001").decode()
    assert encode_recall_handle(HANDLE) == text
    assert decode_recall_handle(text) == HANDLE


def test_a_recall_handle_without_padding_is_read() -> None:
    handle = RecallHandle("TopicAB", "broker-a", 1700000000000, "7F0001")
    padded = encode_recall_handle(handle)
    assert padded.endswith("=")
    assert decode_recall_handle(padded.rstrip("=")) == handle


@pytest.mark.parametrize(
    "plain",
    [b"v2 T b 1 k", b"v1 T b 1", b"v1 T b 1 k k", b"v1 T b -1 k", b"v1 T b x k", b"\xff\xff", b""],
)
def test_what_is_no_recall_handle_is_refused(plain: bytes) -> None:
    with pytest.raises(BadInput):
        decode_recall_handle(urlsafe_b64encode(plain).decode())


@given(st.text(max_size=60))
def test_noise_is_no_recall_handle(text: str) -> None:
    with pytest.raises(BadInput):
        decode_recall_handle(text)
