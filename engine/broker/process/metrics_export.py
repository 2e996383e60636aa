"""The port where Prometheus reads a broker's metrics, opened when the configuration asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.broker.metrics_sources import MetricsSources
from engine.broker.process.registration_task import BrokerIdentity
from engine.broker.settings.options import BrokerOptions

if TYPE_CHECKING:
    from engine.daemon.metrics_port import MetricsPort


class MetricsExport:
    """`port` is where it listens; None when nothing is exported."""

    def __init__(self) -> None:
        self._port: MetricsPort | None = None
        self.port: int | None = None

    async def start(self, options: BrokerOptions, who: BrokerIdentity, sources: MetricsSources) -> None:
        if options.metrics_exporter_type != "PROM":
            return
        # Imported when wanted: prometheus-client would take a tenth of every start.
        from engine.broker.process.metrics import broker_registry
        from engine.daemon.metrics_port import MetricsPort

        self._port = MetricsPort(broker_registry(who.cluster, who.name, who.address, sources))
        host, port = options.metrics_prom_exporter_host, options.metrics_prom_exporter_port
        self.port = await self._port.start(host, port)

    async def stop(self) -> None:
        if self._port is not None:
            await self._port.stop()
