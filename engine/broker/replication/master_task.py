"""One reign as master: serves slaves, keeps the in-sync set, moves the confirmed offset, answers who waits.

Made when this broker becomes master and thrown away when it stops being one; everybody who still waits then
is told that the fate of their message is unknown. Loop thread only.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from engine.broker.failover.group_file_io import GroupFile
from engine.broker.failover.group_state import GroupName, GroupState, InSyncSet, decide_start, take_set
from engine.broker.replication.confirmed_offset import ConfirmedOffset
from engine.broker.replication.handshake_io import Peer, admit, send_bytes
from engine.broker.replication.in_sync_set import InSyncTable
from engine.broker.replication.plain_links_io import PlainSlaveLink
from engine.broker.replication.replica_waits import ReplicaWaits
from engine.broker.replication.slave_link_io import LinkEvents, Reign, SlaveLink
from engine.broker.replication.tails import has_tail, tail_from_json
from engine.daemon.background_tasks import start_task, stop_tasks
from engine.errors import NotPermitted, Refused
from engine.protocol.layouts.ha_frames import encode_packet
from engine.store.message_store import MessageStore

log = logging.getLogger(__name__)

_TICK_S = 0.1
_STALL_S = 2.0
"""A master that slept so long may have been replaced: members are asked for three seconds before that."""
_PLAN_EVERY = 10
"""Ticks between two looks at who should be in the set, besides those that news bring."""


class Mastering:
    def __init__(
        self,
        name: GroupName,
        file: GroupFile,
        store: MessageStore,
        *,
        min_in_sync: int,
        catch_up_ms: int,
        now_ms: Callable[[], int],
        confirmed: ConfirmedOffset,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        assert file.state is not None
        self._name = name
        self._file = file
        self._store = store
        self._now_ms = now_ms
        self._confirmed = confirmed
        self._loop = loop
        self.table = InSyncTable(name.member_id, file.state, min_in_sync, catch_up_ms=catch_up_ms)
        self.waits = ReplicaWaits()
        self.links: dict[int, SlaveLink] = {}
        self.handed_over: set[int] = set()
        """Requests to hand over that were obeyed in this reign."""
        self.plain_links: dict[str, PlainSlaveLink] = {}
        self._is_advancing = self._is_over = False
        self._awake_at = 0.0
        self._lacking: set[int] = set()
        self._proposing = asyncio.Lock()
        self._ticking: asyncio.Task[None] | None = None
        self._planning: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._awake_at = self._loop.time()
        self._advance()
        self._ticking = start_task(self._tick_forever(), "watch the in-sync set")

    async def stop(self) -> None:
        """No longer master: nothing is confirmed any more, and nobody waits on. Words of slaves that lie in
        buffers come to nothing."""
        self._is_over = True
        await stop_tasks(self._ticking, self._planning)
        self.waits.fail_all()

    # -- what the broker tells ------------------------------------------------------------------------------

    def appended(self) -> None:
        """After every append and every flush; cheap and idempotent."""
        if not self._is_advancing:
            self._is_advancing = True
            self._loop.call_soon(self._advance)

    def wait(self, count: int, commit_log_offset: int, timeout_ms: int, done: Callable[[bool], None]) -> None:
        self.waits.add(count, commit_log_offset, self._loop.time() + timeout_ms / 1000, done)
        self.appended()

    def _advance(self) -> None:
        self._is_advancing = False
        if self._is_over:
            return
        self._notice_stall()
        own_end = self._store.replica.durable_end
        confirmed = self.table.confirmed(own_end)
        is_alone = len(self.table.waited_for()) == 1 and self.table.is_enough()
        self._confirmed.move(None if is_alone else confirmed)
        self.waits.advance(confirmed, lambda count: self.table.reached(count, own_end))
        for link in self.links.values():
            link.wake()
        for plain in self.plain_links.values():
            plain.wake()

    def _notice_stall(self) -> None:
        """Words of slaves that lay in a buffer while this process slept are true, but old: who waits is told
        that the fate of the message is unknown, so that no acknowledgement comes from a past reign."""
        now = self._loop.time()
        if now - self._awake_at > _STALL_S:
            log.warning(
                "this master stood still for %.1f s: who waits is not acknowledged", now - self._awake_at
            )
            self.waits.fail_all()
        self._awake_at = now

    # -- slaves ---------------------------------------------------------------------------------------------

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, secret: bytes) -> None:
        """A stream of ours, behind its magic. Raises EngineError or OSError when it is over."""
        peer = await admit(reader, writer, secret, self._name.member_id, self._check)
        state = self._state
        is_same = peer.tail is not None and has_tail(self._store, peer.tail)
        send_bytes(writer, encode_packet({**self._handshake(state), "hasTail": is_same}))
        await self._make_known(peer)
        reign = Reign(state.epoch, state.reign, state.history[-1].start_offset)
        events = LinkEvents(
            self._acknowledged,
            self._stored,
            self._set_to_tell,
            self._confirmed_end,
            self._starts_at,
            self._start_to_tell if peer.log_start is not None else _nothing,
        )
        link = SlaveLink(reader, writer, peer.member_id, peer.address, reign, self._store, events)
        self._replace_link(peer.member_id)
        self.table.connected(peer.member_id, self._now_ms(), peer.log_start)
        self.links[peer.member_id] = link
        try:
            await link.run()
        finally:
            if self.links.get(peer.member_id) is link:
                del self.links[peer.member_id]
                self.table.left(peer.member_id)

    def _replace_link(self, member_id: int) -> None:
        """A slave that comes again speaks for itself: what its old stream still says counts no more."""
        old = self.links.pop(member_id, None)
        if old is not None:
            old.close()

    async def serve_plain(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, first: bytes, address: str
    ) -> None:
        def acknowledged(offset: int) -> None:
            self.table.plain[address] = offset
            self.appended()

        link = PlainSlaveLink(reader, writer, self._store, acknowledged)
        self.plain_links[address] = link
        try:
            await link.run(first)
        finally:
            self.plain_links.pop(address, None)
            self.table.plain.pop(address, None)

    def _check(self, hello: dict[str, Any]) -> Peer:
        name, member, address = self._name, hello.get("member"), hello.get("address")
        if (hello.get("cluster"), hello.get("broker")) != (name.cluster, name.broker):
            raise NotPermitted(f"this is group {name.broker} of cluster {name.cluster}")
        if not isinstance(member, int) or not isinstance(address, str) or member < 0:
            raise NotPermitted("a slave must say who it is")
        if member == name.member_id:
            raise Refused(f"brokerId {member} is this master's own")
        known = self._state.members.get(member)
        if member in self.links and known not in (None, address):
            raise Refused(f"brokerId {member} is connected from {known}")
        start = hello.get("logStart")
        log_start = start if isinstance(start, int) and start >= 0 else None
        return Peer(member, address, tail_from_json(hello.get("tail")), log_start)

    def _handshake(self, state: GroupState) -> dict[str, Any]:
        return {
            "member": self._name.member_id,
            "epoch": state.epoch,
            "reign": state.reign,
            "history": [[entry.number, entry.reign, entry.start_offset] for entry in state.history],
            "minOffset": self._store.log.min_offset,
            "maxOffset": self._store.log.max_offset,
            "copiedFrom": state.copied_from,
            "startOffset": state.start_offset or 0,
            "neededFrom": self.needed_from(),
        }

    # -- the front of the log -------------------------------------------------------------------------------

    def needed_from(self) -> int:
        """Whoever starts later lacks messages that have not expired, by this master's fileReservedTime."""
        oldest = self._store.front.needed_from(self._store.options.retention, self._now_ms())
        return max(oldest, self._state.start_offset or 0)

    async def decide_start(self, start_offset: int) -> None:
        """The group's log starts here from now on: on this disk when it returns, so that segments before it
        may go, here and wherever it is heard."""
        epoch, needed = self.table.epoch, max(self.needed_from(), start_offset)
        await self._file.change(lambda state: decide_start(state, epoch, start_offset, needed))
        self.appended()

    def _starts_at(self, member_id: int, log_start: int) -> None:
        self.table.starts_at(member_id, log_start)
        self._plan_soon()

    def _start_to_tell(self) -> tuple[int, int] | None:
        state = self._state
        return state.start_offset or 0, state.needed_from

    async def _note_needed(self) -> int:
        """Segments expire with time: what is needed is written down, and told with it."""
        needed, epoch = self.needed_from(), self.table.epoch
        if needed != self._state.needed_from:
            await self._file.change(lambda state: decide_start(state, epoch, 0, needed))
            self.appended()
        lacking = self.table.lacking(needed)
        for member in sorted(lacking - self._lacking):
            start = self.table.progress[member].log_start
            log.warning(
                "member %d is not in sync: its log starts at %s, messages from %d on have not expired",
                *(member, start, needed),
            )
        self._lacking = lacking
        return needed

    # -- the set --------------------------------------------------------------------------------------------

    def _acknowledged(self, member_id: int, log_end: int) -> None:
        self.table.acknowledged(member_id, log_end, self._store.replica.durable_end, self._now_ms())
        if member_id not in self.table.waited_for():
            self._plan_soon()
        self.appended()

    def _stored(self, member_id: int, version: int) -> None:
        if self.table.stored(member_id, version):
            ids = ", ".join(map(str, self.table.current.ids))
            log.info("in sync: members %s (epoch %d, version %d)", ids, self.table.epoch, version)
            self._plan_soon()
        self.appended()

    def _set_to_tell(self) -> tuple[InSyncSet, Mapping[int, str]] | None:
        """What every slave must have on disk: also one that has it, since its disk may be another by now. A
        set that is too small to acknowledge anything tells nothing."""
        if self.table.pending is not None:
            return self.table.pending
        return self.table.latest if self.table.is_enough() else None

    def _confirmed_end(self) -> int:
        confirmed = self._confirmed.value
        return self.table.confirmed(self._store.replica.durable_end) if confirmed is None else confirmed

    async def _make_known(self, peer: Peer) -> None:
        async with self._proposing:
            members = self.table.plan_members(peer.member_id, peer.address)
            if members is not None:
                in_sync, _ = self.table.latest
                await self._propose(replace(in_sync, version=in_sync.version + 1), members)

    def _plan_soon(self) -> None:
        if self._planning is None or self._planning.done():
            self._planning = start_task(self._plan(), "change the in-sync set")

    async def _plan(self) -> None:
        async with self._proposing:
            needed = await self._note_needed()
            planned = self.table.plan(self._store.replica.durable_end, self._now_ms(), needed)
            if planned is not None:
                await self._propose(planned, self.table.latest[1])

    async def _propose(self, in_sync: InSyncSet, members: Mapping[int, str]) -> None:
        """On this master's own disk first, then to the slaves. One at a time: each is made from the last."""
        epoch = self.table.epoch
        await self._file.change(lambda state: take_set(state, epoch, in_sync, members))
        self.table.propose(in_sync, members)
        self.appended()

    async def _tick_forever(self) -> None:
        count = 0
        while True:
            await asyncio.sleep(_TICK_S)
            count += 1
            self._notice_stall()
            self.waits.expire(self._loop.time())
            if count % _PLAN_EVERY == 0:
                self._plan_soon()

    @property
    def _state(self) -> GroupState:
        assert self._file.state is not None
        return self._file.state


def _nothing() -> None:
    """A slave of the first release does not know frames about log starts."""
