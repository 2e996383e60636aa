"""Connections that we open: one per address, shared by all who talk to it, opened when first needed.

Used by the client, by a broker towards its name servers, by the console and the tests. Callers that dial the
same address at once share the attempt. Loop thread only.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Awaitable, Callable

from engine.errors import BadInput, PeerUnreachable
from engine.net.connection import Connection, Serve
from engine.net.flow import ConnectionLimits
from engine.net.shares import RECEIVE_BUFFER_BYTES
from engine.net.tls import RenewedContext, TlsOptions
from engine.net.tls_stream import TlsStream, explained
from engine.protocol.commands import Command
from engine.protocol.signing import Credentials, sign

Resolve = Callable[[str, int], Awaitable[str]]
"""Which IP address to dial for a host and port; raises PeerUnreachable for those that it does not allow."""


def parse_address(address: str) -> tuple[str, int]:
    """`host:port`, also `[v6]:port`."""
    host, separator, port = address.strip().rpartition(":")
    if not separator or not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise BadInput(f"{address!r} is not HOST:PORT")
    return host.strip("[]"), int(port)


class ClientTls:
    """Opens connections over TLS, each with the certificates that there are by then."""

    def __init__(self, options: TlsOptions) -> None:
        self._renewed = RenewedContext(options)
        self._server_name = options.server_name
        self._buffer = memoryview(bytearray(RECEIVE_BUFFER_BYTES))

    async def connect(
        self,
        loop: asyncio.AbstractEventLoop,
        name: str,
        where: str,
        port: int,
        make: Callable[[], Connection],
    ) -> Connection:
        """`name` is what the certificate must be for, `where` what is dialled."""
        opening: asyncio.Future[Connection] = loop.create_future()
        made: list[Connection] = []

        def above() -> Connection:
            made.append(make())
            return made[0]

        def opened(error: Exception | None) -> None:
            if opening.done():
                return
            if error is None:
                opening.set_result(made[0])
            else:
                opening.set_exception(error)

        self._renewed.refresh()
        server_name = self._server_name or name
        stream = TlsStream(self._renewed.context, self._buffer, above, opened, server_name=server_name)
        await loop.create_connection(lambda: stream, where, port)
        try:
            return await opening
        except asyncio.CancelledError:
            stream.abort()
            raise


class Requester:
    """`request(address, command, timeout_ms)`, `send_oneway(address, command)`."""

    def __init__(
        self,
        serve: Serve,
        limits: ConnectionLimits | None = None,
        *,
        connect_timeout_s: float = 3.0,
        on_closed: Callable[[str, Connection], None] | None = None,
        tls: TlsOptions | None = None,
        credentials: Credentials | None = None,
        resolve: Resolve | None = None,
    ) -> None:
        self._serve = serve
        self._limits = limits or ConnectionLimits(first_frame_s=float("inf"), pauses_reading=False)
        self._connect_timeout_s = connect_timeout_s
        self._on_closed = on_closed
        self._buffer = memoryview(bytearray(RECEIVE_BUFFER_BYTES))
        self._tls = None if tls is None else ClientTls(tls)
        self._credentials = credentials
        self._resolve = resolve
        self._open: dict[str, Connection] = {}
        self._dialling: dict[str, asyncio.Task[Connection]] = {}

    def connected(self, address: str) -> Connection | None:
        """The live connection, if there is one."""
        connection = self._open.get(address)
        return connection if connection is not None and not connection.is_closed else None

    async def connect(self, address: str) -> Connection:
        connection = self.connected(address)
        if connection is not None:
            return connection
        task = self._dialling.get(address)
        if task is None:
            task = asyncio.get_running_loop().create_task(self._dial(address))
            self._dialling[address] = task
            task.add_done_callback(lambda _: self._dialling.pop(address, None))
        return await asyncio.shield(task)

    async def _dial(self, address: str) -> Connection:
        host, port = parse_address(address)
        loop = asyncio.get_running_loop()

        def made() -> Connection:
            return Connection(loop, self._buffer, self._serve, self._limits, closed)

        def closed(connection: Connection) -> None:
            if self._open.get(address) is connection:
                del self._open[address]
            if self._on_closed is not None:
                self._on_closed(address, connection)

        try:
            async with asyncio.timeout(self._connect_timeout_s):
                where = host if self._resolve is None else await self._resolve(host, port)
                if self._tls is not None:
                    connection = await self._tls.connect(loop, host, where, port, made)
                else:
                    _, connection = await loop.create_connection(made, where, port)
        except TimeoutError:
            raise PeerUnreachable(f"{address} did not accept within {self._connect_timeout_s:g} s") from None
        except ssl.SSLError as error:
            raise PeerUnreachable(f"no TLS with {address}: {explained(error)}") from None
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error
            raise PeerUnreachable(f"cannot connect to {address}: {reason}") from None
        self._open[address] = connection
        return connection

    async def request(self, address: str, command: Command, timeout_ms: float) -> Command:
        connection = self.connected(address) or await self.connect(address)
        return await connection.request(self.signed(command), timeout_ms)

    async def send_oneway(self, address: str, command: Command) -> None:
        connection = self.connected(address) or await self.connect(address)
        connection.send_oneway(self.signed(command))

    def signed(self, command: Command) -> Command:
        """The request with our name and signature, if we have one: for callers that send it themselves."""
        if self._credentials is not None:
            sign(command, self._credentials)
        return command

    async def close(self) -> None:
        for task in list(self._dialling.values()):
            task.cancel()
        connections = list(self._open.values())
        for connection in connections:
            connection.close()
        for _ in range(200):
            if all(connection.is_closed for connection in connections):
                return
            await asyncio.sleep(0.01)
        for connection in connections:
            connection.abort()
