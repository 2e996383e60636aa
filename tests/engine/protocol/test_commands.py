"""Header codecs: golden bytes, tolerances of §1.2, and refusals."""

from __future__ import annotations

import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ProtocolError
from engine.protocol.codes import LanguageCode
from engine.protocol.commands import BINARY_HEADER, JSON_HEADER, Command, decode_header, encode_command


def decode(frame: bytes) -> Command:
    total, mark = struct.unpack_from(">iI", frame)
    assert total == len(frame) - 4
    size = mark & 0xFFFFFF
    return decode_header(mark >> 24, frame[8 : 8 + size], frame[8 + size :])


def json_header(**values: object) -> bytes:
    return json.dumps(
        {"code": 310, "language": "JAVA", "version": 479, "opaque": 7, "flag": 0, **values}
    ).encode()


texts = st.text(min_size=1, max_size=20)


@given(
    code=st.integers(0, 32767),
    opaque=st.integers(-(2**31), 2**31 - 1),
    flag=st.integers(0, 3),
    remark=st.one_of(st.none(), texts),
    fields=st.dictionaries(texts, texts, max_size=8),
    body=st.binary(max_size=64),
    kind=st.sampled_from([JSON_HEADER, BINARY_HEADER]),
)
def test_both_header_types_round_trip(code, opaque, flag, remark, fields, body, kind):
    command = Command(code, opaque, flag, remark, fields, body, LanguageCode.GO, 333, kind)
    assert decode(encode_command(command)) == command


def test_json_frame_has_the_documented_bytes():
    frame = encode_command(Command(105, 3, fields={"topic": "T"}, body=b"xy"))
    header = (
        b'{"code":105,"extFields":{"topic":"T"},"flag":0,"language":"PYTHON","opaque":3,'
        b'"serializeTypeCurrentRPC":"JSON","version":479}'
    )
    assert frame == struct.pack(">iI", 4 + len(header) + 2, len(header)) + header + b"xy"


def test_binary_header_has_the_documented_bytes():
    frame = encode_command(Command(10, 1, 2, "r", {"k": "vv"}, b"", LanguageCode.CPP, 333, BINARY_HEADER))
    header = (
        struct.pack(">hbhii", 10, 1, 333, 1, 2)
        + struct.pack(">i", 1)
        + b"r"
        + struct.pack(">i", 9)
        + struct.pack(">h", 1)
        + b"k"
        + struct.pack(">i", 2)
        + b"vv"
    )
    assert frame == struct.pack(">iI", 4 + len(header), 1 << 24 | len(header)) + header


def test_numbers_and_booleans_in_ext_fields_become_strings_and_nulls_are_dropped():
    raw = json_header(extFields={"e": 3, "k": True, "m": False, "x": None, "f": 1.5, "s": "t"})
    assert decode_header(JSON_HEADER, raw, b"").fields == {
        "e": "3",
        "k": "true",
        "m": "false",
        "f": "1.5",
        "s": "t",
    }


def test_missing_remark_and_ext_fields_are_legal():
    command = decode_header(JSON_HEADER, b'{"code":34,"opaque":1}', b"")
    assert (command.remark, command.fields, command.flag, command.language) == (
        None,
        {},
        0,
        LanguageCode.OTHER,
    )


@pytest.mark.parametrize("language", ["KLINGON", 5, None, ["JAVA"], {}])
def test_an_unknown_language_is_other(language):
    assert decode_header(JSON_HEADER, json_header(language=language), b"").language == LanguageCode.OTHER


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"[]",
        b"5",
        b"{",
        b"\xff\xfe",
        b"{}",
        json_header(code="ten"),
        json_header(code=2**31),
        json_header(code=True),
        json_header(opaque=None),
        json_header(extFields=[]),
        json_header(extFields={"a": {"b": 1}}),
        json_header(extFields={"a": [1]}),
        json_header(extFields={f"k{i}": "v" for i in range(257)}),
        b'{"code":1,"extFields":' + b"[" * 2000 + b"]" * 2000 + b"}",
    ],
)
def test_a_bad_json_header_is_a_protocol_error(header):
    with pytest.raises(ProtocolError):
        decode_header(JSON_HEADER, header, b"")


GOOD_BINARY = encode_command(Command(10, 1, 0, "remark", {"key": "value"}, serialize_type=BINARY_HEADER))[8:]


@pytest.mark.parametrize("cut", range(len(GOOD_BINARY)))
def test_a_binary_header_cut_anywhere_is_a_protocol_error(cut):
    with pytest.raises(ProtocolError):
        decode_header(BINARY_HEADER, GOOD_BINARY[:cut], b"")


@given(st.binary(max_size=80))
def test_random_binary_headers_raise_nothing_but_protocol_errors(junk):
    try:
        decode_header(BINARY_HEADER, junk, b"")
    except ProtocolError:
        return


def test_an_unknown_header_type_is_a_protocol_error():
    with pytest.raises(ProtocolError):
        decode_header(0xFF, b"{}", b"")


def test_a_reply_copies_opaque_and_header_type():
    request = Command(10, 42, serialize_type=BINARY_HEADER)
    answer = Command(0).answering(request)
    assert (answer.opaque, answer.is_response, answer.serialize_type) == (42, True, BINARY_HEADER)
