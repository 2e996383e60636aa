"""Just enough of a Redis server for the dedup store: SET with NX and PX, GET, and the one script it runs.

Redis itself is not part of a plain machine. This speaks its protocol over a real socket to the real client.
"""

from __future__ import annotations

import asyncio
import time
from types import TracebackType
from typing import Self


class RedisDouble:
    def __init__(self) -> None:
        self._values: dict[bytes, tuple[bytes, float]] = {}
        self._server: asyncio.Server | None = None
        self.address = ""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        host, port = self._server.sockets[0].getsockname()
        self.address = f"{host}:{port}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            words = []
            for _ in range(int(line[1:])):
                size = int((await reader.readline())[1:])
                words.append((await reader.readexactly(size + 2))[:-2])
            writer.write(self._answer(words))
        writer.close()

    def _answer(self, words: list[bytes]) -> bytes:
        command, *arguments = words
        if command == b"SET":
            return self._set(*arguments)
        if command == b"GET":
            value = self._get(arguments[0])
            return b"$-1\r\n" if value is None else b"$%d\r\n%b\r\n" % (len(value), value)
        if command == b"EVAL":
            key, owner = arguments[2], arguments[3]
            if self._get(key) == owner:
                del self._values[key]
                return b":1\r\n"
            return b":0\r\n"
        return b"+OK\r\n" if command == b"CLIENT" else b"-ERR unknown command\r\n"

    def _set(self, key: bytes, value: bytes, *options: bytes) -> bytes:
        if b"NX" in options and self._get(key) is not None:
            return b"$-1\r\n"
        lifetime_ms = int(options[options.index(b"PX") + 1])
        self._values[key] = (value, time.monotonic() + lifetime_ms / 1000)
        return b"+OK\r\n"

    def _get(self, key: bytes) -> bytes | None:
        value, expires_at = self._values.get(key, (b"", 0.0))
        return value if expires_at > time.monotonic() else None
