"""How replication is doing, for operators (907, 1007) and collectors: a master's view of its slaves, a
slave's of its master.

Speeds are of the time since they were last asked for: nothing is counted while nobody looks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from engine.broker.failover.role import Role
from engine.broker.replication.epochs import History
from engine.broker.replication.master_task import Mastering
from engine.broker.replication.slave_task import Following
from engine.protocol.bodies.brokers import (
    EpochEntry,
    GroupStatus,
    HAClientRuntimeInfo,
    HAConnectionRuntimeInfo,
    HARuntimeInfo,
)
from engine.store.message_store import MessageStore

MAX_GAP_BYTES = 256 << 20
"""haMaxGapNotInSync."""


class Streams(Protocol):
    """At most one of them runs."""

    @property
    def mastering(self) -> Mastering | None: ...

    @property
    def following(self) -> Following | None: ...

    @property
    def history(self) -> History: ...

    def status(self) -> GroupStatus: ...


class HAStatus:
    def __init__(
        self, role: Role, store: MessageStore, streams: Streams | None, *, now_ms: Callable[[], int]
    ) -> None:
        self._role = role
        self._store = store
        self._streams = streams
        self._now_ms = now_ms
        self._seen: dict[str, tuple[int, int]] = {}
        """Peer: the offset at which it was last seen, and when."""

    def runtime_info(self) -> HARuntimeInfo:
        if not self._role.is_master:
            return HARuntimeInfo(ha_client_runtime_info=self._as_slave())
        slaves = self._slaves()
        in_sync = sum(slave.in_sync for slave in slaves)
        return HARuntimeInfo(True, self._store.log.max_offset, in_sync, slaves)

    def epochs(self) -> tuple[EpochEntry, ...]:
        """Which epoch wrote which part of the log; none where there is no group."""
        history = self._streams.history if self._streams is not None else ()
        ends = [*(entry.start_offset for entry in history[1:]), self._store.log.max_offset]
        return tuple(
            EpochEntry(entry.number, entry.start_offset, end)
            for entry, end in zip(history, ends, strict=False)
        )

    def section(self) -> dict[str, object]:
        """For collectors: what is not known is absent."""
        if self._streams is None:
            return {}
        status = self._streams.status()
        section: dict[str, object] = {"memberId": status.member_id}
        if status.epoch:
            section["epoch"] = status.epoch
        if status.trouble:
            section["trouble"] = status.trouble
        return {**section, **(self._reigning() if self._role.is_master else self._following())}

    def _reigning(self) -> dict[str, object]:
        mastering = self._streams.mastering if self._streams is not None else None
        if mastering is None:
            return {}
        current, end = mastering.table.current, self._store.log.max_offset
        slaves: list[dict[str, object]] = [
            {
                "memberId": member,
                "address": link.address,
                "lagBytes": max(0, end - link.acknowledged_offset),
                "isInSync": member in current.ids,
                **self._log_start(mastering, member),
            }
            for member, link in mastering.links.items()
        ]
        slaves += [
            {"address": address, "lagBytes": max(0, end - link.acknowledged_offset), "isPlain": True}
            for address, link in mastering.plain_links.items()
        ]
        in_sync = {"inSync": list(current.ids), "minInSync": current.min_in_sync}
        return {**in_sync, "slaves": slaves} if slaves else in_sync

    @staticmethod
    def _log_start(mastering: Mastering, member_id: int) -> dict[str, object]:
        """Where a slave's log starts; nothing for the first release, which does not say."""
        progress = mastering.table.progress.get(member_id)
        start = progress.log_start if progress is not None else None
        return {} if start is None else {"logStart": start}

    def _following(self) -> dict[str, object]:
        section: dict[str, object] = {}
        following = self._streams.following if self._streams is not None else None
        if self._role.master_address:
            section["master"] = self._role.master_address
        if following is not None and following.link is not None and following.link.master_end:
            section["lagBytes"] = max(0, following.link.master_end - self._store.log.max_offset)
        return section

    def _slaves(self) -> tuple[HAConnectionRuntimeInfo, ...]:
        mastering = self._streams.mastering if self._streams is not None else None
        if mastering is None:
            return ()
        ours = [
            self._slave(link.address, link.acknowledged_offset, link.sent_offset, member_id)
            for member_id, link in mastering.links.items()
        ]
        plain = [
            self._slave(address, link.acknowledged_offset, link.sent_offset, None)
            for address, link in mastering.plain_links.items()
        ]
        return (*ours, *plain)

    def _slave(
        self, address: str, acknowledged: int, sent: int, member_id: int | None
    ) -> HAConnectionRuntimeInfo:
        """A RocketMQ slave is in no set: it counts as in sync as RocketMQ counts."""
        mastering = self._streams.mastering if self._streams is not None else None
        behind = max(0, self._store.log.max_offset - acknowledged)
        is_in_set = mastering is not None and member_id in mastering.table.current.ids
        is_in_sync = is_in_set if member_id is not None else behind < MAX_GAP_BYTES
        speed = self._speed(address, acknowledged)
        return HAConnectionRuntimeInfo(address, acknowledged, behind, is_in_sync, speed, max(0, sent))

    def _as_slave(self) -> HAClientRuntimeInfo:
        following = self._streams.following if self._streams is not None else None
        link = following.link if following is not None else None
        end = self._store.log.max_offset
        address = self._role.master_ha_address or self._role.master_address or ""
        return HAClientRuntimeInfo(
            master_addr=address,
            transferred_byte_in_second=self._speed(address, end),
            max_offset=end,
            last_read_timestamp=link.heard_ms if link is not None else 0,
            last_write_timestamp=link.said_ms if link is not None else 0,
            master_flush_offset=link.master_end if link is not None else 0,
        )

    def _speed(self, peer: str, offset: int) -> int:
        now_ms = self._now_ms()
        before, since_ms = self._seen.get(peer, (offset, now_ms))
        self._seen[peer] = offset, now_ms
        return max(0, offset - before) * 1000 // max(1, now_ms - since_ms)
