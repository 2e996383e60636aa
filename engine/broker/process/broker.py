"""Builds a broker, wires its parts, starts and stops them. No logic of its own.

Order of a start: bind (a port in use is found out before anything else), open the store, load the tables,
listen, register. Order of a stop: accept nothing more, answer what is in flight, flush, save, unregister,
close the store. Everything runs on one loop; threads sync, write small files and prepare segments.
"""

from __future__ import annotations

import asyncio
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from engine.broker.clients.consumer_table import ConsumerTable
from engine.broker.clients.membership_io import Membership
from engine.broker.clients.producer_table import ProducerTable
from engine.broker.clients.queue_locks import QueueLocks
from engine.broker.delivery.deferral import Parking
from engine.broker.failover.group_state import GROUP_FILE
from engine.broker.failover.handlers import BrokerGroupHandlers
from engine.broker.failover.handlers_by_role import routes_of
from engine.broker.failover.member_task import Replication
from engine.broker.failover.role import first_role
from engine.broker.offsets.progress import ConsumeProgress
from engine.broker.pop.orders import ORDER_FILE
from engine.broker.process.access_wiring import AccessControl
from engine.broker.process.addresses_io import choose_addresses
from engine.broker.process.admin_wiring import AdminParts, admin_handlers
from engine.broker.process.damage_wiring import DamageControl
from engine.broker.process.duties import Duties
from engine.broker.process.duty_parts import DutyParts
from engine.broker.process.group_wiring import (
    BrokerGroup,
    GroupFront,
    is_in_group,
    metadata_sync,
    read_secret,
)
from engine.broker.process.listeners_io import Listeners, connection_limits
from engine.broker.process.live_effects import LiveEffects
from engine.broker.process.message_wiring import MessageParts, message_handlers
from engine.broker.process.metrics_export import MetricsExport, MetricsSources
from engine.broker.process.registration_task import Registration
from engine.broker.process.role_changes import RoleChanges, role_hooks
from engine.broker.process.waits import BrokerWaits
from engine.broker.quotas.handlers_gate import QuotaGate
from engine.broker.replication.handlers_records import GroupRecordHandlers
from engine.broker.replication.handlers_status import HAStatus
from engine.broker.replication.replica_files import ReplicaFiles, order_file
from engine.broker.sending.durability import durability
from engine.broker.settings.identity import identify
from engine.broker.settings.options import BrokerOptions
from engine.broker.settings.store_options_io import store_options
from engine.broker.state.admin_files_io import admin_files, load_request_modes, restored_changes
from engine.broker.state.announcer_task import Announcer
from engine.broker.state.state_files_io import load_tables, state_files
from engine.broker.state.table_files import OFFSETS_FILE
from engine.broker.state.table_writer_task import Persistence
from engine.broker.state.tables import Tables
from engine.broker.stats.broker_stats import BrokerStats, local_day
from engine.broker.stats.put_times import PutTimes, TimedAppends
from engine.broker.stats.runtime_info_io import BrokerMoment, disk_space, runtime_info
from engine.broker.stats.sampling_task import Sampling
from engine.broker.stats.traffic import Traffic
from engine.broker.storage.disk_room import DiskRoom
from engine.broker.storage.dispatch_task import Dispatching
from engine.broker.storage.flush_task import Flusher
from engine.broker.storage.housekeeping_task import Housekeeping, HousekeepingTimes
from engine.broker.storage.log_events import LogEvents
from engine.broker.storage.store_opening_io import open_store
from engine.broker.topics.system_names import add_own_names, limit_auto_creation
from engine.daemon.background_tasks import start_task
from engine.errors import EngineError
from engine.net.connection import Connection
from engine.net.flow import LoopLag
from engine.net.networks import parse_networks
from engine.net.outcomes import Handler
from engine.net.requester import Requester
from engine.net.serving import Serving
from engine.protocol.hosts import joined, pack_host

log = logging.getLogger(__name__)


def now_ms() -> int:
    return time.time_ns() // 1_000_000


class Broker:
    """`await start()`, `await stop()`; `address` is where it listens, under the advertised host."""

    def __init__(self, options: BrokerOptions) -> None:
        self.options = options
        self.live = options.live
        self._loop = asyncio.get_running_loop()
        self.listeners = Listeners(self._loop)
        self._threads = ThreadPoolExecutor(2, "broker-files")
        self._sync_thread = ThreadPoolExecutor(1, "broker-sync")
        self._booted_ms = now_ms()
        self.address: tuple[str, int] = ("", 0)
        self.metrics = MetricsExport()
        self.events = LogEvents()
        self.group: BrokerGroup | None = None
        self._front = GroupFront(lambda: self.group)

    async def start(self) -> str:
        options = self.options
        try:
            self._tls = options.tls.open_server()
            chosen = choose_addresses(options.bind_address, options.broker_ip1)
            self.address = self.listeners.bind(chosen, options.listen_port)
            self._restore_changes()
            self._secret = read_secret(options.signalbox_cluster_secret_file)
            self._open_store()
            self._build_tables()
            self.access = AccessControl(options, self.config_directory, now_ms)
            self._build_tasks()
            self._build_net(chosen.bind_host)
        except (EngineError, OSError):
            self._abandon()
            raise
        self.role_changes.begin()
        self.listeners.listen()
        self.access.start(self._loop)
        self.metadata_sync.start()
        self.flusher.start()
        self.housekeeping.start()
        self.damage.start()
        self.lag.start()
        self.dispatching.schedule()
        self.sampling.start()
        try:
            await self.metrics.start(options, self.identity, self._metrics_sources())
        except EngineError:
            await self.stop()
            raise
        await self.persistence.save_all()
        if self.group is not None:
            await self.group.start()
        await self.registration.start()
        return f"broker {options.broker_name} ready on {joined(*self.address)}"

    def _restore_changes(self) -> None:
        options = self.options
        self.config_directory = Path(options.store_path_root_dir).expanduser() / "config"
        has_group = (self.config_directory / GROUP_FILE).exists()
        self._is_in_group = is_in_group(options, has_group_file=has_group)
        self.role = first_role(options.is_slave, options.broker_id, self._is_in_group)
        rules = {"protects_unexpired": options.protects_unexpired, "says_deletion": options.says_deletion}
        self.changes = restored_changes(self.config_directory, self.live, **rules)

    def _open_store(self) -> None:
        wanted = store_options(self.options, pack_host(self.address))
        self.store = open_store(wanted, self.config_directory, now_ms())

    def _abandon(self) -> None:
        """The start failed: leave nothing open."""
        self.listeners.abandon()
        if hasattr(self, "store"):
            self.store.close(now_ms())

    # -- the role -------------------------------------------------------------------------------------------

    async def become_master(self, epoch: int) -> None:
        """Returns once writes are taken, or another role was asked for meanwhile. Before they are, all of
        the log must be confirmed and dispatched: the streams must already serve."""
        await self.role_changes.become_master(epoch)

    async def cut_log(self, commit_log_offset: int) -> None:
        """Drop the log from this record boundary on, while no flush runs."""
        async with self.flusher.pause():
            self.store.truncate(commit_log_offset)
            self.waiting.log_was_cut(now_ms())
            # Whoever writes the same offsets anew must wait for a sync of its own.
            self.waits.flushed(min(commit_log_offset, self.store.flushed_offset))

    def _use_routes(self) -> None:
        self.listeners.use(self.quotas.gated(routes_of(self.role, self._handlers)))

    # -- building -------------------------------------------------------------------------------------------

    def _build_tables(self) -> None:
        options = self.options
        self.tables: Tables = load_tables(self.config_directory)
        self.topics, self.groups, self.offsets = self.tables.topics, self.tables.groups, self.tables.offsets
        now = now_ms()
        add_own_names(self.tables, options, now)
        limit_auto_creation(self.tables, self.live)
        self.consumers: ConsumerTable[Connection] = ConsumerTable()
        self.producers: ProducerTable[Connection] = ProducerTable()
        self.locks = QueueLocks()
        self.traffic = Traffic()
        self.request_modes = load_request_modes(self.config_directory)
        self.put_times = PutTimes()
        self.appends = TimedAppends(self.store, self.put_times, time.perf_counter_ns)
        self.stats = BrokerStats(
            options.broker_cluster_name, self.traffic, self.store.stats(), now, local_day
        )
        self.progress = ConsumeProgress(
            options.broker_name, self.topics, self.offsets, self.consumers, self.store, self.stats
        )
        self.disk = DiskRoom()
        self.membership = Membership(self.consumers, self.producers, self.groups, self.live)

    def _build_tasks(self) -> None:
        options, loop = self.options, self._loop
        files = state_files(self.config_directory, self.tables, now_ms)
        files |= admin_files(self.config_directory, self.request_modes, self.changes) | self.access.files()
        self.persistence = Persistence(files, loop, self._threads, lambda: self.flusher.bring_to_disk())
        self.announcer = Announcer(self.persistence, lambda done: self.registration.when_announced(done))
        self.changes.on_change = LiveEffects(
            self.live,
            self.topics,
            self.store,
            register=self._register_again,
            use_routes=self._use_routes,
            announce=self.announcer.announce,
            now_ms=now_ms,
        )
        self.waits = BrokerWaits(
            loop,
            want_flush=lambda: self.flusher.want(),
            when_saved=self.persistence.when_saved,
            when_announced=self.announcer.when_announced,
        )
        self.waits.most_holds = options.signalbox_max_long_polls
        self.dispatching = Dispatching(
            loop, self.store, self.waits.holds, self.waits.arrived, fenced=self.events.fenced
        )
        self.flusher = Flusher(
            loop,
            self.store,
            self.live,
            self._sync_thread,
            self.events,
            is_sync=options.is_sync_flush,
            commit_interval_ms=(
                options.commit_interval_commit_log if self.store.options.transient_store_pool_enable else None
            ),
            now_ms=now_ms,
        )
        self._connect_events()
        self.housekeeping = Housekeeping(
            self.store,
            self.membership,
            self.locks,
            self.offsets,
            self.disk,
            self.live,
            self._threads,
            HousekeepingTimes(clean_s=options.clean_resource_interval / 1000),
            now_ms=now_ms,
            save_offsets=lambda: self.persistence.save(OFFSETS_FILE),
            settle_start=self._front.settle_start,
        )
        self.lag = LoopLag(loop)
        self.sampling = Sampling(loop, self.stats, self.put_times, self.appends, now_ms=now_ms)
        levels, has_timers = len(self.store.options.delay_level_ms), options.timer_wheel_enable
        self.parking = Parking(options.broker_name, levels, self.live, has_timers=has_timers)
        self.duties = self._build_duties()
        self.waiting, self.pops = self.duties.waiting, self.duties.pops
        self.transactions = self.duties.transactions

    def _build_duties(self) -> Duties:
        parts = DutyParts(
            options=self.options,
            tables=self.tables,
            store=self.store,
            producers=self.producers,
            traffic=self.traffic,
            disk=self.disk,
            waits=self.waits,
            threads=self._threads,
            booted_ms=self._booted_ms,
            now_ms=now_ms,
            appended=self.events.appended,
            when_saved=self.persistence.when_saved,
            when_announced=self.announcer.when_announced,
        )
        self.damage = DamageControl(self.config_directory, parts, self.consumers, self.role, self.lag)
        self.persistence.add(self.damage.files())
        return Duties(self._loop, parts, self.damage)

    def _connect_events(self) -> None:
        """What is appended may be read once it is dispatched, and with SYNC_FLUSH not before it is synced."""
        events, waits, dispatching = self.events, self.waits, self.dispatching
        events.on_appended.append(self.flusher.want if self.options.is_sync_flush else dispatching.schedule)
        events.on_flushed.append(waits.flushed)
        events.on_visible.append(dispatching.schedule)
        events.on_fenced.append(waits.fenced)

    def _build_net(self, bind_host: str) -> None:
        options = self.options
        self.replica_files: ReplicaFiles = {ORDER_FILE: order_file(self.tables.orders, self.persistence.save)}
        self.replica_files |= self.access.replica_files(self.persistence.save) | self.damage.replica_files()
        limits = connection_limits(options)
        proxies = parse_networks(options.signalbox_trusted_proxies)
        self.quotas = QuotaGate(self.live, self._loop.time)
        # Name servers have nothing to ask of us: whatever they send is answered "not supported".
        nothing = Serving({}, self.waits, self._loop)
        self.requester = Requester(
            nothing,
            on_closed=self._peer_lost,
            tls=options.tls.client,
            credentials=self.access.credentials,
        )
        self.group = self._build_group(bind_host) if self._is_in_group else None
        self.identity = identify(options, self.address, self.group.ha_address if self.group else None)
        self._handlers = self._routes()
        gate = self.access.gate(self._handlers)
        self.listeners.serve(self.waits, limits, self._tls, proxies, gate)
        self.registration = Registration(
            self.identity, options.name_servers, self.topics, self.live, self.requester, self.role
        )
        self.metadata_sync = metadata_sync(
            options,
            self.role,
            self.store,
            self.tables,
            self.request_modes,
            self.replica_files,
            self.requester,
            self.group,
            save=self.persistence.save,
            timers_read=self.waiting.timer_store.follow,
            now_ms=now_ms,
        )
        self.role_changes = RoleChanges(
            self.role,
            self.store,
            self.duties,
            self.waits,
            use_routes=self._use_routes,
            dispatch=self.events.appended,
            announce=self._register_again,
            take_over=self.metadata_sync.take_over,
            follow=self.metadata_sync.wake,
            cut_log=self.cut_log,
        )

    def _streams(self) -> Replication | None:
        return self.group.replication if self.group is not None else None

    def _build_group(self, bind_host: str) -> BrokerGroup:
        group = BrokerGroup(
            self.options,
            self.address,
            bind_host,
            self.config_directory,
            self.role,
            self.store,
            self.requester,
            self._threads,
            role_hooks(lambda: self.role_changes, self.cut_log, self.changes.keep_unexpired),
            self.events,
            self._secret,
            now_ms=now_ms,
        )
        self.events.on_appended.append(group.appended)
        self.events.on_flushed.append(group.flushed)
        self.waits.wait_for_replicas = group.wait
        self.damage.members = group.damage_members(lambda: self.role.master_address)
        return group

    def _routes(self) -> dict[int, Handler]:
        routes: dict[int, Handler] = {}
        admin = admin_handlers(self._admin_parts())
        name = self.options.broker_cluster_name, self.options.broker_name
        groups = BrokerGroupHandlers(*name, self._secret, self._streams())
        records = GroupRecordHandlers(*name, self._secret, self.store, self._streams(), self.damage.exchange)
        messages = (*message_handlers(self._message_parts()), *self.pops.handlers(self.damage.reads))
        for handler in (*messages, *admin, groups, records):
            routes.update(handler.routes())
        return routes | self.access.routes(self.identity)

    def _message_parts(self) -> MessageParts:
        return MessageParts(
            *(self.options, self.role, self.address, self.tables, self.consumers, self.producers, self.locks),
            *(self.membership, self.store, self.appends, self.traffic, self.transactions, self.disk),
            now_ms=now_ms,
            waited_ms=self.lag.delay_ms,
            parking=self.parking,
            durability=durability(self.options, self.group.in_sync_table if self.group else lambda: None),
            timer_counts=self.tables.timer_counts,
            timer_check=lambda: self.waiting.timer_store.check,
            appended=self.events.appended,
            save=self.persistence.save,
            announce=self.announcer.announce,
            check_record=self.access.check_record,
            damaged_reads=self.damage.reads,
        )

    def _admin_parts(self) -> AdminParts:
        return AdminParts(
            identity=self.identity,
            options=self.options,
            tables=self.tables,
            consumers=self.consumers,
            producers=self.producers,
            store=self.store,
            traffic=self.traffic,
            stats=self.stats,
            progress=self.progress,
            modes=self.request_modes,
            changes=self.changes,
            now_ms=now_ms,
            save=self.persistence.save,
            wake=self.waits.wake_soon,
            runtime_info=self._runtime_info,
            delete_expired_soon=self.housekeeping.delete_expired_soon,
            cleaning_refusal=self._front.cleaning_refusal,
            name_server=lambda: self.registration.connection(),
            disk=self.disk,
            booted_ms=self._booted_ms,
            role=self.role,
            check_record=self.access.check_record,
            tls=self._tls,
            replica_files=self.replica_files,
            ha_status=HAStatus(self.role, self.store, self._streams(), now_ms=now_ms),
            damage=self.damage,
        )

    def _metrics_sources(self) -> MetricsSources:
        return MetricsSources(
            *(self.traffic, self.progress, self.consumers, self.producers, self.store, self.live),
            quotas=self.quotas,
            loop_lag_ms=lambda: self.lag.lag_ms,
            server=lambda: self.listeners.server,
            long_polls=lambda: len(self.waits.holds),
            disk_usage_ratio=lambda: self.disk.usage_ratio,
            certificate_not_after_ms=lambda: self._tls.not_after_ms,
            damage=self.damage,
        )

    # -- what parts tell each other -------------------------------------------------------------------------

    def _register_again(self) -> None:
        self._reregistering = start_task(self.registration.register_all(), "register again")

    def _runtime_info(self) -> dict[str, str]:
        moment = BrokerMoment(
            now_ms=now_ms(),
            boot_ms=self._booted_ms,
            loop_lag_ms=self.lag.lag_ms,
            disk=disk_space(str(self.store.options.commit_log_path)),
            start_accepting_ms=self.live.start_accept_send_request_time_stamp,
            is_active=not self.listeners.serving.is_draining,
        )
        return runtime_info(moment, self.store, self.stats, self.put_times, self.waiting.progress())

    def _peer_lost(self, address: str, connection: Connection) -> None:
        """A name server, or the master of this slave."""
        self.registration.lost(address)
        if address == self.role.master_address:
            self.role.is_master_alive = False

    # -- stopping -------------------------------------------------------------------------------------------

    async def stop(self) -> None:
        self.listeners.stop_accepting()
        self.waits.release_holds()
        await self.registration.stop()
        await self.listeners.drain()
        self.sampling.stop()
        await self.metrics.stop()
        self.lag.stop()
        self.access.stop()
        await self.housekeeping.stop()
        await self.damage.stop()
        await self.metadata_sync.stop()
        await self.duties.stop()
        await self.flusher.flush_log(force=True)
        if self.group is not None:
            await self.group.stop()
        await self.duties.settle()
        self.duties.close()
        await self.flusher.stop()
        await self.listeners.close()
        await self.requester.close()
        self.waits.close()
        self.dispatching.finish()
        await self.persistence.finish()
        self.store.close(now_ms())
        self._threads.shutdown()
        self._sync_thread.shutdown()
