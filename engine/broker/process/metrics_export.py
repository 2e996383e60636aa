"""The port where Prometheus reads a broker's metrics, opened when the configuration asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.broker.process.core import Core
from engine.broker.process.tasks import Tasks
from engine.broker.quotas.handlers_gate import QuotaGate
from engine.net.server import Server

if TYPE_CHECKING:
    from engine.daemon.metrics_port import MetricsPort


class MetricsExport:
    """`port` is where it listens; None when nothing is exported."""

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
