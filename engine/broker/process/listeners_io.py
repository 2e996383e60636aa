"""The ports of a broker: the main one, and beside it the VIP port, which takes nothing that may wait long.

Which handler answers which code may change while the broker runs (a slave refuses what its master takes):
`use` changes the tables in place, so a request costs one look-up whatever the role. Loop thread only.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping

from engine.broker.process.addresses_io import VIP_DISTANCE, Addresses, bind
from engine.broker.settings.options import BrokerOptions
from engine.net.flow import ConnectionLimits
from engine.net.networks import Networks
from engine.net.outcomes import Handler, LogWaits
from engine.net.server import Server
from engine.net.serving import Authorize, LogServing
from engine.net.tls import ServerTls
from engine.protocol.codes import RequestCode
from engine.protocol.hosts import Host

_NOT_ON_VIP = (
    RequestCode.PULL_MESSAGE,
    RequestCode.LITE_PULL_MESSAGE,
    RequestCode.PEEK_MESSAGE,
    RequestCode.POP_MESSAGE,
    RequestCode.NOTIFICATION,
    RequestCode.POLLING_INFO,
)
_DRAIN_S = 2.0


def connection_limits(options: BrokerOptions) -> ConnectionLimits:
    return ConnectionLimits(
        max_connections_per_ip=options.signalbox_max_connections_per_ip, memory=options.memory
    )


class Listeners:
    """`bind`, `serve`, `listen`; then `stop_accepting`, `drain`, `close`."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._sockets: list[socket.socket] = []
        self._routes: dict[int, Handler] = {}
        self._vip_routes: dict[int, Handler] = {}

    def bind(self, addresses: Addresses, port: int) -> Host:
        """Where the broker can be reached, under the advertised host."""
        main = bind(addresses.bind_host, port)
        self._sockets.append(main)
        if port > VIP_DISTANCE:
            self._sockets.append(bind(addresses.bind_host, port - VIP_DISTANCE))
        return addresses.advertised_host, main.getsockname()[1]

    def abandon(self) -> None:
        """The start failed: leave nothing open."""
        for sock in self._sockets:
            sock.close()

    def serve(
        self,
        waits: LogWaits,
        limits: ConnectionLimits,
        tls: ServerTls | None,
        trusted_proxies: Networks,
        authorize: Authorize | None,
    ) -> None:
        self.serving = LogServing(self._routes, waits, self._loop, authorize)
        self.vip_serving = LogServing(self._vip_routes, waits, self._loop, authorize)
        self.server = Server(self._loop, self.serving, limits, tls, trusted_proxies)

    def use(self, routes: Mapping[int, Handler]) -> None:
        """From the next request on, these answer."""
        self._routes.clear()
        self._routes.update(routes)
        self._vip_routes.clear()
        self._vip_routes.update({code: routes[code] for code in routes if code not in _NOT_ON_VIP})

    def listen(self) -> None:
        for number, sock in enumerate(self._sockets):
            sock.listen(1024)
            self.server.add_listener(sock, self.vip_serving if number else self.serving)

    def stop_accepting(self) -> None:
        self.server.stop_accepting()
        self.serving.is_draining = self.vip_serving.is_draining = True

    async def drain(self) -> None:
        """What is in flight gets its answer, or two seconds."""
        deadline = self._loop.time() + _DRAIN_S
        while self.serving.in_flight + self.vip_serving.in_flight and self._loop.time() < deadline:
            await asyncio.sleep(0.005)

    async def close(self) -> None:
        await self.server.close()
