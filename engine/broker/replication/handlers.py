"""Replication for operators and other brokers: 906 and 907 status, 908 flush offset, 1007 epochs, and
30020, the state that our slaves take besides what RocketMQ's ask for.

`HAStatus` also fills the collector's snapshot. Speeds are averages since the last request: nothing is
counted between requests.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from engine.broker.failover.member_task import GroupMember
from engine.broker.failover.role import Role
from engine.broker.replication.master_task import MasterTerm
from engine.broker.replication.metadata import ReplicaFiles
from engine.broker.replication.slave_link_io import PlainSlaveLink, SlaveLink
from engine.broker.replication.slave_task import Follower
from engine.broker.settings.options import BrokerIdentity
from engine.errors import Refused
from engine.net.connection import Connection
from engine.net.outcomes import Handler, Outcome, Reply
from engine.protocol.bodies import brokers as bodies
from engine.protocol.codes import RequestCode
from engine.protocol.commands import Command
from engine.protocol.headers import brokers as headers
from engine.store.log.message_log import MessageLog

MAX_GAP_BYTES = 256 << 20
"""haMaxGapNotInSync."""


@dataclass(eq=False, repr=False)
class HAStatus:
    role: Role
    log: MessageLog
    member: GroupMember | None
    now_ms: Callable[[], int]
    _seen: dict[str, tuple[int, int]] = field(default_factory=dict, init=False)
    """Peer: its offset at the last request, and when that was."""

    @property
    def _term(self) -> MasterTerm | None:
        return None if self.member is None else self.member.streams.term

    @property
    def _follower(self) -> Follower | None:
        return None if self.member is None else self.member.streams.follower

    def runtime_info(self) -> bodies.HARuntimeInfo:
        if not self.role.is_master:
            return bodies.HARuntimeInfo(ha_client_runtime_info=self._as_slave())
        slaves = self._slaves()
        in_sync = sum(slave.in_sync for slave in slaves)
        return bodies.HARuntimeInfo(True, self.log.max_offset, in_sync, slaves)

    def epochs(self) -> tuple[bodies.EpochEntry, ...]:
        """Which epoch wrote which part of the log; none where there is no group."""
        history = self.member.history if self.member is not None else ()
        ends = [*(entry.start_offset for entry in history[1:]), self.log.max_offset]
        return tuple(
            bodies.EpochEntry(entry.number, entry.start_offset, end)
            for entry, end in zip(history, ends, strict=False)
        )

    def section(self) -> dict[str, object]:
        """For collectors: unknown values are absent."""
        if self.member is None:
            return {}
        status = self.member.status()
        section: dict[str, object] = {"memberId": status.member_id}
        if status.epoch:
            section["epoch"] = status.epoch
        if status.trouble:
            section["trouble"] = status.trouble
        return {**section, **(self._master_section() if self.role.is_master else self._slave_section())}

    def _master_section(self) -> dict[str, object]:
        term = self._term
        if term is None:
            return {}
        current, end = term.table.current, self.log.max_offset
        slaves: list[dict[str, object]] = [
            {
                "memberId": member,
                "address": link.address,
                "lagBytes": max(0, end - link.acknowledged_offset),
                "isInSync": member in current.ids,
                **({} if (start := term.table.progress[member].log_start) is None else {"logStart": start}),
            }
            for member, link in term.links.items()
        ]
        slaves += [
            {"address": address, "lagBytes": max(0, end - link.acknowledged_offset), "isPlain": True}
            for address, link in term.plain_links.items()
        ]
        in_sync = {"inSync": list(current.ids), "minInSync": current.min_in_sync}
        return {**in_sync, "slaves": slaves} if slaves else in_sync

    def _slave_section(self) -> dict[str, object]:
        section: dict[str, object] = {}
        follower = self._follower
        if self.role.master_address:
            section["master"] = self.role.master_address
        if follower is not None and follower.link is not None and follower.link.master_end:
            section["lagBytes"] = max(0, follower.link.master_end - self.log.max_offset)
        return section

    def _slaves(self) -> tuple[bodies.HAConnectionRuntimeInfo, ...]:
        term = self._term
        if term is None:
            return ()
        in_sync = term.table.current.ids
        ours = [self._slave(link, member in in_sync) for member, link in term.links.items()]
        return (*ours, *(self._slave(link, None) for link in term.plain_links.values()))

    def _slave(
        self, link: SlaveLink | PlainSlaveLink, is_in_set: bool | None
    ) -> bodies.HAConnectionRuntimeInfo:
        """A RocketMQ slave is in no set (None): it is in sync by RocketMQ's rule."""
        acknowledged = link.acknowledged_offset
        behind = max(0, self.log.max_offset - acknowledged)
        is_in_sync = behind < MAX_GAP_BYTES if is_in_set is None else is_in_set
        speed, sent = self._speed(link.address, acknowledged), max(0, link.sent_offset)
        return bodies.HAConnectionRuntimeInfo(link.address, acknowledged, behind, is_in_sync, speed, sent)

    def _as_slave(self) -> bodies.HAClientRuntimeInfo:
        follower = self._follower
        link = follower.link if follower is not None else None
        end = self.log.max_offset
        address = self.role.master_ha_address or self.role.master_address or ""
        return bodies.HAClientRuntimeInfo(
            master_addr=address,
            transferred_byte_in_second=self._speed(address, end),
            max_offset=end,
            last_read_timestamp=link.read_ms if link is not None else 0,
            last_write_timestamp=link.written_ms if link is not None else 0,
            master_flush_offset=link.master_end if link is not None else 0,
        )

    def _speed(self, peer: str, offset: int) -> int:
        now_ms = self.now_ms()
        before, since_ms = self._seen.get(peer, (offset, now_ms))
        self._seen[peer] = offset, now_ms
        return max(0, offset - before) * 1000 // max(1, now_ms - since_ms)


@dataclass(eq=False, repr=False)
class ReplicationHandlers:
    identity: BrokerIdentity
    role: Role
    log: MessageLog
    ha_status: HAStatus
    files: ReplicaFiles

    def routes(self) -> dict[int, Handler]:
        return {
            RequestCode.EXCHANGE_BROKER_HA_INFO: self.exchange,
            RequestCode.GET_BROKER_HA_STATUS: self.status,
            RequestCode.RESET_MASTER_FLUSH_OFFSET: self.reset_flush_offset,
            RequestCode.GET_BROKER_EPOCH_CACHE: self.epochs,
            RequestCode.SIGNALBOX_REPLICA_STATE: self.replica_state,
        }

    def exchange(self, request: Command, client: Connection) -> Outcome:
        """A master answers with its addresses. A slave accepts no master from an unauthenticated sender."""
        if not headers.ExchangeHAInfoRequest.decode(request.fields).only_asks or not self.role.is_master:
            return Reply()
        who = self.identity
        answer = headers.ExchangeHAInfoResponse(who.ha_address, self.log.flushed_offset, who.address)
        return Reply(fields=answer.encode())

    def status(self, request: Command, client: Connection) -> Outcome:
        return Reply(body=self.ha_status.runtime_info().encode())

    def reset_flush_offset(self, request: Command, client: Connection) -> Outcome:
        """Meant for slaves; a master knows its own flush offset."""
        headers.ResetMasterFlushOffsetRequest.decode(request.fields)
        return Reply()

    def epochs(self, request: Command, client: Connection) -> Outcome:
        """As in RocketMQ's controller mode, where epochs mean the same."""
        entries, who = self.ha_status.epochs(), self.identity
        if not entries:
            raise Refused("this broker is in no group: it keeps no epochs")
        end = self.log.max_offset
        cache = bodies.EpochEntryCache(who.cluster, who.name, self.role.broker_id, entries, end)
        return Reply(body=cache.encode())

    def replica_state(self, request: Command, client: Connection) -> Outcome:
        files = {name: file.take() for name, file in self.files.items()}
        return Reply(body=bodies.ReplicaState.of(self.log.max_offset, files).encode())
