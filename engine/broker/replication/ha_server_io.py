"""The HA port: takes connections, finds out which dialect they speak, hands them to the reigning master.

The first eight bytes tell: our magic, or a plain slave's offset. A peer that is not understood, does not know
the secret or speaks plainly where that is not allowed is dropped and logged once per address and reason; it
changes nothing. While this broker is no master, every connection is closed at once.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from typing import Protocol

from engine.errors import EngineError
from engine.protocol.layouts.ha_frames import MAGIC, encode_packet

log = logging.getLogger(__name__)

MAX_CONNECTIONS = 64
FIRST_BYTES_S = 10.0
_READ_LIMIT_BYTES = 1 << 20
_MAX_LOGGED = 1_000


class SlaveServing(Protocol):
    """The master's side of both dialects."""

    async def serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, secret: bytes
    ) -> None: ...

    async def serve_plain(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, first: bytes, address: str
    ) -> None: ...


class HaServer:
    def __init__(self, secret: bytes | None, *, allows_plain: bool) -> None:
        self._secret = secret
        self._allows_plain = allows_plain
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self._logged: set[tuple[str, str]] = set()
        self.master: SlaveServing | None = None
        """Who serves slaves now; None while this broker is none."""

    async def start(self, sock: socket.socket) -> None:
        self._server = await asyncio.start_server(self._take, sock=sock, limit=_READ_LIMIT_BYTES)

    def drop_all(self) -> None:
        """The reign is over: slaves find their new master by themselves."""
        self.master = None
        for writer in list(self._open):
            writer.transport.abort()

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        self.drop_all()

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = writer.get_extra_info("peername")
        address = f"{peer[0]}:{peer[1]}" if peer else "?"
        if self.master is None or len(self._open) >= MAX_CONNECTIONS:
            writer.transport.abort()
            return
        self._open.add(writer)
        try:
            await self._serve(self.master, reader, writer, address)
        except EngineError as error:
            self._note(address, error.text)
            if not writer.is_closing():
                writer.write(encode_packet({"refusal": error.text}))
        except (OSError, EOFError, TimeoutError) as error:
            log.info("the slave at %s is gone: %s", address, error or type(error).__name__)
        finally:
            self._open.discard(writer)
            writer.close()

    async def _serve(
        self,
        master: SlaveServing,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        address: str,
    ) -> None:
        async with asyncio.timeout(FIRST_BYTES_S):
            first = await reader.readexactly(len(MAGIC))
        if first == MAGIC:
            if self._secret is None:
                raise EngineError("this broker has no cluster secret (signalboxClusterSecretFile)")
            await master.serve(reader, writer, self._secret)
        elif self._allows_plain:
            await master.serve_plain(reader, writer, first, address)
        else:
            raise EngineError("plain slaves are not allowed here (signalboxAllowPlainSlaves=false)")

    def _note(self, address: str, reason: str) -> None:
        """Once: a peer that keeps trying must not fill the log."""
        key = address.rpartition(":")[0], reason
        if key not in self._logged and len(self._logged) < _MAX_LOGGED:
            self._logged.add(key)
            log.warning("refused on the HA port: %s: %s", address, reason)
