"""A broker's place in its group: reads the secret, opens the HA port, puts `replication` together. No logic.

A broker is in a group when it is a slave, has a cluster secret, serves plain slaves, or was in one before.
Without any of that there is no HA port and nothing of this runs.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path

from engine.broker.clients.request_modes import RequestModes
from engine.broker.failover.group_file_io import GroupFile
from engine.broker.failover.group_state import GroupName
from engine.broker.failover.member_requests_io import MemberRequests
from engine.broker.failover.member_task import Replication
from engine.broker.failover.role import Role
from engine.broker.failover.role_hooks import GroupRules, RoleHooks
from engine.broker.process.addresses_io import bind
from engine.broker.replication.damage_members_io import DamageMembers
from engine.broker.replication.ha_server_io import HaServer
from engine.broker.replication.in_sync_set import InSyncTable
from engine.broker.replication.metadata_task import MetadataSync, SyncTargets
from engine.broker.replication.replica_files import ReplicaFiles
from engine.broker.settings.options import BrokerOptions
from engine.broker.state.tables import Tables
from engine.broker.storage.log_events import LogEvents
from engine.errors import BadInput
from engine.net.requester import Requester
from engine.protocol.bodies.brokers import GroupStatus
from engine.protocol.cluster_proof import MIN_SECRET_BYTES
from engine.protocol.commands import Command
from engine.protocol.hosts import Host, joined
from engine.protocol.names import is_system_topic
from engine.store.message_store import MessageStore

MEMBER_TIMEOUT_MS = 5_000


def is_in_group(options: BrokerOptions, *, has_group_file: bool) -> bool:
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


class BrokerGroup:
    """The HA port and what runs behind it."""

    def __init__(
        self,
        options: BrokerOptions,
        address: Host,
        bind_host: str,
        config_directory: Path,
        role: Role,
        store: MessageStore,
        requester: Requester,
        threads: Executor,
        hooks: RoleHooks,
        events: LogEvents,
        secret: bytes | None,
        *,
        now_ms: Callable[[], int],
    ) -> None:
        host, port = address
        self._is_slave = options.is_slave
        wanted = options.ha_listen_port or (port + 1 if options.listen_port else 0)
        self._socket = bind(bind_host, wanted)
        self.ha_address = joined(options.broker_ip2 or host, self._socket.getsockname()[1])
        file = GroupFile(config_directory, threads)
        try:
            file.load()
        except BadInput:
            self._socket.close()
            raise
        self._file = file
        self.server = HaServer(secret, allows_plain=options.signalbox_allow_plain_slaves)
        cluster, name = options.broker_cluster_name, options.broker_name
        self._member_id = role.member_id
        self._requests = MemberRequests(cluster, name, secret, requester, options.name_servers)
        self.replication = Replication(
            GroupName(cluster, name, role.member_id),
            joined(host, port),
            self.ha_address,
            secret,
            GroupRules(options.min_in_sync_replicas, options.ha_max_time_slave_not_catchup),
            file,
            store,
            self.server,
            self._requests,
            hooks,
            events,
            named_master=lambda: (
                role.master_address,
                options.ha_master_address or role.master_ha_address,
            ),
            now_ms=now_ms,
        )
        role.lacks_front = self.replication.lacks_front

    def damage_members(self, master: Callable[[], str | None]) -> DamageMembers:
        """How the others are asked for a damaged record."""
        return DamageMembers(self._member_id, self._file, self._requests, master)

    async def start(self) -> None:
        await self.server.start(self._socket)
        await self.replication.start(is_slave=self._is_slave)

    async def stop(self) -> None:
        await self.replication.stop()

    def wait(self, count: int, commit_log_offset: int, timeout_ms: int, done: Callable[[bool], None]) -> None:
        """Whoever is no master (any more) confirms nothing."""
        mastering = self.replication.mastering
        if mastering is None:
            done(False)
        else:
            mastering.wait(count, commit_log_offset, timeout_ms, done)

    def in_sync_table(self) -> InSyncTable | None:
        mastering = self.replication.mastering
        return mastering.table if mastering is not None else None

    def appended(self) -> None:
        if self.replication.mastering is not None:
            self.replication.mastering.appended()

    def flushed(self, commit_log_offset: int) -> None:
        del commit_log_offset
        self.appended()
        if self.replication.following is not None:
            self.replication.following.flushed()


class GroupFront:
    """What a broker may delete at the front of its log, and why an administrator may not."""

    def __init__(self, group: Callable[[], BrokerGroup | None]) -> None:
        self._group = group

    async def settle_start(self, planned_start: Callable[[], int]) -> int | None:
        """Without a group a broker decides for itself."""
        group = self._group()
        return planned_start() if group is None else await group.replication.settle_start(planned_start)

    def cleaning_refusal(self) -> str:
        group = self._group()
        return "" if group is None else group.replication.cleaning_refusal()


def metadata_sync(
    options: BrokerOptions,
    role: Role,
    store: MessageStore,
    tables: Tables,
    modes: RequestModes,
    files: ReplicaFiles,
    requester: Requester,
    group: BrokerGroup | None,
    *,
    save: Callable[[str], None],
    timers_read: Callable[[int], None],
    now_ms: Callable[[], int],
) -> MetadataSync:
    """What a slave takes from its master besides the log."""
    cluster, name = options.broker_cluster_name, options.broker_name
    targets = SyncTargets(
        tables,
        modes,
        files,
        save=save,
        is_own_topic=lambda topic: is_system_topic(topic, cluster, name),
        drop_queues=store.delete_topic_queues,
        timers_read=timers_read,
        now_ms=now_ms,
    )

    async def ask(address: str, request: Command) -> Command:
        return await requester.request(address, request, MEMBER_TIMEOUT_MS)

    def is_master(status: GroupStatus | None) -> bool:
        return group is not None and group.replication.is_under(status)

    sync = MetadataSync(role, store, targets, ask=ask, is_master=is_master, clock_s=time.monotonic)
    store.when_queue_made(sync.saw)
    return sync
