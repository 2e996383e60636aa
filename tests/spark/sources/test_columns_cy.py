"""Columns of records: one suite for the Python sources and for what the compiler made of them.

What a column must hold is what `decode_record` says of each record.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.protocol import _places_cy as installed_places
from engine.protocol._places_cy import (
    SCAN_BAD,
    SCAN_BLANK,
    SCAN_END,
    SCAN_MORE,
    SPAN_BODY,
    SPAN_BODY_END,
    SPAN_END,
    SPAN_NUMBERS,
    SPAN_POS,
    SPAN_STORE,
)
from engine.protocol.records import Record, decode_record, decode_records, encode_blank, encode_record
from spark.sources import _columns_cy as installed_columns
from spark.sources import _texts_cy as installed_texts
from tests.engine.protocol.record_samples import GOLDEN_V1, GOLDEN_V2_V6, record_values
from tests.engine.protocol.test_records_cy import compiler
from tests.engine.protocol.ways import ways_of

PLACES = ways_of(installed_places)
BELOW = {installed_places.__name__: PLACES}
COLUMNS = ways_of(installed_columns, BELOW)
TEXTS = ways_of(installed_texts, BELOW)
each_way = pytest.mark.parametrize("way", PLACES)

FOREVER = (-(2**63), 2**63 - 1)
logs = st.lists(record_values.map(lambda values: encode_record(**values)), max_size=6)


class Numbers(dict[bytes, int]):
    """A number for every topic, as it comes."""

    def __missing__(self, raw: bytes) -> int:
        self[raw] = len(self)
        return self[raw]


def spans_of(way: str, buffer: bytes, most: int = 100) -> memoryview:
    spans: memoryview = PLACES[way].measure_records(buffer, 0, len(buffer), False, most)[0]
    return spans


def numbers_in(column: bytearray, kind: str) -> list[int]:
    return list(memoryview(column).cast(kind))


def texts_in(column: tuple[bytearray, bytearray]) -> list[bytes]:
    offsets, data = numbers_in(column[0], "i"), column[1]
    assert offsets[0] == 0 and offsets[-1] == len(data)
    return [bytes(data[start:end]) for start, end in pairwise(offsets)]


def test_the_installed_modules_are_compiled_where_a_compiler_exists() -> None:
    for module in (installed_columns, installed_texts):
        assert module.is_compiled() or compiler() is None, "run make setup"
    assert not COLUMNS["pure"].is_compiled() and not TEXTS["pure"].is_compiled()


@each_way
def test_spans_say_where_the_parts_lie(way: str) -> None:
    buffer = GOLDEN_V1 + GOLDEN_V2_V6
    spans, pos, stop = PLACES[way].measure_records(buffer, 0, len(buffer), True, 100)
    assert (pos, stop) == (len(buffer), SCAN_END)
    assert list(spans) == [
        0,
        124,
        56,
        88,
        93,
        94,
        100,
        0,
        *(124 + n for n in (0, 253, 68, 112, 112, 114, 242)),
        0,
    ]


@each_way
@given(logs, st.integers(0, 60), st.binary(max_size=40))
def test_the_measure_is_that_of_the_scanner(way: str, log: list[bytes], cut: int, tail: bytes) -> None:
    buffer = b"".join(log)
    buffer = buffer[: max(len(buffer) - cut, 0)] + tail
    for check_crc in (False, True):
        measured = PLACES[way].measure_records(buffer, 0, len(buffer), check_crc, 4)
        places, _, pos, stop = PLACES[way].locate_records(buffer, 0, len(buffer), check_crc, 4)
        found = numbers_in(places, "q")[:: PLACES[way].PLACE_NUMBERS]
        assert list(measured[0])[::SPAN_NUMBERS] == found
        assert measured[1:] == (pos, stop)


@each_way
def test_the_walk_stops_where_the_scanner_stops(way: str) -> None:
    measure = PLACES[way].measure_records
    blank = GOLDEN_V1 + encode_blank(8)
    assert measure(blank, 0, len(blank), False, 9)[1:] == (124, SCAN_BLANK)
    assert measure(GOLDEN_V1 * 3, 0, 372, False, 2)[1:] == (248, SCAN_MORE)
    assert measure(GOLDEN_V1, 0, 124, False, 9, 4096)[1:] == (124, SCAN_END)
    assert measure(GOLDEN_V1, 0, 124, False, 9, 0)[1:] == (0, SCAN_BAD)
    damaged = GOLDEN_V1.replace(b"hello", b"hullo")
    assert measure(damaged, 0, 124, True, 9)[1:] == (0, SCAN_BAD)
    assert measure(damaged, 0, 124, False, 9)[1:] == (124, SCAN_END)


@each_way
def test_records_at_given_positions_are_measured_alone(way: str) -> None:
    buffer, measure = GOLDEN_V1 * 4, PLACES[way].measure_records
    spans, pos, stop = measure(buffer, 0, len(buffer), False, 9, -1, struct.pack("=2q", 124, 372))
    assert (list(spans)[::SPAN_NUMBERS], pos, stop) == ([124, 372], 496, SCAN_END)
    spans, pos, stop = measure(buffer, 0, len(buffer), False, 9, -1, struct.pack("=3q", 0, 125, 248))
    assert (list(spans)[::SPAN_NUMBERS], pos, stop) == ([0], 125, SCAN_BAD)
    assert measure(buffer, 0, 496, False, 1, -1, struct.pack("=2q", 0, 124))[1:] == (124, SCAN_MORE)
    for outside in (-1, 496, 2**62):
        assert measure(buffer, 0, 496, False, 9, -1, struct.pack("=q", outside))[1:] == (outside, SCAN_BAD)


NUMBER_COLUMNS: list[tuple[str, Callable[[Record], int], int, int, int]] = [
    ("size", lambda record: record.size, SPAN_POS, 0, 4),
    ("body_crc", lambda record: record.body_crc, SPAN_POS, 8, 4),
    ("queue_id", lambda record: record.queue_id, SPAN_POS, 12, 4),
    ("queue_offset", lambda record: record.queue_offset, SPAN_POS, 20, 8),
    ("store_timestamp", lambda record: record.store_timestamp, SPAN_STORE, 0, 8),
    ("reconsume_times", lambda record: record.reconsume_times, SPAN_BODY, -16, 4),
    ("prepared", lambda record: record.prepared_transaction_offset, SPAN_BODY, -12, 8),
    ("body_size", lambda record: len(record.body), SPAN_BODY, -4, 4),
]


@each_way
@given(logs)
def test_numbers_are_those_of_the_records(way: str, log: list[bytes]) -> None:
    buffer = b"".join(log)
    records, spans = decode_records(buffer), spans_of(way, buffer)
    for name, wanted, part, delta, size in NUMBER_COLUMNS:
        column = COLUMNS[way].number_column(buffer, spans, part, delta, size)
        found = numbers_in(column, "i" if size == 4 else "q")
        assert found == [wanted(record) for record in records], name
    sizes = COLUMNS[way].size_column(spans, SPAN_POS, SPAN_END)
    assert numbers_in(sizes, "i") == [record.size for record in records]
    for column, wanted_ms in (
        (COLUMNS[way].time_column(buffer, spans, SPAN_POS, 40), [r.born_timestamp for r in records]),
        (COLUMNS[way].time_column(buffer, spans, SPAN_STORE, 0), [r.store_timestamp for r in records]),
    ):
        first, last = installed_columns.FIRST_MS, installed_columns.LAST_MS
        assert numbers_in(column, "q") == [min(max(ms, first), last) * 1000 for ms in wanted_ms]


@each_way
@given(logs)
def test_texts_are_those_of_the_records(way: str, log: list[bytes]) -> None:
    buffer = b"".join(log)
    records, spans = decode_records(buffer), spans_of(way, buffer)
    bodies = TEXTS[way].part_column(buffer, spans, SPAN_BODY, SPAN_BODY_END)
    assert texts_in(bodies) == [record.body for record in records]
    names = ("TAGS", "KEYS", "UNIQ_KEY", "WAIT")
    columns = TEXTS[way].property_columns(buffer, spans, [name.encode() for name in names])
    for name, (valid, texts) in zip(names, columns, strict=True):
        found = texts_in(texts)
        for number, record in enumerate(records):
            is_there = valid[number // 8] >> (number % 8) & 1
            assert (found[number].decode() if is_there else None) == record.properties.get(name)


def pairs_in(way: str, buffer: bytes) -> list[list[tuple[str, str]]]:
    offsets, names, values = TEXTS[way].pairs_column(buffer, spans_of(way, buffer))
    pairs = [
        (name.decode(), value.decode()) for name, value in zip(texts_in(names), texts_in(values), strict=True)
    ]
    starts = numbers_in(offsets, "i")
    return [pairs[start:end] for start, end in pairwise(starts)]


@each_way
@given(logs)
def test_pairs_are_the_properties_of_the_records(way: str, log: list[bytes]) -> None:
    buffer = b"".join(log)
    assert pairs_in(way, buffer) == [list(record.properties.items()) for record in decode_records(buffer)]


def with_properties(raw: bytes) -> bytes:
    """A record whose property text is these bytes, whatever they are."""
    bare = bytearray(encode_record(topic="TopicA", body=b"x"))
    bare[-2:] = struct.pack(">h", len(raw)) + raw
    bare[:4] = struct.pack(">i", len(bare))
    return bytes(bare)


@each_way
@given(
    st.lists(
        st.sampled_from([b"\x01", b"\x02", b"A", b"TAGS", b"K\xc3\xa9", b"\xff", b"\xe4\xbd"]), max_size=40
    )
)
def test_any_property_text_is_read_as_everywhere(way: str, pieces: list[bytes]) -> None:
    buffer = with_properties(b"".join(pieces))
    record = decode_record(buffer)
    assert pairs_in(way, buffer) == [list(record.properties.items())]
    columns = TEXTS[way].property_columns(buffer, spans_of(way, buffer), [b"TAGS", b"A"])
    for name, (valid, texts) in zip(("TAGS", "A"), columns, strict=True):
        found = texts_in(texts)[0].decode() if valid[0] else None
        assert found == record.properties.get(name)


@each_way
def test_hundreds_of_properties_and_later_ones_of_the_same_name(way: str) -> None:
    raw = b"".join(b"n%d\x01%d\x02" % (number % 300, number) for number in range(700))
    buffer = with_properties(raw)
    assert pairs_in(way, buffer) == [list(decode_record(buffer).properties.items())]
    twice = with_properties(b"TAGS\x01old\x02A\x011\x02TAGS\x01new\x02TAGS\x01\x02")
    assert pairs_in(way, twice) == [[("TAGS", "new"), ("A", "1")]]


@each_way
def test_what_is_said_of_bytes_becomes_a_column(way: str) -> None:
    buffer = GOLDEN_V1 + GOLDEN_V2_V6 + GOLDEN_V1
    asked = []

    class Hosts(dict[bytes, bytes]):
        def __missing__(self, raw: bytes) -> bytes:
            asked.append(raw)
            self[raw] = raw.hex().encode()
            return self[raw]

    column = TEXTS[way].named_column(buffer, spans_of(way, buffer), SPAN_POS, 48, SPAN_STORE, 0, Hosts())
    v4, v6 = b"0a0000010000d431", b"20010db80000000000000000000000010000ffff"
    assert texts_in(column) == [v4, v6, v4]
    assert [raw.hex().encode() for raw in asked] == [v4, v6]


@each_way
def test_records_are_chosen_by_topic_and_store_time(way: str) -> None:
    times = [(b"a", 10), (b"b", 20), (b"a", 30), (b"c", 30), (b"a", 40)]
    buffer = b"".join(
        encode_record(topic=topic.decode(), body=b"", store_timestamp=time, queue_id=number)
        for number, (topic, time) in enumerate(times)
    )

    def chosen(numbers: dict[bytes, int], from_ms: int, to_ms: int) -> tuple[list[int], list[int], int]:
        spans, looked = COLUMNS[way].choose_records(buffer, spans_of(way, buffer), numbers, from_ms, to_ms)
        queue_ids = COLUMNS[way].number_column(buffer, spans, SPAN_POS, 12, 4)
        topics = COLUMNS[way].topic_numbers(spans)
        return numbers_in(queue_ids, "i"), numbers_in(topics, "i"), looked

    assert chosen(Numbers(), *FOREVER) == ([0, 1, 2, 3, 4], [0, 1, 0, 2, 0], 5)
    assert chosen({b"a": 7, b"b": -1, b"c": -1}, *FOREVER) == ([0, 2, 4], [7, 7, 7], 5)
    assert chosen(Numbers(), 20, 40) == ([1, 2, 3], [0, 1, 2], 5)
    assert chosen({b"a": 0, b"b": 1, b"c": -2}, *FOREVER) == ([0, 1, 2], [0, 1, 0], 3)


@each_way
@given(st.binary(max_size=300), st.integers(0, 4))
def test_no_bytes_are_too_strange(way: str, noise: bytes, cut: int) -> None:
    buffer = GOLDEN_V1[: len(GOLDEN_V1) - cut] + noise
    spans: Any = spans_of(way, buffer)
    assert len(spans) % SPAN_NUMBERS == 0
    pairs_in(way, buffer)


def test_numbers_are_native() -> None:
    assert struct.pack("=i", 1) == (1).to_bytes(4, sys.byteorder)
