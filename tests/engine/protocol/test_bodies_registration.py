"""Registration bodies: plain and compressed, and streams that lie about their lengths."""

from __future__ import annotations

import struct
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import BadRequest
from engine.protocol.bodies import registration
from engine.protocol.bodies.basics import DataVersion
from engine.protocol.bodies.registration import (
    RegisterBrokerBody,
    body_crc32,
    decode_topic_line,
    encode_topic_line,
)
from engine.protocol.bodies.topics import (
    TopicConfig,
    TopicConfigAndMappingSerializeWrapper,
    TopicFilterType,
    TopicQueueMappingInfo,
)

BODY = RegisterBrokerBody(
    TopicConfigAndMappingSerializeWrapper(
        {"t": TopicConfig("t", 4, 8, 6), "u": TopicConfig("u", attributes={"message.type": "FIFO x"})},
        DataVersion(1, 2, 3),
        topic_queue_mapping_info_map={"s": TopicQueueMappingInfo("s", total_queues=2, curr_id_map={0: 1})},
    ),
    ("fs:1",),
)


def _sized(text: bytes) -> bytes:
    return struct.pack(">i", len(text)) + text


GOLDEN = (
    _sized(b'{"counter":3,"stateVersion":1,"timestamp":2}')
    + struct.pack(">i", 2)
    + _sized(b"t 4 8 6 SINGLE_TAG")
    + _sized(b'u 16 16 6 SINGLE_TAG {"message.type":"FIFO x"}')
    + _sized(b'["fs:1"]')
)
GOLDEN_MAPPINGS = struct.pack(">i", 1) + _sized(
    b'{"bname":"","currIdMap":{0:1},"dirty":false,"epoch":0,"scope":"__global__","topic":"s","totalQueues":2}'
)


def test_compressed_layout() -> None:
    assert zlib.decompress(BODY.encode(compress=True)) == GOLDEN + GOLDEN_MAPPINGS
    assert zlib.decompress(BODY.encode(compress=True, version=409)) == GOLDEN


def test_both_forms_are_told_apart_by_their_first_byte() -> None:
    assert RegisterBrokerBody.decode(BODY.encode()) == BODY
    assert RegisterBrokerBody.decode(BODY.encode(compress=True)) == BODY
    assert RegisterBrokerBody.decode(memoryview(BODY.encode(compress=True))) == BODY


def test_a_sender_before_5_has_no_mappings() -> None:
    wrapper = RegisterBrokerBody.decode(zlib.compress(GOLDEN), version=409).topic_config_serialize_wrapper
    assert wrapper.topic_queue_mapping_info_map == {}
    assert wrapper.topic_config_table == BODY.topic_config_serialize_wrapper.topic_config_table
    assert RegisterBrokerBody.decode(zlib.compress(GOLDEN), version=413).filter_server_list == ("fs:1",)


def test_the_body_of_a_4_9_broker_lacks_mappings() -> None:
    body = RegisterBrokerBody.decode(
        b'{"filterServerList":[],"topicConfigSerializeWrapper":{"dataVersion":{"counter":1,"timestamp":5},'
        b'"topicConfigTable":{"t":{"order":true,"perm":7,"readQueueNums":8,"topicFilterType":"SINGLE_TAG",'
        b'"topicName":"t","topicSysFlag":0,"writeQueueNums":8}}}}'
    )
    wrapper = body.topic_config_serialize_wrapper
    assert wrapper.data_version == DataVersion(0, 5, 1)
    assert wrapper.topic_config_table == {"t": TopicConfig("t", 8, 8, 7, order=True)}


def test_topic_lines() -> None:
    topic = TopicConfig("t", 1, 2, 6, TopicFilterType.MULTI_TAG)
    assert encode_topic_line(topic) == "t 1 2 6 MULTI_TAG"
    assert decode_topic_line("t 1 2 6 MULTI_TAG") == decode_topic_line("t 1 2 6 MULTI_TAG ") == topic
    for bad in (
        "",
        "t",
        "t 1 2 6",
        "t x 2 6 SINGLE_TAG",
        "t 1 2 6 NO_TAG",
        "t 1 2 6 SINGLE_TAG []",
        "t 1 2 3000000000 SINGLE_TAG",
    ):
        with pytest.raises(BadRequest):
            decode_topic_line(bad)


def test_checksum_is_31_bits() -> None:
    assert body_crc32(b"123456789") == 0xCBF43926 & 0x7FFFFFFF


def test_a_bomb_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registration, "INFLATED_LIMIT_BYTES", 1000)
    with pytest.raises(BadRequest, match="inflates above"):
        RegisterBrokerBody.decode(zlib.compress(b"\0" * 100_000))


@pytest.mark.parametrize(
    "inflated",
    [
        b"",
        b"\0\0",
        struct.pack(">i", -1),
        struct.pack(">i", 2**31 - 1),
        GOLDEN[:-1],
        _sized(b"{}") + struct.pack(">i", -1),
        _sized(b"{}") + struct.pack(">i", 2**31 - 1),
        _sized(b"{}") + struct.pack(">i", 1) + _sized(b"\xff 1 2 6 SINGLE_TAG") + _sized(b"[]"),
        _sized(b"{}") + struct.pack(">i", 0) + _sized(b"{}"),
        GOLDEN + struct.pack(">i", 5),
        GOLDEN + b"\0",
    ],
)
def test_lengths_that_lie_are_refused(inflated: bytes) -> None:
    with pytest.raises(BadRequest):
        RegisterBrokerBody.decode(zlib.compress(inflated))


@pytest.mark.parametrize("data", [b"", b"x", b"\x78", zlib.compress(GOLDEN)[:-3]])
def test_what_is_neither_json_nor_zlib_is_refused(data: bytes) -> None:
    with pytest.raises(BadRequest):
        RegisterBrokerBody.decode(data)


@settings(max_examples=200)
@given(st.integers(0, len(GOLDEN + GOLDEN_MAPPINGS) - 1), st.integers(0, 255))
def test_any_changed_byte_is_read_or_refused(position: int, value: int) -> None:
    data = bytearray(GOLDEN + GOLDEN_MAPPINGS)
    data[position] = value
    try:
        RegisterBrokerBody.decode(zlib.compress(bytes(data), 1))
    except BadRequest:
        return
