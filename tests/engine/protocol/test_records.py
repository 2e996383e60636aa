"""The record's codec against bytes written by hand, against itself, and against damage."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import BadInput, CorruptRecord
from engine.protocol.hosts import pack_host
from engine.protocol.record_layout import MAGIC_BLANK, MAGIC_V1, MAGIC_V2
from engine.protocol.records import (
    RecordForm,
    decode_record,
    decode_records,
    encode_blank,
    encode_record,
    record_size,
)
from tests.engine.protocol.record_samples import GOLDEN_V1, GOLDEN_V1_RECORD, GOLDEN_V2_V6, record_values

BODY_AT = 88
TOPIC_LENGTH_AT = 93
PROPERTIES_LENGTH_AT = 100


def damaged(at: int, *values: int) -> bytes:
    """The golden record with these bytes at this position."""
    buffer = bytearray(GOLDEN_V1)
    buffer[at : at + len(values)] = values
    return bytes(buffer)


def test_the_hand_written_record_is_read() -> None:
    assert decode_record(GOLDEN_V1) == GOLDEN_V1_RECORD


def encode_golden(size: int, sys_flag: int = 0) -> bytes:
    form = RecordForm(b"TopicA", 8, bytes.fromhex("7f00000100002a9f"))
    return form.encode(
        size,
        3,
        7,
        9,
        4096,
        sys_flag,
        1700000000000,
        bytes.fromhex("0a0000010000d431"),
        1700000000005,
        2,
        0,
        b"hello",
        b"TAGS\x01TagA\x02KEYS\x01k1 k2\x02X",
    )


def test_the_hand_written_record_is_written() -> None:
    assert encode_golden(len(GOLDEN_V1)) == GOLDEN_V1


def test_a_record_may_leave_its_size_to_the_log() -> None:
    assert encode_golden(0) == damaged(0, 0, 0, 0, 0)


def test_host_bits_follow_from_the_hosts() -> None:
    assert decode_record(encode_golden(len(GOLDEN_V1), sys_flag=0x38)).sys_flag == 0x8


def test_a_long_topic_and_ipv6_hosts_give_the_hand_written_v2_record() -> None:
    encoded = encode_record(
        topic="t" * 128,
        body=b"",
        properties={"DELAY": "18"},
        flag=-1,
        born_timestamp=1,
        born_host=("2001:db8::1", 65535),
        store_timestamp=2,
        store_host=("::1", 1),
    )
    assert encoded == GOLDEN_V2_V6
    record = decode_record(encoded)
    assert (record.magic, record.sys_flag, record.topic) == (MAGIC_V2, 0x30, "t" * 128)
    assert (record.born_host, record.store_host) == (("2001:db8::1", 65535), ("::1", 1))


def test_a_topic_of_127_bytes_is_still_v1() -> None:
    assert decode_record(encode_record(topic="t" * 127, body=b"")).magic == MAGIC_V1


@given(record_values)
def test_what_is_encoded_is_decoded(values: dict[str, Any]) -> None:
    record = decode_record(encode_record(**values))
    host_bits = 0x10 * (":" in values["born_host"][0]) + 0x20 * (":" in values["store_host"][0])
    assert {name: getattr(record, name) for name in values} == values | {
        "sys_flag": values["sys_flag"] | host_bits
    }


@given(record_values)
def test_the_size_is_known_before_encoding(values: dict[str, Any]) -> None:
    encoded = encode_record(**values)
    properties_text = "".join(f"{name}\x01{value}\x02" for name, value in values["properties"].items())
    assert len(encoded) == record_size(
        topic_bytes=len(values["topic"]),
        body_bytes=len(values["body"]),
        properties_bytes=len(properties_text.encode()),
        born_host_bytes=len(pack_host(values["born_host"])),
        store_host_bytes=len(pack_host(values["store_host"])),
    )


@given(st.lists(record_values, max_size=4))
def test_a_pull_body_is_records_end_to_end(many: list[dict[str, Any]]) -> None:
    encoded = [encode_record(**values) for values in many]
    assert decode_records(b"".join(encoded)) == [decode_record(one) for one in encoded]


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_bytes_are_decoded_at_any_position(kind: Any) -> None:
    record = decode_record(kind(b"before" + GOLDEN_V1 + b"behind"), 6)
    assert record == GOLDEN_V1_RECORD
    assert type(record.body) is bytes


def test_keys_tags_and_ids_come_from_the_properties() -> None:
    record = decode_record(GOLDEN_V1)
    assert (record.keys, record.tags, record.uniq_key) == (["k1", "k2"], "TagA", None)
    assert record.offset_msg_id == "7F00000100002A9F0000000000001000"


def test_a_blank_says_how_much_is_unused() -> None:
    assert encode_blank(4096) == bytes.fromhex("00001000 cbd43194")
    assert MAGIC_BLANK == -875286124


@pytest.mark.parametrize("remaining", [-1, 0, 7, 1 << 31])
def test_a_blank_of_impossible_size_is_refused(remaining: int) -> None:
    with pytest.raises(BadInput):
        encode_blank(remaining)


@pytest.mark.parametrize("sample", [GOLDEN_V1, GOLDEN_V2_V6], ids=["v1", "v2"])
def test_every_truncation_is_corrupt(sample: bytes) -> None:
    for end in range(len(sample)):
        with pytest.raises(CorruptRecord):
            decode_record(sample[:end])


@pytest.mark.parametrize("sample", [GOLDEN_V1, GOLDEN_V2_V6], ids=["v1", "v2"])
def test_every_bit_flip_is_corrupt_or_another_record_of_the_same_size(sample: bytes) -> None:
    for bit in range(len(sample) * 8):
        flipped = bytearray(sample)
        flipped[bit // 8] ^= 1 << bit % 8
        with suppress(CorruptRecord):
            assert decode_record(flipped).size == len(sample)


def test_every_bit_flip_of_size_magic_crc_body_and_lengths_is_corrupt() -> None:
    guarded = [*range(12), *range(84, 94), PROPERTIES_LENGTH_AT, PROPERTIES_LENGTH_AT + 1]
    for at in guarded:
        for bit in range(8):
            with pytest.raises(CorruptRecord):
                decode_record(damaged(at, GOLDEN_V1[at] ^ 1 << bit))


def test_a_damaged_body_is_read_when_the_crc_is_not_asked_for() -> None:
    assert decode_record(damaged(BODY_AT, ord("j")), check_crc=False).body == b"jello"


@pytest.mark.parametrize(
    ("at", "values"),
    [
        (0, (0xFF, 0xFF, 0xFF, 0xFF)),
        (0, (0, 0, 0, 0)),
        (0, (0x7F, 0xFF, 0xFF, 0xFF)),
        (84, (0xFF, 0xFF, 0xFF, 0xFB)),
        (84, (0x7F, 0xFF, 0xFF, 0xFF)),
        (TOPIC_LENGTH_AT, (0,)),
        (TOPIC_LENGTH_AT, (0xFF,)),
        (TOPIC_LENGTH_AT + 1, (0xFF,)),
        (PROPERTIES_LENGTH_AT, (0xFF, 0xFF)),
    ],
)
def test_an_impossible_length_or_topic_is_corrupt(at: int, values: tuple[int, ...]) -> None:
    with pytest.raises(CorruptRecord):
        decode_record(damaged(at, *values))


def test_a_negative_position_does_not_read_from_the_end() -> None:
    with pytest.raises(CorruptRecord):
        decode_record(GOLDEN_V1, -len(GOLDEN_V1))


@given(st.binary(max_size=300))
def test_random_bytes_are_corrupt(noise: bytes) -> None:
    with pytest.raises(CorruptRecord):
        decode_record(noise)


def test_bytes_behind_the_last_record_of_a_pull_body_are_corrupt() -> None:
    with pytest.raises(CorruptRecord):
        decode_records(GOLDEN_V1 + b"\0")


def test_properties_that_are_no_utf8_do_not_hide_the_message() -> None:
    assert decode_record(damaged(PROPERTIES_LENGTH_AT + 7, 0xFF)).properties["TAGS"] == "�agA"


@pytest.mark.parametrize(
    "values",
    [
        {"topic": ""},
        {"topic": "t" * 32768},
        {"topic": "\ud800"},
        {"properties": {"a": "v" * 32766}},
        {"properties": {"a": "\x02TAGS\x01forged"}},
        {"queue_id": 1 << 31},
        {"queue_offset": 1 << 63},
        {"born_host": ("localhost", 1)},
        {"store_host": ("127.0.0.1", 65536)},
    ],
)
def test_values_that_do_not_fit_are_refused(values: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        encode_record(**{"topic": "T", "body": b""} | values)


@pytest.mark.parametrize("parts", [(b"T", 7, b"12345678"), (b"T", 8, b"1"), (b"", 8, b"12345678")])
def test_parts_of_odd_length_have_no_form(parts: tuple[bytes, int, bytes]) -> None:
    with pytest.raises(BadInput):
        RecordForm(*parts)
