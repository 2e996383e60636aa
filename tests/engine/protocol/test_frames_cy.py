"""Cutting frames: one suite for the Python source and for what the compiler made of it."""

from __future__ import annotations

import importlib.util
import json
import struct
import sys
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import ProtocolError
from engine.protocol import _frames_cy as installed
from engine.protocol.commands import Command, decode_header, encode_command

MAX_FRAME, MAX_HEADER = 16384, 8192
EVERYDAY: dict[str, Any] = {
    "code": 310,
    "extFields": {"a": "group", "i": "TAGS\x01blue\x02"},
    "flag": 0,
    "language": "JAVA",
    "opaque": 7,
    "serializeTypeCurrentRPC": "JSON",
    "version": 479,
}


def load_source(name: str) -> ModuleType:
    """The .py itself, even where a compiled module stands in front of it."""
    path = Path(installed.__file__).parent / "_frames_cy.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load_without_cython() -> ModuleType:
    with mock.patch.dict(sys.modules, {"cython": None}):
        return load_source("frames_without_cython")


CUTTERS = {
    "pure": load_source("frames_pure"),
    "installed": installed,
    "without_cython": load_without_cython(),
}
each_cutter = pytest.mark.parametrize("cutter", CUTTERS.values(), ids=CUTTERS)


def frame(header: bytes, body: bytes = b"", serialize_type: int = 0) -> bytes:
    return struct.pack(">iI", 4 + len(header) + len(body), serialize_type << 24 | len(header)) + header + body


def json_frame(values: object, body: bytes = b"") -> bytes:
    return frame(json.dumps(values).encode(), body)


def cut(cutter: ModuleType, data: bytes) -> tuple[list[Command], int]:
    commands, used = cutter.cut_frames(data, MAX_FRAME, MAX_HEADER)
    return commands, used


def test_the_pure_cutter_is_not_compiled() -> None:
    assert not CUTTERS["pure"].is_compiled()
    assert not CUTTERS["without_cython"].is_compiled()


@each_cutter
def test_everyday_frames_are_cut(cutter: ModuleType) -> None:
    data = json_frame(EVERYDAY, b"body") + json_frame({**EVERYDAY, "opaque": 8})
    commands, used = cut(cutter, data)
    first = Command(310, 7, 0, None, EVERYDAY["extFields"], b"body", 0, 479)
    assert commands == [first, Command(310, 8, 0, None, EVERYDAY["extFields"], b"", 0, 479)]
    assert used == len(data)


@each_cutter
def test_a_frame_that_is_not_whole_stays(cutter: ModuleType) -> None:
    one = json_frame(EVERYDAY, b"body")
    for missing in range(1, len(one) + 1):
        commands, used = cut(cutter, one + one[:-missing])
        assert (len(commands), used) == (1, len(one))


@each_cutter
@pytest.mark.parametrize(
    "prefix",
    [
        (3, 0),
        (-1, 0),
        (-(1 << 31), 0),
        (MAX_FRAME + 1, 0),
        (10, 7),
        (MAX_FRAME, MAX_HEADER + 1),
        (100, 0xFFFFFF),
    ],
)
def test_a_frame_out_of_bounds_stays(cutter: ModuleType, prefix: tuple[int, int]) -> None:
    one = json_frame(EVERYDAY)
    commands, used = cut(cutter, one + struct.pack(">iI", *prefix) + bytes(2 * MAX_FRAME))
    assert (len(commands), used) == (1, len(one))


@each_cutter
def test_binary_headers_are_cut(cutter: ModuleType) -> None:
    command = Command(34, 5, 0, "why", {"a": "b"}, b"body", 3, 479, serialize_type=1)
    commands, _ = cut(cutter, encode_command(command))
    assert commands == [command]


@each_cutter
@pytest.mark.parametrize(
    "bad", [b"", b"{", b"[]", b"null", b'{"code":"1"}', b'{"code":1,"extFields":{"a":[]}}']
)
def test_a_header_that_cannot_be_read_is_refused(cutter: ModuleType, bad: bytes) -> None:
    with pytest.raises(ProtocolError):
        cut(cutter, json_frame(EVERYDAY) + frame(bad))


@each_cutter
def test_an_unknown_header_type_is_refused(cutter: ModuleType) -> None:
    with pytest.raises(ProtocolError):
        cut(cutter, frame(b"{}", serialize_type=255))


numbers = st.one_of(
    st.integers(-(1 << 31) - 2, (1 << 31) + 1),
    st.sampled_from([1 << 62, (1 << 63) + 1, -(1 << 63), (1 << 64) - 1]),
    st.booleans(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.none(),
    st.text(max_size=3),
)
fields = st.one_of(
    st.none(),
    st.integers(),
    st.dictionaries(st.text(max_size=4), st.one_of(st.text(max_size=8), numbers), max_size=5),
    st.just({str(number): "" for number in range(257)}),
)
headers = st.fixed_dictionaries(
    {},
    optional={
        "code": numbers,
        "extFields": fields,
        "flag": numbers,
        "language": st.one_of(st.sampled_from(["JAVA", "CPP", "KLINGON"]), numbers),
        "opaque": numbers,
        "remark": st.one_of(st.none(), st.text(max_size=4), st.integers()),
        "version": numbers,
    },
)


@given(headers, st.booleans())
def test_all_cutters_read_what_commands_reads(header: dict[str, object], is_nearly_whole: bool) -> None:
    """Any odd member, in a header with all the others or with few of them."""
    raw = json.dumps({**EVERYDAY, **header} if is_nearly_whole else header).encode()
    try:
        expected: object = [decode_header(0, raw, b"body")]
    except ProtocolError as error:
        expected = error.text
    for cutter in CUTTERS.values():
        try:
            found: object = cut(cutter, frame(raw, b"body"))[0]
        except ProtocolError as error:
            found = error.text
        assert found == expected


def check_all_read_what_commands_reads(raw: bytes) -> None:
    try:
        expected: object = [decode_header(0, raw, b"body")]
    except ProtocolError as error:
        expected = error.text
    for cutter in CUTTERS.values():
        try:
            found: object = cut(cutter, frame(raw, b"body"))[0]
        except ProtocolError as error:
            found = error.text
        assert found == expected


texts = st.one_of(st.text(max_size=8), st.text('ab\x01\x02\x03\\"/\x7f ', max_size=8))
compact_headers = st.fixed_dictionaries(
    {
        "code": st.integers(-2, 400) | st.sampled_from([1 << 31, (1 << 31) - 1, 10**11]),
        "extFields": st.dictionaries(st.sampled_from([*"abcijkz", "A", "{", "aa", ""]), texts, max_size=5),
        "flag": st.integers(-1, 3),
        "language": st.sampled_from(["JAVA", "CPP", "KLINGON"]),
        "opaque": st.integers(-(1 << 31), 1 << 31),
        "serializeTypeCurrentRPC": st.just("JSON"),
        "version": st.integers(0, 500),
    }
)
places = st.integers(0, 400)


@settings(deadline=None)
@given(compact_headers, st.booleans(), places, st.sampled_from([b"", b'"', b"\\", b"0", b",", b"}", b"\xff"]))
def test_compact_headers_are_read_alike_whole_or_damaged(
    header: dict[str, object], is_ascii: bool, place: int, damage: bytes
) -> None:
    """As the Java client writes them: whole, cut off, with something behind, and with one byte another."""
    raw = json.dumps(header, separators=(",", ":"), ensure_ascii=is_ascii).encode()
    check_all_read_what_commands_reads(raw)
    check_all_read_what_commands_reads(raw[:place])
    check_all_read_what_commands_reads(raw + damage)
    place %= len(raw)
    check_all_read_what_commands_reads(raw[:place] + damage + raw[place + 1 :])
    check_all_read_what_commands_reads(raw[:place] + damage + raw[place:])


@pytest.mark.parametrize("size", [0, 1, 1023, 1024, 1025, 5000])
def test_a_text_of_any_length_is_read_alike(size: int) -> None:
    header = {**EVERYDAY, "extFields": {"a": "group", "i": "\x02" * size}}
    check_all_read_what_commands_reads(json.dumps(header, separators=(",", ":")).encode()[:MAX_HEADER])


@pytest.mark.parametrize(
    "change",
    [
        (b'"a":"group"', b'"a":"group","a":"other"'),
        (b'"opaque":7', b'"opaque":07'),
        (b'"opaque":7', b'"opaque":7.0'),
        (b'"opaque":7', b'"opaque":7e1'),
        (b'"opaque":7', b'"opaque":-0'),
        (b'"opaque":7', b'"opaque":'),
        (b"\\u0001", b"\\u0003"),
        (b"\\u0001", b"\\u000"),
        (b"\\u0001", b"\\u000A"),
        (b"group", b"gr\tup"),
        (b'"group"', b"null"),
    ],
    ids=str,
)
def test_what_only_looks_compact_is_read_alike(change: tuple[bytes, bytes]) -> None:
    raw = json.dumps(EVERYDAY, separators=(",", ":")).encode()
    assert change[0] in raw
    check_all_read_what_commands_reads(raw.replace(*change))
