"""The properties text: strict writer, lenient reader, and a finder that agrees with the reader."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import BadInput
from engine.protocol.properties import (
    PROPERTY_NAMES,
    Property,
    decode_properties,
    encode_properties,
    find_property,
)
from tests.engine.protocol.record_samples import properties

torn_texts = st.lists(st.sampled_from(["TAGS", "S", "KEYS", "\x01", "\x02", "v", " "]), max_size=20).map(
    "".join
)


def test_properties_are_written_as_pairs() -> None:
    assert encode_properties({"TAGS": "TagA", "KEYS": "k1 k2"}) == "TAGS\x01TagA\x02KEYS\x01k1 k2\x02"


def test_no_properties_are_no_text() -> None:
    assert encode_properties({}) == ""
    assert decode_properties("") == {}


@given(properties)
def test_what_is_written_is_read(values: dict[str, str]) -> None:
    assert decode_properties(encode_properties(values)) == values


def test_a_missing_or_empty_value_is_left_out() -> None:
    assert encode_properties({"A": None, "B": "", "C": "1"}) == "C\x011\x02"


@pytest.mark.parametrize(
    "values",
    [{"": "v"}, {"A\x01B": "v"}, {"A\x02B": "v"}, {"A": "v\x01w"}, {"A": "v\x02"}, {"A": "v\x02B\x01w"}],
)
def test_a_separator_inside_is_refused(values: dict[str, str]) -> None:
    with pytest.raises(BadInput):
        encode_properties(values)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A\x011", {"A": "1"}),
        ("A\x011\x02\x02\x02B\x012", {"A": "1", "B": "2"}),
        ("stray\x02A\x011\x02", {"A": "1"}),
        ("A\x01\x02B\x012\x02", {"B": "2"}),
        ("\x011\x02B\x012\x02", {"B": "2"}),
        ("A\x011\x01x\x02", {"A": "1\x01x"}),
        ("A\x011\x02A\x012\x02", {"A": "2"}),
        ("A\x011\x02A\x01\x02", {"A": "1"}),
    ],
)
def test_the_reader_passes_over_what_is_no_pair(text: str, expected: dict[str, str]) -> None:
    assert decode_properties(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("TAGS\x01a\x02", "a"),
        ("K\x01v\x02TAGS\x01a", "a"),
        ("MYTAGS\x01a\x02", None),
        ("TAGS\x01a\x02MYTAGS\x01b\x02", "a"),
        ("TAGS\x01a\x02TAGS\x01\x02", "a"),
        ("K\x01TAGS\x01a\x02", None),
        ("TAGS", None),
    ],
)
def test_a_property_is_found_by_its_whole_name(text: str, expected: str | None) -> None:
    assert find_property(text, Property.TAGS) == expected


@given(torn_texts, st.sampled_from(["TAGS", "S", "KEYS", "v"]))
def test_the_finder_agrees_with_the_reader(text: str, name: str) -> None:
    assert find_property(text, name) == decode_properties(text).get(name)


def test_reserved_names_are_the_names_on_the_wire() -> None:
    assert {"KEYS", "__transactionId__", "1ST_POP_TIME", "__CRC32#"} <= PROPERTY_NAMES
    assert not any(name.startswith("__module") for name in PROPERTY_NAMES)
