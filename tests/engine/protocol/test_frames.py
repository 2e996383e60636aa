"""The frame parser: whole, byte by byte, glued together, and hostile lengths."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ProtocolError
from engine.protocol.commands import Command, encode_command
from engine.protocol.frames import FrameLimits, FrameParser

COMMANDS = [
    Command(34, 1, body=b"heartbeat"),
    Command(11, 2, fields={"topic": "T", "queueId": "0"}),
    Command(310, 3, body=bytes(range(256)) * 8, serialize_type=1),
]
STREAM = b"".join(encode_command(command) for command in COMMANDS)


def test_several_frames_in_one_piece():
    assert FrameParser().receive_data(STREAM) == COMMANDS


def test_byte_by_byte():
    parser = FrameParser()
    received = [command for byte in STREAM for command in parser.receive_data(bytes([byte]))]
    assert received == COMMANDS
    assert not parser.partial_bytes


@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_any_cutting_gives_the_same_commands(cuts):
    parser, received, last = FrameParser(), [], 0
    for cut in [*sorted(cuts), len(STREAM)]:
        received += parser.receive_data(memoryview(STREAM)[last:cut])
        last = cut
    assert received == COMMANDS


def test_the_piece_may_be_reused_afterwards():
    buffer = bytearray(STREAM + STREAM[:20])
    parser = FrameParser()
    received = parser.receive_data(memoryview(buffer))
    buffer[:] = bytes(len(buffer))
    assert received == COMMANDS
    assert parser.receive_data(STREAM[20:]) == COMMANDS


@pytest.mark.parametrize("total", [-1, 0, 3, 2**31 - 1, 16 * 1024 * 1024 + 1, -(2**31)])
def test_a_hostile_length_is_refused_on_its_prefix(total):
    with pytest.raises(ProtocolError):
        FrameParser().receive_data(struct.pack(">iI", total, 2))


@pytest.mark.parametrize("mark", [100, 0xFFFFFF, 0xFF000002])
def test_a_header_longer_than_its_frame_or_of_unknown_type_is_refused(mark):
    with pytest.raises(ProtocolError):
        FrameParser().receive_data(struct.pack(">iI", 50, mark) + b"{}" + bytes(60))


def test_an_oversized_frame_is_refused_before_its_body_arrives():
    parser = FrameParser(FrameLimits(max_frame_bytes=1000))
    with pytest.raises(ProtocolError, match="1001"):
        parser.receive_data(struct.pack(">i", 1001) + b"\x00\x00\x00\x02")


def test_an_oversized_header_is_refused():
    with pytest.raises(ProtocolError, match="header"):
        FrameParser(FrameLimits(max_header_bytes=16)).receive_data(STREAM)


def test_an_idle_parser_holds_no_bytes():
    parser = FrameParser()
    parser.receive_data(STREAM)
    assert not parser.partial_bytes
