"""Puts replication together for a broker that is in a group (core.py decides that). No logic of its own.

Without a group there is no HA port and nothing of this runs.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable

from engine.broker.failover.group_file_io import GroupFile
from engine.broker.failover.group_state import GroupName
from engine.broker.failover.member_requests_io import DamageMembers, MemberRequests
from engine.broker.failover.member_task import GroupMember
from engine.broker.failover.role import GroupRules, RoleHooks
from engine.broker.process.core import Core, now_ms
from engine.broker.replication.ha_port_io import HaServer
from engine.broker.replication.in_sync_set import InSyncTable
from engine.broker.replication.metadata import ReplicaFiles
from engine.broker.replication.metadata_task import MetadataSync
from engine.net.requester import Requester
from engine.protocol.bodies.brokers import GroupStatus
from engine.protocol.commands import Command
from engine.protocol.names import is_system_topic

MEMBER_TIMEOUT_MS = 5_000


class BrokerGroup:
    """The HA port and what runs behind it."""

    def __init__(self, core: Core, sock: socket.socket, requester: Requester, hooks: RoleHooks) -> None:
        options, role, secret = core.options, core.role, core.runtime.cluster_secret
        self._is_slave = options.is_slave
        self._socket = sock
        self._file = GroupFile(core.runtime.config_directory, core.runtime.threads)
        self._file.load()
        self.server = HaServer(secret, allows_plain=options.signalbox_allow_plain_slaves)
        cluster, name = options.broker_cluster_name, options.broker_name
        self._member_id = role.member_id
        self._requests = MemberRequests(cluster, name, secret, requester, options.name_servers)
        self.member = GroupMember(
            GroupName(cluster, name, role.member_id),
            core.identity.address,
            core.identity.ha_address,
            secret,
            GroupRules(options.min_in_sync_replicas, options.ha_max_time_slave_not_catchup),
            self._file,
            core.store,
            self.server,
            self._requests,
            hooks,
            core.log_events,
            named_master=lambda: (
                role.master_address,
                options.ha_master_address or role.master_ha_address,
            ),
            now_ms=now_ms,
        )
        self._streams = self.member.streams
        role.lacks_front = self._streams.lacks_front

    def damage_members(self, master: Callable[[], str | None]) -> DamageMembers:
        """How the others are asked for a damaged record."""
        return DamageMembers(self._member_id, self._file, self._requests, master)

    async def start(self) -> None:
        await self.server.start(self._socket)
        await self.member.start(is_slave=self._is_slave)

    async def stop(self) -> None:
        await self.member.stop()

    def wait(self, count: int, commit_log_offset: int, timeout_ms: int, done: Callable[[bool], None]) -> None:
        """A broker that is not master (any more) confirms nothing."""
        term = self._streams.term
        if term is None:
            done(False)
        else:
            term.wait(count, commit_log_offset, timeout_ms, done)

    def in_sync_table(self) -> InSyncTable | None:
        term = self._streams.term
        return None if term is None else term.table

    def appended(self) -> None:
        if self._streams.term is not None:
            self._streams.term.appended()

    def flushed(self, commit_log_offset: int) -> None:
        del commit_log_offset
        self.appended()
        if self._streams.follower is not None:
            self._streams.follower.flushed()


def metadata_sync(
    core: Core,
    files: ReplicaFiles,
    requester: Requester,
    group: BrokerGroup | None,
    *,
    save: Callable[[str], None],
    timers_read: Callable[[int], None],
) -> MetadataSync:
    """What a slave takes from its master besides the log."""
    cluster, name = core.options.broker_cluster_name, core.options.broker_name

    async def ask(address: str, request: Command) -> Command:
        return await requester.request(address, request, MEMBER_TIMEOUT_MS)

    def is_master(status: GroupStatus | None) -> bool:
        return group is not None and group.member.is_under(status)

    sync = MetadataSync(
        core.role,
        core.store.log,
        core.store.queues,
        core.tables,
        files,
        save=save,
        is_own_topic=lambda topic: is_system_topic(topic, cluster, name),
        timers_read=timers_read,
        now_ms=now_ms,
        ask=ask,
        is_master=is_master,
        clock_s=time.monotonic,
    )
    core.store.queues.when_made(sync.saw)
    core.events.on_promoting.append(sync.take_over)
    core.events.on_new_master.append(sync.wake)
    return sync
