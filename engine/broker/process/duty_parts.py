"""What a broker's background work is put together from."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass

from engine.broker.clients.producer_table import ProducerTable
from engine.broker.process.waits import BrokerWaits
from engine.broker.settings.options import BrokerOptions
from engine.broker.state.table_files import Done
from engine.broker.state.tables import Tables
from engine.broker.stats.traffic import Traffic
from engine.broker.storage.disk_room import DiskRoom
from engine.net.connection import Connection
from engine.store.message_store import MessageStore


@dataclass(frozen=True, slots=True)
class DutyParts:
    options: BrokerOptions
    tables: Tables
    store: MessageStore
    producers: ProducerTable[Connection]
    traffic: Traffic
    disk: DiskRoom
    waits: BrokerWaits
    threads: Executor
    booted_ms: int
    now_ms: Callable[[], int]
    appended: Callable[[], None]
    when_saved: Callable[[str, Done], None]
    when_announced: Callable[[str, Done], None]
