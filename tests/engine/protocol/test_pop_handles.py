"""Receipt handles and the offset texts of a pop's answer."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import BadRequest
from engine.protocol.pop_handles import (
    PopHandle,
    encode_offsets,
    encode_order_counts,
    encode_start_offsets,
    parse_handle,
    parse_order_counts,
    parse_start_offsets,
    real_topic,
    retry_flag,
)

TEXT = "17 1700000000000 60000 3 0 broker-a 2 19"
HANDLE = PopHandle(17, 1_700_000_000_000, 60_000, 3, "0", "broker-a", 2, 19)


def test_a_handle_is_eight_words() -> None:
    assert parse_handle(TEXT) == HANDLE
    assert HANDLE.encode() == TEXT


def test_the_offset_may_come_from_beside_the_handle() -> None:
    assert parse_handle(TEXT.removesuffix(" 19"), 19) == HANDLE


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1 2 3",
        TEXT + " 4",
        TEXT.replace("17", "-1"),
        TEXT.replace("17", "x"),
        TEXT.replace("17", "\uff11\uff17"),
        TEXT.replace("17 ", "9" * 19 + " "),
        TEXT.replace(" 0 ", " 7 "),
        TEXT.replace("broker-a", ""),
        "1 " * 9999,
    ],
)
def test_a_forged_handle_is_refused(text: str) -> None:
    with pytest.raises(BadRequest):
        parse_handle(text)


@given(st.text())
def test_no_text_does_more_than_be_refused(text: str) -> None:
    with contextlib.suppress(BadRequest):
        parse_handle(text)


def test_the_flag_tells_in_which_topic_a_message_lies() -> None:
    for topic, flag in (("t", "0"), ("%RETRY%g_t", "1"), ("%RETRY%g+t", "2")):
        assert retry_flag(topic, "g") == flag
        assert real_topic(flag, "t", "g") == topic


def test_the_texts_of_an_answer_can_be_read_back() -> None:
    starts = {("0", 3): 10, ("1", 0): 7}
    offsets = {("0", 3): [10, 12], ("1", 0): [7]}
    assert encode_start_offsets(starts) == "0 3 10;1 0 7"
    assert encode_offsets(offsets) == "0 3 10,12;1 0 7"
    assert parse_start_offsets("0 3 10;1 0 7") == starts


def test_only_messages_that_were_given_before_are_counted() -> None:
    assert encode_order_counts({("0", 1): {5: 0, 6: 2}}) == "0 qo1%6 2"
    assert encode_order_counts({("0", 1): {5: 1, 6: 2}}) == "0 qo1%5 1;0 qo1%6 2;0 1 1"
    assert encode_order_counts({("0", 1): {5: 0}}) is None
    assert parse_order_counts("0 qo1%6 2;0 1 1") == {("0", "qo1%6"): 2, ("0", "1"): 1}
    assert parse_order_counts(None) == {}
