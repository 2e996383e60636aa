"""GET /metrics for Prometheus on a port of its own: a few lines of HTTP/1.0 over asyncio streams.

Anything but a short, well-formed GET is closed. The text is made by prometheus-client from a registry whose
collectors read the daemon's tables only when asked, so an unwatched daemon pays nothing. They read on the
loop, which owns the tables, one family per turn; the text of thousands of series is then made in a thread.
"""

from __future__ import annotations

import asyncio
import contextlib

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector

from engine.errors import BadInput

_REQUEST_TIMEOUT_S = 5.0
_MAX_REQUEST_BYTES = 8192


class MetricsPort:
    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int) -> int:
        """Listen; the port in use is returned (0 lets the system choose)."""
        try:
            self._server = await asyncio.start_server(self._answer, host, port, limit=_MAX_REQUEST_BYTES)
        except OSError as error:
            raise BadInput(f"metrics: cannot listen on {host}:{port}: {error.strerror or error}") from None
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(
            OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError
        ):
            async with asyncio.timeout(_REQUEST_TIMEOUT_S):
                request = await reader.readuntil(b"\r\n\r\n")
                writer.write(await self._respond(request.split(b"\r\n", 1)[0]))
                await writer.drain()
        writer.close()

    async def _respond(self, request_line: bytes) -> bytes:
        method, _, rest = request_line.partition(b" ")
        path = rest.split(b" ", 1)[0].split(b"?", 1)[0]
        if method != b"GET":
            return _response("405 Method Not Allowed", "text/plain", b"only GET\n")
        if path != b"/metrics":
            return _response("404 Not Found", "text/plain", b"see /metrics\n")
        taken = _Taken()
        for family in self._registry.collect():
            taken.add(family)
            # One piece per turn: thousands of topics make a family milliseconds long.
            await asyncio.sleep(0)
        text = await asyncio.get_running_loop().run_in_executor(None, generate_latest, taken)
        return _response("200 OK", CONTENT_TYPE_LATEST, text)


class _Taken(Collector):
    """What was collected; a family that came in pieces is one again."""

    def __init__(self) -> None:
        self._families: dict[str, Metric] = {}

    def add(self, piece: Metric) -> None:
        family = self._families.setdefault(piece.name, piece)
        if family is not piece:
            family.samples += piece.samples

    def collect(self) -> list[Metric]:
        return list(self._families.values())


def _response(status: str, content_type: str, body: bytes) -> bytes:
    head = f"HTTP/1.0 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body
