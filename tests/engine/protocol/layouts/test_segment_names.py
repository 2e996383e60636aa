from __future__ import annotations

from datetime import datetime

import pytest

from engine.errors import BadInput
from engine.protocol.layouts.segment_names import (
    index_file_name,
    parse_index_file_name,
    parse_segment_name,
    segment_name,
)


@pytest.mark.parametrize(
    ("offset", "name"),
    [
        (0, "00000000000000000000"),
        (1073741824, "00000000001073741824"),
        (2**63 - 1, "09223372036854775807"),
    ],
)
def test_a_segment_is_named_by_its_first_offset(offset: int, name: str) -> None:
    assert segment_name(offset) == name
    assert parse_segment_name(name) == offset


@pytest.mark.parametrize(
    "name",
    ["", "0", "0" * 19, "0" * 21, "0" * 16 + ".tmp", "-" + "0" * 19, "٣" * 20, "09223372036854775808"],
)
def test_other_files_are_no_segments(name: str) -> None:
    assert parse_segment_name(name) is None


@pytest.mark.parametrize("offset", [-1, 1 << 63])
def test_no_segment_starts_at_an_impossible_offset(offset: int) -> None:
    with pytest.raises(BadInput):
        segment_name(offset)


def test_an_index_file_is_named_by_its_local_time() -> None:
    created_ms = int(datetime(2024, 1, 31, 23, 59, 58).timestamp()) * 1000 + 7
    assert index_file_name(created_ms) == "20240131235958007"
    assert parse_index_file_name("20240131235958007") == created_ms


@pytest.mark.parametrize("name", ["", "2024013123595800", "20241331235958007", "2024013123595800x", "٣" * 17])
def test_other_files_are_no_index(name: str) -> None:
    assert parse_index_file_name(name) is None
