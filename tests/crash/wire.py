"""A second, deliberately small reading of the wire, so that a bug of engine.protocol cannot hide a bug of the
broker.

Blocking sockets, JSON headers, one `Link` per connection. Knows frames and stored records; not what they are
for.
"""

from __future__ import annotations

import socket
import struct
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field

import orjson

Address = tuple[str, int]

_PREFIX = struct.Struct(">iI")
_RECORD_HEAD = struct.Struct(">iiiiiqqiq")
_MAGIC_V1, _MAGIC_V2 = 0xDAA320A7 - (1 << 32), 0xDAA320AB - (1 << 32)
_RECEIVE_BYTES = 1 << 18


class LinkClosed(ConnectionError):
    """The peer closed or reset the connection."""


@dataclass(frozen=True, slots=True)
class Answer:
    code: int
    opaque: int
    flag: int = 0
    remark: str = ""
    fields: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def is_response(self) -> bool:
        return bool(self.flag & 1)


@dataclass(frozen=True, slots=True)
class Stored:
    """A message as it came in a pull: only what the checkers need."""

    size: int
    queue_id: int
    queue_offset: int
    commit_log_offset: int
    store_timestamp: int
    reconsume_times: int
    body: bytes
    crc_is_right: bool


def encode_request(
    code: int, opaque: int, fields: dict[str, str] | None = None, body: bytes = b"", *, flag: int = 0
) -> bytes:
    header = orjson.dumps(
        {
            "code": code,
            "language": "JAVA",
            "version": 401,
            "opaque": opaque,
            "flag": flag,
            "extFields": fields or {},
        }
    )
    return _PREFIX.pack(4 + len(header) + len(body), len(header)) + header + body


def decode_answer(frame: bytes) -> Answer:
    """`frame` is everything behind the total length."""
    size = int.from_bytes(frame[:4], "big") & 0xFFFFFF
    header = orjson.loads(frame[4 : 4 + size])
    return Answer(
        header["code"],
        header["opaque"],
        header["flag"],
        header.get("remark") or "",
        header.get("extFields") or {},
        frame[4 + size :],
    )


def decode_stored(body: bytes) -> Iterator[Stored]:
    """The records of a pull's body (IPv4 hosts); anything else than whole records raises ValueError."""
    position = 0
    while position < len(body):
        total, magic, crc, queue_id, _, queue_offset, physical, sys_flag, _ = _RECORD_HEAD.unpack_from(
            body, position
        )
        if magic not in (_MAGIC_V1, _MAGIC_V2) or not 91 <= total <= len(body) - position or sys_flag & 0x30:
            raise ValueError(
                f"not a record at byte {position} of {len(body)}: size {total}, magic {magic:#x}"
            )
        (store_timestamp,) = struct.unpack_from(">q", body, position + 56)
        reconsume_times, length = struct.unpack_from(">i8xi", body, position + 72)
        if not 0 <= length <= total - 91:
            raise ValueError(f"body of {length} bytes in a record of {total}")
        content = body[position + 88 : position + 88 + length]
        right = (zlib.crc32(content) & 0x7FFFFFFF if content else 0) == crc
        yield Stored(
            total, queue_id, queue_offset, physical, store_timestamp, reconsume_times, content, right
        )
        position += total


class Link:
    """One connection. Requests of the server to the client are dropped, as some old clients do."""

    def __init__(self, address: Address, timeout_s: float = 5.0) -> None:
        self._socket = socket.create_connection(address, timeout_s)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._received = bytearray()
        self._opaque = 0

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Link:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def fileno(self) -> int:
        return self._socket.fileno()

    def next_opaque(self) -> int:
        self._opaque += 1
        return self._opaque

    def write(self, data: bytes, timeout_s: float = 5.0) -> None:
        self._socket.settimeout(timeout_s)
        self._socket.sendall(data)

    def request(self, code: int, fields: dict[str, str] | None = None, body: bytes = b"") -> int:
        """Sends without waiting; returns the opaque to look for."""
        opaque = self.next_opaque()
        self.write(encode_request(code, opaque, fields, body))
        return opaque

    def call(
        self, code: int, fields: dict[str, str] | None = None, body: bytes = b"", *, timeout_s: float = 5.0
    ) -> Answer:
        opaque = self.request(code, fields, body)
        deadline = time.monotonic() + timeout_s
        while True:
            for answer in self.receive(deadline - time.monotonic()):
                if answer.opaque == opaque:
                    return answer

    def receive(self, timeout_s: float) -> list[Answer]:
        """The answers that arrived, at least one; TimeoutError if none came, LinkClosed at the end of the
        stream.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            answers = self._cut()
            if answers:
                return answers
            rest = deadline - time.monotonic()
            if rest <= 0:
                raise TimeoutError("no answer in time")
            self._socket.settimeout(rest)
            try:
                data = self._socket.recv(_RECEIVE_BYTES)
            except TimeoutError:
                raise
            except OSError as error:
                raise LinkClosed(str(error)) from None
            if not data:
                raise LinkClosed("end of stream")
            self._received += data

    def _cut(self) -> list[Answer]:
        answers = []
        position = 0
        while len(self._received) - position >= 4:
            total = int.from_bytes(self._received[position : position + 4], "big")
            end = position + 4 + total
            if end > len(self._received):
                break
            answer = decode_answer(bytes(self._received[position + 4 : end]))
            if answer.is_response:
                answers.append(answer)
            position = end
        del self._received[:position]
        return answers
