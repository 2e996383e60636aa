"""Second stage of a broker's start: everything that runs by itself is built, connected, started and stopped.

Order of a start: `begin` before anybody is served (a master reads the log's open work first), `start` once
the ports listen, `join` last: only then does this broker contact its group and the name servers. Order of a
stop: `leave`, then `stop` when requests in flight are answered, then `finish`, which saves all tables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from engine.broker.failover.member_task import GroupMember
from engine.broker.offsets.offset_table import OFFSETS_FILE
from engine.broker.pop.orders import ORDER_FILE
from engine.broker.process.core import Core, now_ms
from engine.broker.process.damage_wiring import DamageControl
from engine.broker.process.group_wiring import BrokerGroup, metadata_sync
from engine.broker.process.master_tasks import MasterTasks
from engine.broker.process.registration_task import Registration
from engine.broker.process.role_changes import RoleChanges
from engine.broker.process.settings_effects import apply_settings
from engine.broker.process.waits import BrokerWaits
from engine.broker.replication.metadata import ReplicaFiles, order_file
from engine.broker.replication.metadata_task import MetadataSync
from engine.broker.settings.config_changes import CHANGES_FILE
from engine.broker.state.state_files_io import changes_file, state_files
from engine.broker.state.table_writer_task import TableWriter
from engine.broker.storage.dispatch_task import Dispatching
from engine.broker.storage.flush_task import Flusher
from engine.broker.storage.housekeeping_task import Housekeeping, Sampling
from engine.net.requester import Requester
from engine.net.serving import Serving


@dataclass(frozen=True, slots=True)
class LogTasks:
    """Flush, dispatch and clean-up of the log and its queues."""

    flusher: Flusher
    dispatching: Dispatching
    housekeeping: Housekeeping


@dataclass(frozen=True, slots=True)
class GroupTasks:
    """This broker's place in its group."""

    group: BrokerGroup | None
    role_changes: RoleChanges
    metadata_sync: MetadataSync
    files: ReplicaFiles

    @property
    def member(self) -> GroupMember | None:
        return self.group.member if self.group is not None else None


@dataclass(frozen=True, slots=True)
class Tasks:
    core: Core
    waits: BrokerWaits
    requester: Requester
    registration: Registration
    writer: TableWriter
    damage: DamageControl
    master: MasterTasks
    replication: GroupTasks
    log: LogTasks
    sampling: Sampling

    def begin(self) -> None:
        self.replication.role_changes.begin()

    def start(self) -> None:
        self.core.access.start(self.core.runtime.loop)
        self.replication.metadata_sync.start()
        self.log.flusher.start()
        self.log.housekeeping.start()
        self.damage.start()
        self.core.figures.lag.start()
        self.log.dispatching.schedule()
        self.sampling.start()

    async def join(self) -> None:
        await self.writer.save_all()
        if self.replication.group is not None:
            await self.replication.group.start()
        await self.registration.start()

    async def leave(self) -> None:
        self.waits.release_holds()
        await self.registration.stop()

    async def stop(self) -> None:
        self.sampling.stop()
        self.core.figures.lag.stop()
        self.core.access.stop()
        await self.log.housekeeping.stop()
        await self.damage.stop()
        await self.replication.metadata_sync.stop()
        await self.master.stop()
        await self.log.flusher.flush_log(force=True)
        if self.replication.group is not None:
            await self.replication.group.stop()
        await self.master.settle()
        self.master.close()
        await self.log.flusher.stop()

    async def finish(self) -> None:
        await self.requester.close()
        self.waits.close()
        self.log.dispatching.finish()
        await self.writer.finish()


def build_tasks(core: Core) -> Tasks:
    options, runtime, store = core.options, core.runtime, core.store
    flusher = _flusher(core)
    waits = BrokerWaits(runtime.loop, want_flush=flusher.want, most_holds=options.signalbox_max_long_polls)
    requester = _requester(core, waits)
    registration = Registration(
        core.identity, options.name_servers, core.tables.topics, options.live, requester, core.role
    )
    core.events.on_peer_lost.append(registration.lost)
    writer = _table_writer(core, flusher, registration)
    waits.when_persisted, waits.when_announced = writer.when_saved, writer.when_announced
    core.changes.on_change = partial(
        apply_settings, core, register=registration.register_soon, announce=writer.announce
    )
    dispatching = Dispatching(
        runtime.loop, store.log, store.queues, waits.holds, waits.arrived, fenced=core.log_events.fenced
    )
    _connect_log(core, flusher, waits, dispatching)
    damage = DamageControl(core, writer, waits)
    writer.add(damage.files())
    master = MasterTasks(core, writer, damage)
    roles = RoleChanges(core, master, waits, flusher, announce=registration.register_soon)
    group = _group(core, requester, waits, damage, roles)
    files = _replica_files(core, damage, writer.save)
    follow = master.waiting.timer_store.follow
    sync = metadata_sync(core, files, requester, group, save=writer.save, timers_read=follow)
    return Tasks(
        core,
        waits,
        requester,
        registration,
        writer,
        damage,
        master,
        GroupTasks(group, roles, sync, files),
        LogTasks(flusher, dispatching, _housekeeping(core, writer, group)),
        Sampling(
            runtime.loop, core.figures.stats, core.figures.put_times, core.figures.appends, now_ms=now_ms
        ),
    )


def _flusher(core: Core) -> Flusher:
    options, runtime = core.options, core.runtime
    commits = core.store.options.transient_store_pool_enable
    return Flusher(
        runtime.loop,
        core.store.log,
        core.store.flush,
        options.live,
        runtime.sync_thread,
        core.log_events,
        is_sync=options.is_sync_flush,
        commit_interval_ms=options.commit_interval_commit_log if commits else None,
        now_ms=now_ms,
    )


def _requester(core: Core, waits: BrokerWaits) -> Requester:
    """Name servers and members send no requests on these connections; any is answered "not supported"."""
    return Requester(
        Serving({}, waits, core.runtime.loop),
        on_closed=core.events.peer_lost,
        tls=core.options.tls.client,
        credentials=core.access.credentials,
    )


def _table_writer(core: Core, flusher: Flusher, registration: Registration) -> TableWriter:
    directory, runtime = core.runtime.config_directory, core.runtime
    files = state_files(directory, core.tables, now_ms) | core.access.files()
    files[CHANGES_FILE] = changes_file(directory, core.changes)
    return TableWriter(
        files,
        runtime.loop,
        runtime.threads,
        flush_log=flusher.bring_to_disk,
        when_registered=registration.when_announced,
    )


def _connect_log(core: Core, flusher: Flusher, waits: BrokerWaits, dispatching: Dispatching) -> None:
    """What is appended may be read once it is dispatched, and with SYNC_FLUSH not before it is synced."""
    events = core.log_events
    events.on_appended.append(flusher.want if core.options.is_sync_flush else dispatching.schedule)
    events.on_flushed.append(waits.flushed)
    events.on_visible.append(dispatching.schedule)
    events.on_fenced.append(waits.fenced)


def _group(
    core: Core, requester: Requester, waits: BrokerWaits, damage: DamageControl, roles: RoleChanges
) -> BrokerGroup | None:
    if core.ports.ha is None:
        return None
    group = BrokerGroup(core, core.ports.ha, requester, roles.hooks)
    core.log_events.on_appended.append(group.appended)
    core.log_events.on_flushed.append(group.flushed)
    waits.wait_for_replicas = group.wait
    damage.members = group.damage_members(lambda: core.role.master_address)
    return group


def _replica_files(core: Core, damage: DamageControl, save: Callable[[str], None]) -> ReplicaFiles:
    files = {ORDER_FILE: order_file(core.tables.orders, save)}
    return files | core.access.replica_files(save) | damage.replica_files()


def _housekeeping(core: Core, writer: TableWriter, group: BrokerGroup | None) -> Housekeeping:
    def save_changed() -> None:
        if core.tables.offsets.is_dirty:
            writer.save(OFFSETS_FILE)
        if core.tables.orders.is_dirty:
            writer.save(ORDER_FILE)

    return Housekeeping(
        core.store.log,
        core.store.growth,
        core.store.front,
        core.clients.membership,
        core.clients.locks,
        core.figures.disk,
        core.options.live,
        core.runtime.threads,
        core.options.clean_resource_interval / 1000,
        now_ms=now_ms,
        save_changed=save_changed,
        settle_start=_decides_alone if group is None else group.member.streams.settle_start,
    )


async def _decides_alone(planned_start: Callable[[], int]) -> int | None:
    """Where the log may start is up to a broker without a group."""
    return planned_start()
