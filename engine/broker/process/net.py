"""Last stage of a broker's start: its ports serve the routes of its role, behind rights and quotas.

Beside the main port there may be the VIP port, which takes nothing that may wait long. Which handler answers
which code may change while the broker runs (a slave refuses what its master takes): `use_routes` changes the
tables in place, so a request costs one look-up whatever the role. Loop thread only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from engine.broker.failover.handlers_by_role import routes_of
from engine.broker.process.core import Core
from engine.broker.process.tasks import Tasks
from engine.broker.quotas.handlers_gate import QuotaGate
from engine.net.arrivals import parse_networks
from engine.net.flow import ConnectionLimits
from engine.net.outcomes import Handler
from engine.net.server import Server
from engine.net.serving import LogServing
from engine.protocol.codes import RequestCode

if TYPE_CHECKING:
    from engine.daemon.metrics_port import MetricsPort

_NOT_ON_VIP = (
    RequestCode.PULL_MESSAGE,
    RequestCode.LITE_PULL_MESSAGE,
    RequestCode.PEEK_MESSAGE,
    RequestCode.POP_MESSAGE,
    RequestCode.NOTIFICATION,
    RequestCode.POLLING_INFO,
)
_DRAIN_S = 2.0


class Net:
    """`listen`; then `stop_accepting`, `drain`, `close`."""

    def __init__(self, core: Core, tasks: Tasks, routes: Mapping[int, Handler]) -> None:
        options, loop = core.options, core.runtime.loop
        self._loop = loop
        self._role = core.role
        self._sockets = core.ports.listeners
        self._all_routes = routes
        self._routes: dict[int, Handler] = {}
        self._vip_routes: dict[int, Handler] = {}
        self.quotas = QuotaGate(options.live, loop.time)
        core.events.on_routes_changed.append(self.use_routes)
        gate = core.access.gate(routes)
        self.serving = LogServing(self._routes, tasks.waits, loop, gate)
        self.vip_serving = LogServing(self._vip_routes, tasks.waits, loop, gate)
        limits = ConnectionLimits(
            max_connections_per_ip=options.signalbox_max_connections_per_ip, memory=options.memory
        )
        proxies = parse_networks(options.signalbox_trusted_proxies)
        self.server = Server(loop, self.serving, limits, core.runtime.tls, proxies)
        self.metrics = MetricsExport(core, tasks, self.server, self.quotas)

    def use_routes(self) -> None:
        """From the next request on, those of the role of now answer."""
        routes = self.quotas.gated(routes_of(self._role, self._all_routes))
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
        await self.metrics.stop()
        await self.server.close()


class MetricsExport:
    """Where Prometheus reads metrics, opened when the configuration asks for it; otherwise `port` is None."""

    def __init__(self, core: Core, tasks: Tasks, server: Server, quotas: QuotaGate) -> None:
        self._sources = core, tasks, server, quotas
        self._port: MetricsPort | None = None
        self.port: int | None = None

    async def start(self) -> None:
        options = self._sources[0].options
        if options.metrics_exporter_type != "PROM":
            return
        # Imported when wanted: prometheus-client would take a tenth of every start.
        from engine.broker.process.metrics import broker_registry
        from engine.daemon.metrics_port import MetricsPort

        self._port = MetricsPort(broker_registry(*self._sources))
        host, port = options.metrics_prom_exporter_host, options.metrics_prom_exporter_port
        self.port = await self._port.start(host, port)

    async def stop(self) -> None:
        if self._port is not None:
            await self._port.stop()
