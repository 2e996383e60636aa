"""Properties of stored messages: one suite for the Python source and for what the compiler made of it."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine.protocol import _properties_cy as installed
from engine.protocol.properties import decode_properties, encode_properties
from tests.engine.protocol.test_records_cy import compiler
from tests.engine.protocol.ways import ways_of

WAYS = ways_of(installed)
each_way = pytest.mark.parametrize("way", WAYS)
odd = st.lists(
    st.sampled_from([b"\x01", b"\x02", b"a", b"name", b"\xc3", b"\xa9", b"\xe4\xb8", b"\x00"])
).map(b"".join)


def test_the_installed_reader_is_compiled_where_a_compiler_exists() -> None:
    assert installed.is_compiled() or compiler() is None, "run make setup"


@each_way
@given(raw=odd | st.binary(max_size=60))
@example(raw=b"")
@example(raw=b"a\x01x")
@example(raw=b"a\x01x\x02a\x01\x02junk\x02\x01y\x02b\x01c\x01d\x02")
@example(raw=b"a\x01\xe4\xb8\x02b\x01\xff\x02\xc3\x01z\x02")
def test_it_reads_what_decode_properties_reads(way: str, raw: bytes) -> None:
    assert WAYS[way].read_properties(raw) == decode_properties(raw.decode("utf-8", "replace"))


@each_way
@given(properties=st.dictionaries(st.text("abc_é中", min_size=1), st.text("xyz 0é中", min_size=1)))
def test_what_was_written_is_read(way: str, properties: dict[str, str]) -> None:
    assert WAYS[way].read_properties(encode_properties(properties).encode()) == properties
