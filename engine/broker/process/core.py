"""First stage of a broker's start: ports are bound, the store is open, tables are loaded. Nothing runs yet.

Ports come first, so that a port in use is found out before anything else is touched.
"""

from __future__ import annotations

import asyncio
import os
import stat
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from engine.broker.clients.client_tables import ConsumerTable, ProducerTable
from engine.broker.clients.membership_io import Membership
from engine.broker.clients.queue_assignment import QueueLocks
from engine.broker.failover.group_state import GROUP_FILE
from engine.broker.failover.role import Role, first_role
from engine.broker.groups.group_table import add_system_groups
from engine.broker.offsets.progress import ConsumeProgress
from engine.broker.process.access_wiring import AccessControl
from engine.broker.process.ports import Ports, bind_ports
from engine.broker.settings.config_changes import ConfigChanges
from engine.broker.settings.options import BrokerIdentity, BrokerOptions, identify
from engine.broker.settings.store_options_io import store_options
from engine.broker.state.state_files_io import load_tables, restored_changes
from engine.broker.state.tables import Tables
from engine.broker.stats.broker_stats import BrokerStats, local_day
from engine.broker.stats.put_times import PutTimes, TimedAppends
from engine.broker.stats.traffic import Traffic
from engine.broker.storage.disk_room import DiskRoom
from engine.broker.storage.log_events import LogEvents
from engine.broker.storage.store_opening_io import open_store
from engine.broker.topics.topic_table import add_own_topics
from engine.errors import BadInput, EngineError
from engine.net.connection import Connection
from engine.net.flow import LoopLag
from engine.net.tls import ServerTls
from engine.protocol.hosts import pack_host
from engine.protocol.signing import MIN_SECRET_BYTES
from engine.store.message_store import MessageStore


def now_ms() -> int:
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True)
class Runtime:
    """What this process provides: its loop, its threads, its folder and its keys."""

    loop: asyncio.AbstractEventLoop
    threads: ThreadPoolExecutor
    sync_thread: ThreadPoolExecutor
    config_directory: Path
    booted_ms: int
    tls: ServerTls
    cluster_secret: bytes | None


@dataclass(frozen=True, slots=True)
class Clients:
    """Who is connected."""

    consumers: ConsumerTable[Connection]
    producers: ProducerTable[Connection]
    locks: QueueLocks
    membership: Membership


@dataclass(frozen=True, slots=True)
class Figures:
    """What is counted and measured."""

    traffic: Traffic
    stats: BrokerStats
    put_times: PutTimes
    appends: TimedAppends
    progress: ConsumeProgress
    disk: DiskRoom
    lag: LoopLag


class BrokerEvents:
    """What parts that are built first report to parts that are built later, which add their methods to the
    lists. Listeners are called in the order in which they were added. Loop thread only."""

    def __init__(self) -> None:
        self.on_routes_changed: list[Callable[[], None]] = []
        self.on_promoting: list[Callable[[], None]] = []
        self.on_new_master: list[Callable[[], None]] = []
        self.on_peer_lost: list[Callable[[str, Connection], None]] = []

    def routes_changed(self) -> None:
        """The role or the quotas are different: other handlers must answer from the next request on."""
        for listener in self.on_routes_changed:
            listener()

    def promoting(self) -> None:
        """This broker is about to become master: what the old master has sent must be in place."""
        for listener in self.on_promoting:
            listener()

    def new_master(self) -> None:
        """This broker is a slave of another master from now on."""
        for listener in self.on_new_master:
            listener()

    def peer_lost(self, address: str, connection: Connection) -> None:
        """A connection that this broker opened, to a name server or a member of its group, is closed."""
        for listener in self.on_peer_lost:
            listener(address, connection)


@dataclass(frozen=True, slots=True)
class Core:
    options: BrokerOptions
    runtime: Runtime
    ports: Ports
    identity: BrokerIdentity
    role: Role
    store: MessageStore
    tables: Tables
    clients: Clients
    figures: Figures
    changes: ConfigChanges
    access: AccessControl
    log_events: LogEvents
    events: BrokerEvents

    def close(self) -> None:
        self.store.close(now_ms())
        self.runtime.threads.shutdown()
        self.runtime.sync_thread.shutdown()

    def abandon(self) -> None:
        """The start failed: leave nothing open."""
        self.ports.close()
        self.close()


def open_core(options: BrokerOptions) -> Core:
    """Raises EngineError or OSError; nothing stays open then."""
    tls = options.tls.open_server()
    directory = Path(options.store_path_root_dir).expanduser() / "config"
    has_group = is_in_group(options, has_group_file=(directory / GROUP_FILE).exists())
    ports = bind_ports(options, has_ha=has_group)
    try:
        runtime = Runtime(
            asyncio.get_running_loop(),
            ThreadPoolExecutor(2, "broker-files"),
            ThreadPoolExecutor(1, "broker-sync"),
            directory,
            now_ms(),
            tls,
            read_secret(options.signalbox_cluster_secret_file),
        )
        role = first_role(options.is_slave, options.broker_id, has_group)
        return _open_store(options, runtime, ports, role)
    except (EngineError, OSError):
        ports.close()
        raise


def _open_store(options: BrokerOptions, runtime: Runtime, ports: Ports, role: Role) -> Core:
    directory, now = runtime.config_directory, now_ms()
    changes = restored_changes(directory, options)
    store = open_store(store_options(options, pack_host(ports.address)), directory, now)
    try:
        tables = load_tables(directory)
        add_own_topics(tables.topics, options, now)
        add_system_groups(tables.groups, now)
        tables.topics.auto_created.live = tables.groups.auto_created.live = options.live
        access = AccessControl(options, directory, now_ms)
    except (EngineError, OSError):
        store.close(now_ms())
        raise
    consumers: ConsumerTable[Connection] = ConsumerTable()
    producers: ProducerTable[Connection] = ProducerTable()
    return Core(
        options,
        runtime,
        ports,
        identify(options, ports.address, ports.ha_address),
        role,
        store,
        tables,
        Clients(
            consumers,
            producers,
            QueueLocks(),
            Membership(consumers, producers, tables.groups, options.live),
        ),
        _figures(options, runtime, store, tables, consumers, now),
        changes,
        access,
        LogEvents(),
        BrokerEvents(),
    )


def _figures(
    options: BrokerOptions,
    runtime: Runtime,
    store: MessageStore,
    tables: Tables,
    consumers: ConsumerTable[Connection],
    now: int,
) -> Figures:
    traffic, put_times = Traffic(), PutTimes()
    stats = BrokerStats(options.broker_cluster_name, traffic, store.stats, now, local_day)
    return Figures(
        traffic,
        stats,
        put_times,
        TimedAppends(store.log, put_times, time.perf_counter_ns),
        ConsumeProgress(
            options.broker_name, tables.topics, tables.offsets, consumers, store.queues, store.search, stats
        ),
        DiskRoom(),
        LoopLag(runtime.loop),
    )


def is_in_group(options: BrokerOptions, *, has_group_file: bool) -> bool:
    """A slave is, a broker with a cluster secret or one that serves plain slaves, or one that was before."""
    opens_port = bool(options.signalbox_cluster_secret_file) or options.signalbox_allow_plain_slaves
    return opens_port or options.is_slave or has_group_file


def read_secret(path: str) -> bytes | None:
    """The cluster secret, or None where none is set. A file that others may read is refused."""
    if not path:
        return None
    try:
        with open(Path(path).expanduser(), "rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            secret = file.read(4096).strip()
    except OSError as error:
        raise BadInput(f"signalboxClusterSecretFile {path}: {error.strerror}") from None
    if mode & 0o077:
        raise BadInput(f"signalboxClusterSecretFile {path} must be readable by its owner only (chmod 600)")
    if len(secret) < MIN_SECRET_BYTES:
        raise BadInput(f"signalboxClusterSecretFile {path} must hold {MIN_SECRET_BYTES} bytes or more")
    return secret
