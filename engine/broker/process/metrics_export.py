"""The port where Prometheus reads a broker's metrics, opened when the configuration asks for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.broker.clients.consumer_table import ConsumerTable
from engine.broker.clients.producer_table import ProducerTable
from engine.broker.offsets.progress import ConsumeProgress
from engine.broker.process.damage_wiring import DamageControl
from engine.broker.quotas.handlers_gate import QuotaGate
from engine.broker.settings.identity import BrokerIdentity
from engine.broker.settings.options import BrokerOptions, LiveOptions
from engine.broker.stats.traffic import Traffic
from engine.net.connection import Connection
from engine.net.server import Server
from engine.store.message_store import MessageStore

if TYPE_CHECKING:
    from engine.daemon.metrics_port import MetricsPort


@dataclass(frozen=True, slots=True)
class MetricsSources:
    """What the metrics are read from."""

    traffic: Traffic
    progress: ConsumeProgress
    consumers: ConsumerTable[Connection]
    producers: ProducerTable[Connection]
    store: MessageStore
    live: LiveOptions
    quotas: QuotaGate
    loop_lag_ms: Callable[[], float]
    server: Callable[[], Server]
    long_polls: Callable[[], int]
    disk_usage_ratio: Callable[[], float]
    certificate_not_after_ms: Callable[[], int | None]
    damage: DamageControl


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
