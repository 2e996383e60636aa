"""Fields of headers: one suite for the Python source and for what the compiler made of it."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import BadRequest
from engine.protocol import _headers_cy as installed
from tests.engine.protocol.ways import ways_of

READERS = ways_of(installed)
each_reader = pytest.mark.parametrize("reader", READERS.values(), ids=READERS)


def read(reader: ModuleType, kind: int, text: str | None, default: Any = None, required: bool = False) -> Any:
    step = ("field", "attribute", kind, reader.REQUIRED if required else default)
    fields = {} if text is None else {"field": text}
    (value,) = reader.header_arguments("Header", (step,), fields)
    return value


def test_the_pure_reader_is_not_compiled() -> None:
    assert not READERS["pure"].is_compiled() and not READERS["without_cython"].is_compiled()


@each_reader
@pytest.mark.parametrize(
    ("text", "value"),
    [("0", 0), ("007", 7), ("-1", -1), ("2147483647", 2**31 - 1), ("-2147483648", -(2**31)), ("٣", 3)],
)
def test_integers_are_read(reader: ModuleType, text: str, value: int) -> None:
    assert read(reader, reader.INT32, text) == read(reader, reader.INT64, text) == value


@each_reader
@pytest.mark.parametrize("text", ["2147483648", "-2147483649", "x", "1x", "²", "1_0", "1.0", "9" * 30])
def test_what_is_no_int32_is_refused(reader: ModuleType, text: str) -> None:
    with pytest.raises(BadRequest, match="the field field of Header has a bad value") as refused:
        read(reader, reader.INT32, text)
    assert refused.value.data == {"field": "field"}


@each_reader
def test_the_range_of_int64_is_kept(reader: ModuleType) -> None:
    for value in (2**63 - 1, -(2**63), 10**17, 10**18, 10**18 - 1):
        assert read(reader, reader.INT64, str(value)) == value
    for value in (2**63, -(2**63) - 1, 10**19):
        with pytest.raises(BadRequest):
            read(reader, reader.INT64, str(value))


@each_reader
@pytest.mark.parametrize(("text", "value"), [("true", True), ("TRUE", True), ("1", False), ("false", False)])
def test_a_boolean_is_true_when_it_spells_so(reader: ModuleType, text: str, value: bool) -> None:
    assert read(reader, reader.BOOL, text) is value


@each_reader
def test_an_empty_text_is_absent_unless_it_is_a_required_string(reader: ModuleType) -> None:
    for kind in (reader.TEXT, reader.BOOL, reader.INT32, reader.INT64):
        assert read(reader, kind, "", default="d") == read(reader, kind, None, default="d") == "d"
        with pytest.raises(BadRequest, match="is missing"):
            read(reader, kind, None, required=True)
    assert read(reader, reader.TEXT, "", required=True) == ""
    with pytest.raises(BadRequest, match="is missing"):
        read(reader, reader.INT32, "", required=True)


@given(
    st.one_of(
        st.text(max_size=22), st.integers(-(2**70), 2**70).map(str), st.text("0123456789+- _²٣", max_size=20)
    )
)
def test_all_ways_agree(text: str) -> None:
    for kind in range(4):
        results: list[Any] = []
        for reader in READERS.values():
            try:
                results.append(read(reader, kind, text, required=True))
            except BadRequest as error:
                results.append((error.text, error.data))
        assert results[0] == results[1] == results[2]
