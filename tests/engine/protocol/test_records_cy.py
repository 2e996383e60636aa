"""The scanner: one suite for the Python source and for what the compiler made of it."""

from __future__ import annotations

import shutil
import struct
import sysconfig
from types import ModuleType
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine.errors import BadInput, CorruptRecord
from engine.protocol import _places_cy as installed_places
from engine.protocol import _records_cy as installed
from engine.protocol.records import decode_record, encode_blank, encode_record
from tests.engine.protocol.record_samples import GOLDEN_V1, GOLDEN_V2_V6, record_values
from tests.engine.protocol.ways import ways_of

PLACES = ways_of(installed_places)
SCANNERS = ways_of(installed, {installed_places.__name__: PLACES})
PURE = SCANNERS["pure"]
each_scanner = pytest.mark.parametrize("scanner", SCANNERS.values(), ids=SCANNERS)

GOLDEN_ROW = (0, 124, "TopicA", 3, 9, 4096, 0, 1700000000005, 2598919, None, "k1 k2", 1700000000000, 0)
GOLDEN_V2_ROW = (0, 253, "t" * 128, 0, 0, 0, 0x30, 2, 0, None, None, 1, 18)


def compiler() -> str | None:
    return shutil.which((sysconfig.get_config_var("CC") or "cc").split()[0])


def scan(scanner: ModuleType, buffer: bytes, crc: bool = True, most: int = 100, base: int = -1) -> Any:
    return scanner.scan_records(buffer, 0, len(buffer), crc, most, base)


def test_the_installed_scanner_is_compiled_where_a_compiler_exists() -> None:
    for module in (installed, installed_places):
        assert module.is_compiled() or compiler() is None, "run make setup"


def test_the_pure_scanner_is_not_compiled() -> None:
    assert not PURE.is_compiled() and not PLACES["pure"].is_compiled()
    assert PURE.locate_records is PLACES["pure"].locate_records


def test_the_source_runs_without_cython_installed() -> None:
    assert SCANNERS["without_cython"].cython.__name__ == "engine.protocol.cython_shim"


@each_scanner
def test_the_hand_written_records_give_their_rows(scanner: ModuleType) -> None:
    assert scan(scanner, GOLDEN_V1) == ([GOLDEN_ROW], 124, scanner.SCAN_END)
    assert scan(scanner, GOLDEN_V2_V6) == ([GOLDEN_V2_ROW], 253, scanner.SCAN_END)


@each_scanner
@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_buffer_is_scanned(scanner: ModuleType, kind: Any) -> None:
    assert scan(scanner, kind(GOLDEN_V1))[0] == [GOLDEN_ROW]


@each_scanner
def test_a_row_is_in_the_order_of_its_constants(scanner: ModuleType) -> None:
    assert GOLDEN_ROW[scanner.ROW_TOPIC] == "TopicA"
    assert GOLDEN_ROW[scanner.ROW_STORE_TIMESTAMP] == 1700000000005
    assert GOLDEN_ROW[scanner.ROW_TAGS_CODE] == 2598919
    assert GOLDEN_ROW[scanner.ROW_BORN_TIMESTAMP] == 1700000000000
    assert GOLDEN_V2_ROW[scanner.ROW_DELAY_LEVEL] == 18


@each_scanner
def test_the_scan_pauses_at_the_most_records_asked_for(scanner: ModuleType) -> None:
    rows, pos, stop = scan(scanner, GOLDEN_V1 * 3, most=2)
    assert ([row[0] for row in rows], pos, stop) == ([0, 124], 248, scanner.SCAN_MORE)
    assert scanner.scan_records(GOLDEN_V1 * 3, pos, 372, True, 2)[1:] == (372, scanner.SCAN_END)


@each_scanner
def test_the_scan_is_at_the_end_when_the_last_record_was_the_last_asked_for(scanner: ModuleType) -> None:
    assert scan(scanner, GOLDEN_V1 * 2, most=2)[1:] == (248, scanner.SCAN_END)


@each_scanner
@pytest.mark.parametrize("tail", [b"\0", b"\0" * 7, b"\0" * 100, b"\0\0\0\7\0\0\0\0", b"\0\0\0\0\7\7\7\7"])
def test_unwritten_bytes_are_the_end(scanner: ModuleType, tail: bytes) -> None:
    assert scan(scanner, GOLDEN_V1 + tail)[1:] == (124, scanner.SCAN_END)


@each_scanner
def test_a_blank_ends_the_file(scanner: ModuleType) -> None:
    buffer = GOLDEN_V1 + encode_blank(50) + b"anything"
    assert scan(scanner, buffer)[1:] == (124, scanner.SCAN_BLANK)


@each_scanner
def test_a_blank_smaller_than_itself_is_bad(scanner: ModuleType) -> None:
    assert scan(scanner, bytes.fromhex("00000007 cbd43194"))[1:] == (0, scanner.SCAN_BAD)


@each_scanner
def test_a_record_must_lie_where_it_says(scanner: ModuleType) -> None:
    assert scan(scanner, GOLDEN_V1, base=4096)[2] == scanner.SCAN_END
    assert scan(scanner, GOLDEN_V1, base=4095) == ([], 0, scanner.SCAN_BAD)
    shifted = bytes(24) + GOLDEN_V1
    assert len(scanner.scan_records(shifted, 24, len(shifted), True, 9, 4072)[0]) == 1


@each_scanner
def test_a_damaged_body_is_bad_only_when_the_crc_is_asked_for(scanner: ModuleType) -> None:
    flipped = GOLDEN_V1.replace(b"hello", b"jello")
    assert scan(scanner, GOLDEN_V1 + flipped)[1:] == (124, scanner.SCAN_BAD)
    assert len(scan(scanner, GOLDEN_V1 + flipped, crc=False)[0]) == 2


@each_scanner
@pytest.mark.parametrize("size", [32767, 32768, 32769, 100_000])
def test_the_crc_of_a_large_body_is_taken_in_slices(scanner: ModuleType, size: int) -> None:
    record = bytearray(encode_record(topic="T", body=bytes(range(256)) * (size // 256 + 1)))
    assert scan(scanner, record)[2] == scanner.SCAN_END
    record[88 + size] ^= 1
    assert scan(scanner, record)[2] == scanner.SCAN_BAD


@each_scanner
def test_topics_of_one_name_are_one_object(scanner: ModuleType) -> None:
    first, second = scan(scanner, GOLDEN_V1 * 2)[0]
    assert first[2] is second[2]


@each_scanner
def test_a_topic_that_is_no_utf8_is_bad(scanner: ModuleType) -> None:
    assert scan(scanner, GOLDEN_V1.replace(b"TopicA", b"Topic\xff"))[2] == scanner.SCAN_BAD


@each_scanner
@pytest.mark.parametrize(
    ("level", "expected"),
    [("3", 3), ("018", 18), ("999999999", 999999999), ("9999999999", 0), ("-1", 0), ("1 ", 0), ("٣", 0)],
)
def test_only_plain_digits_are_a_delay_level(scanner: ModuleType, level: str, expected: int) -> None:
    record = encode_record(topic="T", body=b"", properties={"DELAY": level})
    assert scan(scanner, record)[0][0][scanner.ROW_DELAY_LEVEL] == expected


@each_scanner
@pytest.mark.parametrize(("start", "end"), [(-1, 10), (0, 125), (5, 4), (125, 125)])
def test_a_window_outside_of_the_buffer_is_refused(scanner: ModuleType, start: int, end: int) -> None:
    with pytest.raises(BadInput):
        scanner.scan_records(GOLDEN_V1, start, end, True, 1)


@each_scanner
@pytest.mark.parametrize("sample", [GOLDEN_V1, GOLDEN_V2_V6], ids=["v1", "v2"])
def test_every_truncation_is_bad(scanner: ModuleType, sample: bytes) -> None:
    for end in range(4, len(sample)):
        assert scan(scanner, sample[:end]) == ([], 0, scanner.SCAN_BAD)


@each_scanner
def test_the_window_ends_where_it_is_said_to_end(scanner: ModuleType) -> None:
    for end in range(len(GOLDEN_V1)):
        inside = scanner.scan_records(GOLDEN_V1[:end], 0, end, True, 9)
        assert scanner.scan_records(GOLDEN_V1, 0, end, True, 9) == inside


@each_scanner
@pytest.mark.parametrize("sample", [GOLDEN_V1, GOLDEN_V2_V6], ids=["v1", "v2"])
def test_scanner_and_decoder_agree_on_every_bit_flip(scanner: ModuleType, sample: bytes) -> None:
    for bit in range(len(sample) * 8):
        flipped = bytearray(sample)
        flipped[bit // 8] ^= 1 << bit % 8
        try:
            expected = [expected_row(bytes(flipped))]
        except CorruptRecord:
            expected = []
        assert scan(scanner, flipped)[0] == expected


def expected_row(encoded: bytes) -> tuple[Any, ...]:
    record = decode_record(encoded)
    level = record.properties.get("DELAY", "")
    return (
        0,
        record.size,
        record.topic,
        record.queue_id,
        record.queue_offset,
        record.commit_log_offset,
        record.sys_flag,
        record.store_timestamp,
        slow_java_hash(record.properties.get("TAGS", "")),
        record.properties.get("UNIQ_KEY"),
        record.properties.get("KEYS"),
        record.born_timestamp,
        int(level) if level.isascii() and level.isdigit() and len(level) <= 9 else 0,
    )


def slow_java_hash(text: str) -> int:
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for at in range(0, len(units), 2):
        value = value * 31 + int.from_bytes(units[at : at + 2], "big")
    return (value + 2**31) % 2**32 - 2**31


@each_scanner
@given(values=record_values)
def test_a_row_says_what_the_record_says(scanner: ModuleType, values: dict[str, Any]) -> None:
    encoded = encode_record(**values)
    assert scan(scanner, encoded) == ([expected_row(encoded)], len(encoded), scanner.SCAN_END)


@given(
    values=record_values,
    properties=st.lists(
        st.sampled_from([b"TAGS", b"KEYS", b"UNIQ_KEY", b"DELAY", b"\1", b"\2", b"1", b"x", b"\xff"])
    ),
)
@example(values={"topic": "T", "body": b""}, properties=[b"TAGS", b"\1", b"x", b"\1", b"x"])
def test_torn_properties_are_read_as_the_decoder_reads_them(
    values: dict[str, Any], properties: list[bytes]
) -> None:
    text = b"".join(properties)
    encoded = bytearray(encode_record(**values | {"properties": {}}))
    encoded[-2:] = len(text).to_bytes(2, "big") + text
    encoded[:4] = len(encoded).to_bytes(4, "big")
    for scanner in SCANNERS.values():
        assert scan(scanner, encoded)[0] == [expected_row(bytes(encoded))]


@given(
    st.lists(record_values, min_size=1, max_size=3),
    st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 255)), max_size=4),
    st.booleans(),
    st.integers(0, 4),
)
def test_pure_and_compiled_agree_on_damaged_logs(
    many: list[dict[str, Any]], damage: list[tuple[int, int]], check_crc: bool, most: int
) -> None:
    buffer = bytearray(b"".join(encode_record(**values) for values in many))
    for at, value in damage:
        buffer[at % len(buffer)] = value
    results = [scan(scanner, buffer, check_crc, most) for scanner in SCANNERS.values()]
    assert results[0] == results[1] == results[2]


@given(st.binary(max_size=300))
def test_pure_and_compiled_agree_on_noise(noise: bytes) -> None:
    for prefix in (b"", GOLDEN_V1[:92], GOLDEN_V2_V6[:116]):
        results = [scan(scanner, prefix + noise) for scanner in SCANNERS.values()]
        assert results[0] == results[1] == results[2]


@each_scanner
@given(text=st.text(st.characters(codec=None)))
def test_java_hash_counts_utf16_units(scanner: ModuleType, text: str) -> None:
    assert scanner.java_hash(text) == slow_java_hash(text)


@each_scanner
@given(topic=st.text(), key=st.text())
@example(topic="T", key="aaaaCxie")  # the smallest int: without a positive twin
def test_a_key_of_a_topic_is_hashed_as_their_joined_text(scanner: ModuleType, topic: str, key: str) -> None:
    expected = abs(slow_java_hash(f"{topic}#{key}"))
    assert scanner.index_key_hash(topic, key) == (0 if expected == 1 << 31 else expected)


def record(
    topic: str = "T",
    queue_id: int = 0,
    queue_offset: int = 0,
    offset: int = 0,
    sys_flag: int = 0,
    **properties: str,
) -> bytes:
    # fmt: off
    return encode_record(
        topic=topic, body=b"body", queue_id=queue_id, queue_offset=queue_offset, commit_log_offset=offset,
        sys_flag=sys_flag, store_timestamp=5000, properties=properties,
    )
    # fmt: on


def unit(encoded: bytes, tags_code: int = 0) -> bytes:
    return encoded[28:36] + struct.pack(">iq", len(encoded), tags_code)


def derive(
    scanner: ModuleType,
    records: list[bytes],
    *,
    only: Any = None,
    levels: tuple[int, ...] = (),
    index_from: int = 0,
    most: int = 100,
    crc: bool = True,
) -> Any:
    log = b"".join(records)
    return scanner.derive_records(log, 0, len(log), crc, most, -1, only, levels, index_from)


@each_scanner
def test_consecutive_units_of_a_queue_are_one_run(scanner: ModuleType) -> None:
    a, b = record(queue_offset=7), record("U", 1, 3, 10)
    c = record(queue_offset=8, offset=1 << 40, TAGS="blue")
    blue = scanner.java_hash("blue")
    assert derive(scanner, [a, b, c]).runs == [("T", 0, 7, unit(a) + unit(c, blue)), ("U", 1, 3, unit(b))]


@each_scanner
def test_a_leap_in_queue_offsets_begins_another_run(scanner: ModuleType) -> None:
    a, b, c = record(), record(queue_offset=5, offset=9), record(queue_offset=1, offset=3)
    assert derive(scanner, [a, b, c]).runs == [
        ("T", 0, 0, unit(a)),
        ("T", 0, 5, unit(b)),
        ("T", 0, 1, unit(c)),
    ]


@each_scanner
def test_offsets_and_times_at_the_end_of_their_range_are_taken_as_they_are(scanner: ModuleType) -> None:
    """Any number may stand in a damaged record; none may be counted on into another."""
    last, first = record(queue_offset=2**63 - 1), record(queue_offset=-(2**63))
    runs = derive(scanner, [last, first]).runs
    assert runs == [("T", 0, 2**63 - 1, unit(last)), ("T", 0, -(2**63), unit(first))]
    late = bytearray(record("SCHEDULE_TOPIC_XXXX", DELAY="1"))
    late[56:64] = (2**63 - 5).to_bytes(8, "big")
    assert derive(scanner, [bytes(late)], levels=(10,)).runs[0][3] == unit(bytes(late), 2**63 - 1)


@each_scanner
@pytest.mark.parametrize(
    ("sys_flag", "is_queued"), [(0, True), (4, False), (8, True), (12, False), (0x5, False)]
)
def test_prepared_and_rolled_back_messages_have_no_unit(
    scanner: ModuleType, sys_flag: int, is_queued: bool
) -> None:
    assert bool(derive(scanner, [record(sys_flag=sys_flag)]).runs) == is_queued


@each_scanner
def test_units_of_other_queues_are_left_out(scanner: ModuleType) -> None:
    wanted = record("U", offset=5)
    records = [record(), wanted, record(queue_id=1)]
    assert derive(scanner, records, only={("U", 0)}).runs == [("U", 0, 0, unit(wanted))]
    assert derive(scanner, records, only=set()).runs == []


@each_scanner
@pytest.mark.parametrize(
    ("topic", "level", "levels", "tags_code"),
    [
        ("SCHEDULE_TOPIC_XXXX", "2", (10, 20), 5020),
        ("SCHEDULE_TOPIC_XXXX", "9", (10, 20), 5020),
        ("SCHEDULE_TOPIC_XXXX", "1", (), 5000),
        ("SCHEDULE_TOPIC_XXXX", "0", (10,), 77),
        ("T", "1", (10,), 77),
    ],
)
def test_a_delayed_message_carries_the_time_of_its_delivery(
    scanner: ModuleType, topic: str, level: str, levels: tuple[int, ...], tags_code: int
) -> None:
    delayed = record(topic, TAGS="M", DELAY=level)
    assert scanner.java_hash("M") == 77
    assert derive(scanner, [delayed], levels=levels).runs == [(topic, 0, 0, unit(delayed, tags_code))]


def keys_of(keys: bytearray) -> list[tuple[int, int, int]]:
    return list(struct.iter_unpack(">iqq", keys))


@each_scanner
def test_every_key_is_an_entry(scanner: ModuleType) -> None:
    records = [
        record(offset=9, KEYS=" k1 k2 ", UNIQ_KEY="u"),
        record(offset=10),
        record("U", offset=11, KEYS="k1"),
        record("Ж", offset=12, UNIQ_KEY="ключ 😀"),
    ]
    assert keys_of(derive(scanner, records).keys) == [
        (scanner.index_key_hash("T", "u"), 9, 5000),
        (scanner.index_key_hash("T", "k1"), 9, 5000),
        (scanner.index_key_hash("T", "k2"), 9, 5000),
        (scanner.index_key_hash("U", "k1"), 11, 5000),
        (scanner.index_key_hash("Ж", "ключ 😀"), 12, 5000),
    ]


@each_scanner
def test_entries_begin_where_asked_and_leave_out_what_was_rolled_back(scanner: ModuleType) -> None:
    records = [
        record(offset=9, UNIQ_KEY="u"),
        record(offset=10, UNIQ_KEY="u", sys_flag=12),
        record(offset=11, UNIQ_KEY="u"),
    ]
    assert [offset for _, offset, _ in keys_of(derive(scanner, records, index_from=10).keys)] == [11]


@each_scanner
def test_a_walk_says_where_it_stopped_why_and_behind_what(scanner: ModuleType) -> None:
    records = [record(offset=9), record("U", 3, offset=10)]
    whole = derive(scanner, records)
    assert whole[2:] == (2, (10, len(records[1]), "U", 3, 5000), sum(map(len, records)), scanner.SCAN_END)
    assert derive(scanner, records, most=1)[2:] == (
        1, (9, len(records[0]), "T", 0, 5000), len(records[0]), scanner.SCAN_MORE
    )  # fmt: skip
    assert derive(scanner, [b"damaged!"])[2:] == (0, None, 0, scanner.SCAN_BAD)
    assert derive(scanner, [])[:5] == ([], b"", 0, None, 0)


def derived_from_rows(rows: list[Any]) -> tuple[dict[tuple[str, int], list[Any]], list[tuple[int, int, int]]]:
    """The same in the plainest words: units by queue, and keys."""
    units: dict[tuple[str, int], list[Any]] = {}
    keys = []
    for (
        _,
        size,
        topic,
        queue_id,
        queue_offset,
        offset,
        sys_flag,
        stored,
        tags_code,
        uniq,
        others,
        _,
        _,
    ) in rows:
        if sys_flag & 0xC in (0, 8):
            units.setdefault((topic, queue_id), []).append((queue_offset, offset, size, tags_code))
        if sys_flag & 0xC != 0xC:
            names = ([] if uniq is None else [uniq]) + (others or "").split()
            keys += [(installed.index_key_hash(topic, name), offset, stored) for name in names]
    return units, keys


@given(
    st.lists(record_values, min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 255)), max_size=3),
    st.booleans(),
    st.integers(0, 5),
)
def test_what_is_derived_is_what_the_rows_say(
    many: list[dict[str, Any]], damage: list[tuple[int, int]], check_crc: bool, most: int
) -> None:
    log = bytearray(b"".join(encode_record(**values) for values in many))
    for at, value in damage:
        log[at % len(log)] = value
    rows, pos, stop = scan(PURE, bytes(log), check_crc, most)
    expected_units, expected_keys = derived_from_rows(rows)
    for scanner in SCANNERS.values():
        derived = derive(scanner, [bytes(log)], crc=check_crc, most=most, index_from=-(1 << 63))
        units: dict[tuple[str, int], list[Any]] = {}
        for topic, queue_id, first, run in derived.runs:
            for number, found in enumerate(struct.iter_unpack(">qiq", run)):
                units.setdefault((topic, queue_id), []).append((first + number, *found))
        assert units == expected_units and keys_of(derived.keys) == expected_keys
        assert (derived.count, derived.next, derived.stop) == (len(rows), pos, stop)
