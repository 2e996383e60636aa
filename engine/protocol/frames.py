"""Cuts a byte stream into commands, whatever the pieces it arrives in.

Limits are checked on the eight prefix bytes, before anything is stored: a frame that is too long, a header
that is longer than its frame or a serialize type we do not know raises ProtocolError, upon which the owner
closes the connection without a reply (as RocketMQ does). Between reads only the unfinished frame is kept, so
an idle connection holds no buffer. One parser per connection; not thread safe.

`receive_data` is the simple way: bytes in, all commands out. A server goes step by step, because one read may
hold hundreds of requests: `feed` the bytes, `take` a few commands at a time, and give back with `untake` what
is not served in this turn (it stays raw: a parsed command takes five times the room of its bytes). The owner
decides whether a large unfinished frame may be received: after `open_frame`, its bytes go straight into
`frame_room`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from engine.errors import ProtocolError
from engine.protocol._frames_cy import cut_frames
from engine.protocol.commands import BINARY_HEADER, Buffer, Command, decode_header

_PREFIX = struct.Struct(">iI")
_LENGTH = struct.Struct(">i")
PREFIX_SIZE = _PREFIX.size
_ALL = 0x7FFFFFFF


@dataclass(frozen=True, slots=True)
class FrameLimits:
    max_frame_bytes: int = 16 * 1024 * 1024
    max_header_bytes: int = 128 * 1024


class FrameParser:
    """A command's body is its own copy: the piece that was fed may be reused."""

    __slots__ = ("_at", "_data", "_filled", "_frame", "_limits", "_partial", "_taken_at", "_wanted", "is_dry")

    def __init__(self, limits: FrameLimits | None = None) -> None:
        self._limits = limits or FrameLimits()
        self._data = b""
        self._at = self._taken_at = 0
        self.is_dry = True
        """Whether no whole frame waits to be taken."""
        self._partial = bytearray()
        self._wanted = PREFIX_SIZE
        self._frame: bytearray | None = None
        self._filled = 0

    # -- what is held ---------------------------------------------------------------------------------------

    @property
    def partial_bytes(self) -> int:
        """Received of the unfinished frame."""
        return self._filled if self._frame is not None else len(self._partial)

    @property
    def wanted_bytes(self) -> int:
        """Size of the unfinished frame in all, as far as can be told."""
        return self._wanted

    @property
    def waiting_bytes(self) -> int:
        """Whole frames and the beginnings of the next, received and not yet taken."""
        has_large = self._frame is not None and self._filled >= self._wanted
        return len(self._data) - self._at + (self._filled if has_large else 0)

    # -- step by step ---------------------------------------------------------------------------------------

    def receive_data(self, piece: Buffer) -> list[Command]:
        self.feed(piece)
        commands = self.take(_ALL)
        self.settle()
        return commands

    def receive_single(self, piece: Buffer) -> Command | None:
        """The command, if the piece is one whole frame and nothing else; otherwise nothing has happened."""
        size = len(piece)
        if (
            self._partial
            or not self.is_dry
            or size < PREFIX_SIZE
            or _LENGTH.unpack_from(piece)[0] != size - 4
        ):
            return None
        limits = self._limits
        commands = cut_frames(bytes(piece), limits.max_frame_bytes, limits.max_header_bytes)[0]
        return commands[0] if commands else None

    def feed(self, piece: Buffer) -> None:
        if not self.is_dry:
            self._data = self._data[self._at :] + bytes(piece)
        elif not self._partial:
            # One copy of all frames is cheaper than two small ones for each of them.
            self._data = bytes(piece)
        else:
            self._partial += piece
            if len(self._partial) < self._wanted:
                self._wanted = max(self._wanted, self._needed(self._partial))
                return
            self._data = bytes(self._partial)
            self._partial = bytearray()
            self._wanted = PREFIX_SIZE
        self._at = 0
        self.is_dry = False

    def take(self, most: int) -> list[Command]:
        """The next whole frames."""
        if self._frame is not None:
            return self._take_frame()
        if self.is_dry:
            return []
        self._taken_at = self._at
        limits = self._limits
        commands, self._at = cut_frames(
            self._data, limits.max_frame_bytes, limits.max_header_bytes, self._at, most
        )
        if len(commands) < most:
            self.is_dry = True
        return commands

    def settle(self) -> int:
        """All that was taken is served: keep what is left as an unfinished frame, and tell its size, as far
        as can be told; 0 if nothing is left."""
        data, at = self._data, self._at
        if data:
            self._data = b""
            self._at = self._taken_at = 0
            if at < len(data):
                self._partial = bytearray(memoryview(data)[at:])
                self._wanted = self._needed(self._partial)
        return self._wanted if self._partial or self._frame is not None else 0

    def untake(self, count: int) -> None:
        """All but the first `count` commands of the last `take` wait again."""
        if not self._data:
            return  # a large frame, which is always taken alone
        self._at = self._taken_at
        for _ in range(count):
            self._at += 4 + _LENGTH.unpack_from(self._data, self._at)[0]
        self.is_dry = False

    def open_frame(self) -> None:
        """Makes room for all of the unfinished frame."""
        self._frame = bytearray(self._wanted)
        self._frame[: len(self._partial)] = self._partial
        self._filled = len(self._partial)
        self._partial = bytearray()

    def frame_room(self) -> memoryview:
        assert self._frame is not None
        return memoryview(self._frame)[self._filled :]

    def fill_frame(self, size: int) -> bool:
        """So many bytes came into `frame_room`; whether the frame is whole."""
        self._filled += size
        return self._filled >= self._wanted

    # -- inside ---------------------------------------------------------------------------------------------

    def _take_frame(self) -> list[Command]:
        """Without another copy of it as a whole."""
        frame = self._frame
        if frame is None or self._filled < self._wanted:
            return []
        mark = _PREFIX.unpack_from(frame)[1]
        body_at = PREFIX_SIZE + (mark & 0xFFFFFF)
        view = memoryview(frame)
        header, body = bytes(view[PREFIX_SIZE:body_at]), bytes(view[body_at:])
        view.release()
        self._frame = None
        self._filled = 0
        self._wanted = PREFIX_SIZE
        return [decode_header(mark >> 24, header, body)]

    def _needed(self, data: Buffer) -> int:
        """How many bytes the frame takes in all, as far as can be told."""
        if len(data) < PREFIX_SIZE:
            return PREFIX_SIZE
        total, mark = _PREFIX.unpack_from(data)
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
