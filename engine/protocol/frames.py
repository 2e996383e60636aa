"""Cuts a byte stream into commands, whatever the pieces it arrives in.

Limits are checked on the eight prefix bytes, before anything is stored: a frame that is too long, a header
that is longer than its frame or a serialize type we do not know raises ProtocolError, upon which the owner
closes the connection without a reply (as RocketMQ does). Only an unfinished frame is copied aside, so an idle
connection holds no buffer. One parser per connection; not thread safe.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from engine.errors import ProtocolError
from engine.protocol._frames_cy import cut_frames
from engine.protocol.commands import BINARY_HEADER, Buffer, Command

_PREFIX = struct.Struct(">iI")
PREFIX_SIZE = _PREFIX.size


@dataclass(frozen=True, slots=True)
class FrameLimits:
    max_frame_bytes: int = 16 * 1024 * 1024
    max_header_bytes: int = 128 * 1024


class FrameParser:
    """`receive_data(piece) -> commands`. A command's body is its own copy: the piece may be reused."""

    __slots__ = ("_limits", "_partial", "_wanted")

    def __init__(self, limits: FrameLimits | None = None) -> None:
        self._limits = limits or FrameLimits()
        self._partial = bytearray()
        self._wanted = PREFIX_SIZE

    @property
    def has_partial_frame(self) -> bool:
        return bool(self._partial)

    @property
    def partial_bytes(self) -> int:
        return len(self._partial)

    def receive_data(self, piece: Buffer) -> list[Command]:
        if not self._partial:
            # One copy of all frames is cheaper than two small ones for each of them.
            piece = bytes(piece)
            commands, used = self._cut(piece)
            if used < len(piece):
                self._keep(piece[used:])
            return commands
        self._partial += piece
        if len(self._partial) < self._wanted:
            self._wanted = max(self._wanted, self._needed(self._partial, 0))
            return []
        whole = bytes(self._partial)
        commands, used = self._cut(whole)
        self._partial = bytearray()
        self._wanted = PREFIX_SIZE
        if used < len(whole):
            self._keep(memoryview(whole)[used:])
        return commands

    def _keep(self, rest: Buffer) -> None:
        self._partial = bytearray(rest)
        self._wanted = self._needed(self._partial, 0)

    def _cut(self, data: bytes) -> tuple[list[Command], int]:
        return cut_frames(data, self._limits.max_frame_bytes, self._limits.max_header_bytes)

    def _needed(self, data: Buffer, position: int) -> int:
        """How many bytes the frame at `position` takes in all, as far as can be told."""
        if len(data) - position < PREFIX_SIZE:
            return PREFIX_SIZE
        total, mark = _PREFIX.unpack_from(data, position)
        self._check(total, mark & 0xFFFFFF)
        if mark >> 24 > BINARY_HEADER:
            raise ProtocolError(f"unknown header type {mark >> 24}")
        return 4 + int(total)

    def _check(self, total: int, header_size: int) -> None:
        if total < 4 or total > self._limits.max_frame_bytes:
            raise ProtocolError(f"frame length {total} is outside 4..{self._limits.max_frame_bytes}")
        if header_size > total - 4:
            raise ProtocolError(f"header of {header_size} bytes in a frame of {total}")
        if header_size > self._limits.max_header_bytes:
            raise ProtocolError(f"header of {header_size} bytes, at most {self._limits.max_header_bytes}")
