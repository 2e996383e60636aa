"""One term as master: serves slaves, keeps the in-sync set, moves the confirmed offset, answers waiting
sends.

Created when this broker becomes master and dropped when it stops being one; sends that still wait then are
answered that the fate of their message is unknown. Loop thread only.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec import to_builtins
from msgspec.structs import replace

from engine.broker.failover.group_file_io import GroupFile
from engine.broker.failover.group_state import GroupName, GroupState, InSyncSet, decide_start, take_set
from engine.broker.failover.role import GroupRules
from engine.broker.replication.acknowledgement import ConfirmedOffset, ReplicaWaits
from engine.broker.replication.epochs import has_tail, tail_from_json
from engine.broker.replication.ha_port_io import Peer, Stream, admit
from engine.broker.replication.in_sync_set import InSyncTable
from engine.broker.replication.slave_link_io import PlainSlaveLink, SlaveLink
from engine.daemon.running import start_task, stop_tasks
from engine.errors import NotPermitted, Refused
from engine.protocol.layouts.ha_frames import encode_packet
from engine.store.log.log_front import LogFront
from engine.store.log.message_log import MessageLog
from engine.store.log.replica_log import ReplicaLog

log = logging.getLogger(__name__)

_TICK_S = 0.1
_STALL_S = 2.0
"""A master that stalled so long may have been replaced: an election asks the members for three seconds."""
_PLAN_EVERY = 10
"""Ticks between two periodic plans of the in-sync set; changes are planned at once."""
_CATCH_UP_POLL_S = 0.01


@dataclass(eq=False, repr=False)
class MasterTerm:
    name: GroupName
    file: GroupFile
    log: MessageLog
    replica: ReplicaLog
    front: LogFront
    rules: GroupRules
    confirmed: ConfirmedOffset
    now_ms: Callable[[], int]
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop, init=False)
    waits: ReplicaWaits = field(default_factory=ReplicaWaits, init=False)
    links: dict[int, SlaveLink] = field(default_factory=dict, init=False)
    handed_over: set[int] = field(default_factory=set, init=False)
    """The nonces of requests to hand over that were carried out in this term."""
    plain_links: dict[str, PlainSlaveLink] = field(default_factory=dict, init=False)
    _is_advancing: bool = field(default=False, init=False)
    _is_over: bool = field(default=False, init=False)
    _awake_at: float = field(default=0.0, init=False)
    _lacking: set[int] = field(default_factory=set, init=False)
    _proposing: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    _ticking: asyncio.Task[None] | None = field(default=None, init=False)
    _planning: asyncio.Task[None] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.table = InSyncTable(
            self.name.member_id, self.file.known, self.rules.min_in_sync, catch_up_ms=self.rules.catch_up_ms
        )

    def start(self) -> None:
        self._awake_at = self._loop.time()
        self._advance()
        self._ticking = start_task(self._tick_forever(), "watch the in-sync set")

    async def stop(self) -> None:
        """No longer master: nothing is confirmed any more, and no send waits on. Acknowledgements that are
        still in buffers are ignored."""
        self._is_over = True
        await stop_tasks(self._ticking, self._planning)
        self.waits.fail_all()

    # -- appends and waiting sends --------------------------------------------------------------------------

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
        own_end = self.replica.durable_end
        confirmed = self.table.confirmed(own_end)
        is_alone = len(self.table.waited_for()) == 1 and self.table.is_enough()
        self.confirmed.move(None if is_alone else confirmed)
        self.waits.advance(confirmed, lambda count: self.table.reached(count, own_end))
        for link in self.links.values():
            link.wake()
        for plain in self.plain_links.values():
            plain.wake()

    def _notice_stall(self) -> None:
        """Acknowledgements read after a long pause are valid but stale: waiting sends are answered that their
        fate is unknown, so that a master that was replaced meanwhile acknowledges nothing."""
        now = self._loop.time()
        if now - self._awake_at > _STALL_S:
            log.warning(
                "this master stalled for %.1f s: waiting sends are not acknowledged", now - self._awake_at
            )
            self.waits.fail_all()
        self._awake_at = now

    # -- slaves ---------------------------------------------------------------------------------------------

    async def serve(self, stream: Stream, secret: bytes) -> None:
        """Our stream, after its magic. Raises EngineError or OSError when it is over."""
        peer = await admit(stream, secret, self.name.member_id, self._check)
        state = self._state
        is_same = peer.tail is not None and has_tail(self.log, self.replica, peer.tail)
        stream.send(encode_packet({**self._handshake(state), "hasTail": is_same}))
        await self._make_known(peer)
        link = SlaveLink(stream, peer, state, self.log, self.replica, self)
        if (old := self.links.pop(peer.member_id, None)) is not None:
            old.close()  # its reports count no more: the slave may have been emptied meanwhile
        self.table.connected(peer.member_id, self.now_ms(), peer.log_start)
        self.links[peer.member_id] = link
        try:
            await link.run()
        finally:
            if self.links.get(peer.member_id) is link:
                del self.links[peer.member_id]
                self.table.left(peer.member_id)

    async def serve_plain(self, stream: Stream, first: bytes, address: str) -> None:
        def acknowledged(offset: int) -> None:
            self.table.plain[address] = offset
            self.appended()

        link = PlainSlaveLink(stream, address, self.log, self.replica, acknowledged)
        self.plain_links[address] = link
        try:
            await link.run(first)
        finally:
            self.plain_links.pop(address, None)
            self.table.plain.pop(address, None)

    def _check(self, hello: dict[str, Any]) -> Peer:
        name, member, address = self.name, hello.get("member"), hello.get("address")
        if (hello.get("cluster"), hello.get("broker")) != (name.cluster, name.broker):
            raise NotPermitted(f"this is group {name.broker} of cluster {name.cluster}")
        if not isinstance(member, int) or not isinstance(address, str) or member < 0:
            raise NotPermitted("a slave must send its member id and address")
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
            "member": self.name.member_id,
            "epoch": state.epoch,
            "reign": state.term_id,
            "history": to_builtins(state.history),
            "minOffset": self.log.min_offset,
            "maxOffset": self.log.max_offset,
            "copiedFrom": state.copied_from,
            "startOffset": state.start_offset or 0,
            "neededFrom": self.needed_from(),
        }

    # -- the front of the log -------------------------------------------------------------------------------

    def needed_from(self) -> int:
        """A log that starts later lacks messages that have not expired, by this master's fileReservedTime."""
        oldest = self.front.needed_from(self.now_ms())
        return max(oldest, self._state.start_offset or 0)

    async def decide_start(self, start_offset: int) -> None:
        """The group's log starts here from now on. On this disk when it returns, so that segments before
        it may be deleted, here and on every slave that learns of it."""
        epoch, needed = self.table.epoch, max(self.needed_from(), start_offset)
        await self.file.change(lambda state: decide_start(state, epoch, start_offset, needed))
        self.appended()

    def starts_at(self, member_id: int, log_start: int) -> None:
        self.table.starts_at(member_id, log_start)
        self._plan_soon()

    def start_to_send(self) -> tuple[int, int]:
        state = self._state
        return state.start_offset or 0, state.needed_from

    async def _note_needed(self) -> int:
        """Segments expire with time: store from where on the log is needed, and send it."""
        needed, epoch = self.needed_from(), self.table.epoch
        if needed != self._state.needed_from:
            await self.file.change(lambda state: decide_start(state, epoch, 0, needed))
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

    def acknowledged(self, member_id: int, log_end: int) -> None:
        self.table.acknowledged(member_id, log_end, self.replica.durable_end, self.now_ms())
        if member_id not in self.table.waited_for():
            self._plan_soon()
        self.appended()

    def stored(self, member_id: int, version: int) -> None:
        if self.table.stored(member_id, version):
            ids = ", ".join(map(str, self.table.current.ids))
            log.info("in sync: members %s (epoch %d, version %d)", ids, self.table.epoch, version)
            self._plan_soon()
        self.appended()

    def set_to_send(self) -> tuple[InSyncSet, Mapping[int, str]] | None:
        """The set that every slave must have on disk; also sent to one that has it, since its disk may have
        been replaced. A set that is too small to acknowledge anything is not sent."""
        if self.table.pending is not None:
            return self.table.pending
        return self.table.latest if self.table.is_enough() else None

    def confirmed_end(self) -> int:
        confirmed = self.confirmed.value
        return self.table.confirmed(self.replica.durable_end) if confirmed is None else confirmed

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
            planned = self.table.plan(self.replica.durable_end, self.now_ms(), needed)
            if planned is not None:
                await self._propose(planned, self.table.latest[1])

    async def _propose(self, in_sync: InSyncSet, members: Mapping[int, str]) -> None:
        """On this master's own disk first, then to the slaves. One at a time: each is based on the last."""
        epoch = self.table.epoch
        await self.file.change(lambda state: take_set(state, epoch, in_sync, members))
        self.table.propose(in_sync, members)
        self.appended()

    # -- handing over ---------------------------------------------------------------------------------------

    def begin_hand_over(self, member_id: int, nonce: int) -> None:
        """Each request counts once, so a recorded one cannot stop the writes again."""
        if nonce in self.handed_over:
            raise Refused("this request to hand over was obeyed before")
        if member_id not in self.links:
            raise Refused(f"member {member_id} does not follow this master: it cannot take over")
        self.handed_over.add(nonce)

    async def wait_until_caught_up(self, member_id: int, timeout_ms: int) -> None:
        """Returns when the member has all of this log; nothing must be written meanwhile."""
        deadline = self._loop.time() + timeout_ms / 1000
        while self._loop.time() < deadline:
            link = self.links.get(member_id)
            if link is not None and link.acknowledged_offset >= self.log.max_offset:
                return
            await asyncio.sleep(_CATCH_UP_POLL_S)
        raise Refused(f"member {member_id} did not catch up within {timeout_ms} ms")

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
        return self.file.known
