"""What a broker's metrics are read from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.broker.clients.consumer_table import ConsumerTable
from engine.broker.clients.producer_table import ProducerTable
from engine.broker.offsets.progress import ConsumeProgress
from engine.broker.process.damage_wiring import DamageControl
from engine.broker.quotas.handlers_gate import QuotaGate
from engine.broker.settings.options import LiveOptions
from engine.broker.stats.traffic import Traffic
from engine.net.connection import Connection
from engine.net.server import Server
from engine.store.message_store import MessageStore


@dataclass(frozen=True, slots=True)
class MetricsSources:
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
