"""A broker as a member of its group: seeking, master or slave, and how it changes from one to the other.

Every change of role holds one lock and keeps one order: stop the old role's stream, store the new state
on disk, begin the new role. So a promise is given only when nothing more of the old master can be
acknowledged here, and a term begins only when this member's disk has it. Loop thread only.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from msgspec.structs import replace

from engine.broker.failover import group_state
from engine.broker.failover.election import TAKEOVER_EPOCH, takeover_doubt, takeover_refusal
from engine.broker.failover.group_file_io import GroupFile
from engine.broker.failover.group_state import GroupName, GroupState, StaleEpoch
from engine.broker.failover.master_search_io import ALONE_S, MasterSearch, Self
from engine.broker.failover.member_requests_io import MemberRequests
from engine.broker.failover.member_status import member_status
from engine.broker.failover.promotion_task import HigherEpoch, Promoter, new_term_id
from engine.broker.failover.role import GroupRules, RoleHooks
from engine.broker.failover.streams_task import Streams
from engine.broker.replication.acknowledgement import ConfirmedOffset
from engine.broker.replication.epochs import History
from engine.broker.replication.ha_port_io import HaServer
from engine.broker.replication.master_link_io import LogCopy
from engine.broker.replication.master_task import MasterTerm
from engine.broker.storage.log_events import LogEvents
from engine.daemon.running import start_task, stop_tasks
from engine.errors import EngineError, Refused
from engine.protocol.bodies.brokers import GroupStatus
from engine.protocol.bodies.brokers import Promotion as PromotionAnswer
from engine.store.message_store import MessageStore

log = logging.getLogger(__name__)

MAX_HAND_OVER_MS = 10_000
SEEK_S = 1.0
LOST_PROMISE_S = 5.0
"""How long a member that promised waits for the outcome before it asks for one itself."""
WATCH_S = 2.0
SAVE_S = 1.0


@dataclass(eq=False, repr=False)
class GroupMember:
    name: GroupName
    address: str
    ha_address: str
    secret: bytes | None
    rules: GroupRules
    file: GroupFile
    store: MessageStore
    server: HaServer
    members: MemberRequests
    hooks: RoleHooks
    events: LogEvents
    named_master: Callable[[], tuple[str | None, str | None]]
    now_ms: Callable[[], int]
    trouble: str = field(default="", init=False)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    _seeking: asyncio.Task[None] | None = field(default=None, init=False)
    _watching: asyncio.Task[None] | None = field(default=None, init=False)
    _becoming: asyncio.Task[None] | None = field(default=None, init=False)
    _created_at: float = field(default=float("-inf"), init=False)

    def __post_init__(self) -> None:
        me, address, file = self.name.member_id, self.address, self.file
        self._search = MasterSearch(me, address, file, self.members, self.named_master)
        own = Self(me, self.status, self.promise, self.become_master, self.follow, self.count_messages)
        self._promoter = Promoter(own, self.members)
        self.streams = Streams(
            self.name,
            address,
            self.secret,
            self.rules,
            LogCopy(
                self.store,
                file,
                ConfirmedOffset(self.store.replica, self.events),
                cut=self.hooks.cut_log,
                appended=self.events.appended,
                now_ms=self.now_ms,
            ),
            self.server,
            find_master=self._search.find,
        )

    # -- from start to stop ---------------------------------------------------------------------------------

    async def start(self, *, is_slave: bool) -> None:
        """The file takes precedence over broker.conf: a promotion outlives a restart."""
        state = self._state
        if is_slave and state.epoch == 0:
            await self._start_following(state)
        elif state.epoch == 0:
            await self._create_or_join()
            if self._becoming is not None:
                # A new group takes writes at once, unless that needs other members.
                await asyncio.wait({self._becoming}, timeout=SEEK_S)
            self._seek_soon(SEEK_S)
        else:
            await self.file.change(self._drop_unreached)
            self.streams.copy.confirmed.move(state.confirmed_offset)
            if state.master_id in (self.name.member_id, None):
                self._seek_soon(0.0)
            else:
                await self._start_following(self._state)
        self._watching = start_task(self._watch_forever(), "watch the group")

    async def _create_or_join(self) -> None:
        """For a master that knows no group; there may be one all the same."""
        verdict = await self._search.may_create_group(asyncio.get_running_loop().time())
        async with self._turn:
            master = verdict.master
            if not self.streams.are_idle:
                return  # another member has given this one a role meanwhile
            if master is not None:
                log.warning("there is a group of this name, at epoch %d: this member follows", master.epoch)
                await self._follow_at(master.member_id, master.members.get(str(master.member_id), ""))
            elif verdict.doubt or self._state.epoch:
                self._note(verdict.doubt or "its group is gone, and it promised to follow it")
            else:
                me, minimum, term_id = self.name.member_id, self.rules.min_in_sync, new_term_id()
                await self.file.change(lambda _: group_state.create_group(me, self.address, term_id, minimum))
                await self._lead()
                self._created_at = asyncio.get_running_loop().time()

    async def _look_for_older_group(self) -> None:
        """For a while, a new master without slaves asks again: name servers may have learned of older
        members late. Nothing depends on such a term, so it ends. Messages written meanwhile stay, and keep
        this member from joining until an operator has looked at it."""
        term, now = self.streams.term, asyncio.get_running_loop().time()
        if term is None or now - self._created_at > ALONE_S or self._search.others():
            return
        if (await self._search.may_create_group(now)).is_alone:
            return
        async with self._turn:
            if self.streams.term is not term or self._search.others():
                return
            log.warning("there is an older group of this name: this one is given up")
            await self.streams.stop()
            await self.file.change(lambda _: GroupState())
            await self.hooks.seek(0)
        self._seek_soon(0.0)

    def _drop_unreached(self, state: GroupState) -> GroupState:
        """After a power cut the log may end before entries that are on disk: they were not reached."""
        end = self.store.log.max_offset
        history = tuple(entry for entry in state.history if entry.start_offset <= end)
        members = {**state.members, self.name.member_id: self.address}
        changed = replace(state, history=history, members=members)
        return state if changed == state else changed

    async def stop(self) -> None:
        await stop_tasks(self._watching, self._seeking, self._becoming)
        await self._save_confirmed()
        await self.streams.close()

    # -- roles ----------------------------------------------------------------------------------------------

    async def _lead(self) -> None:
        state = self._state
        self.streams.lead()
        self.trouble = ""
        log.warning("master of epoch %d", state.epoch)
        self._keep_promise(state.promised_in_sync)
        # Slaves must be able to join meanwhile: writes are taken once the end of the log is confirmed.
        self._becoming = start_task(self.hooks.become_master(state.epoch), "take writes")

    def _keep_promise(self, promised: int) -> None:
        """Acknowledgements of another master must not depend on this member's own settings."""
        own = self.rules.min_in_sync
        if promised <= own:
            return
        may_delete = self.hooks.keep_unexpired()
        log.warning(
            "the group has promised minInSyncReplicas=%d, the settings of this master say %d: "
            "acknowledgements promise less from now on, and on a full disk messages that have not expired "
            "are %s. Set minInSyncReplicas in its broker.conf",
            promised,
            own,
            "deleted (cleanFileForciblyEnable=true)"
            if may_delete
            else "kept (cleanFileForciblyEnable=false)",
        )

    async def _start_following(self, state: GroupState) -> None:
        master_id = state.master_id
        address = state.members.get(master_id) if master_id is not None else None
        await self.hooks.become_slave(
            address, group_state.wire_id(self.name.member_id, master_id), state.epoch
        )
        self.streams.follow()

    async def _follow_at(self, master_id: int, address: str) -> None:
        """Its handshake has epoch and term id; until then this member only knows where to ask."""
        members = {**self._state.members, master_id: address}
        await self._start_following(replace(self._state, master_id=master_id, members=members))

    def _seek_soon(self, delay_s: float) -> None:
        if self._seeking is None or self._seeking.done():
            self._seeking = start_task(self._seek(delay_s), "seek a master")

    async def _seek(self, delay_s: float) -> None:
        """Until this member is master or slave."""
        await asyncio.sleep(delay_s)
        while self.streams.are_idle:
            try:
                if self._state.history or self._search.others():
                    await self._promoter.resume(lambda: self._state)
                else:
                    await self._create_or_join()
            except HigherEpoch as higher:
                async with self._turn:
                    if self.streams.are_idle:
                        await self._follow_at(higher.master_id, higher.address)
            except EngineError as error:
                self._note(error.text)
            await asyncio.sleep(SEEK_S + random.random() * SEEK_S)

    # -- what members ask of each other ---------------------------------------------------------------------

    def status(self) -> GroupStatus:
        streams, follower = self.streams, self.streams.follower
        return member_status(
            self.name,
            self._state,
            self.store.log,
            self.store.replica,
            self.store.front,
            role="master" if streams.term else "slave" if follower else "seeking",
            is_linked=streams.is_linked,
            ha_address=self.ha_address,
            trouble=follower.trouble if follower else self.trouble,
            now_ms=self.now_ms(),
        )

    async def count_messages(self, begin: int, end: int) -> int:
        """How many messages of this log lie between two commit-log offsets."""
        count = 0
        for piece in self.store.front.count_messages(begin, end):
            count += piece
            await asyncio.sleep(0)
        return count

    def is_under(self, status: GroupStatus | None) -> bool:
        """Whether the broker with this status is the master that this member obeys. A broker that knows no
        groups (None) can only be the master of a member that has none."""
        state = self._state
        if status is None:
            return state.epoch == 0
        return status.role == "master" and (status.epoch, status.reign) == (state.epoch, state.term_id)

    async def promise(self, epoch: int, term_id: int) -> GroupStatus:
        async with self._turn:
            group_state.promise(self._state, epoch, term_id)  # a refused request changes nothing
            if epoch != self._state.epoch:
                was_master = self.streams.term is not None
                await self.streams.stop()
                await self.file.change(lambda state: group_state.promise(state, epoch, term_id))
                await self.hooks.seek(epoch)
                self._seek_soon(LOST_PROMISE_S * (1 if was_master else 1 + random.random()))
            return self.status()

    async def become_master(self, epoch: int, term_id: int) -> None:
        async with self._turn:
            if self.streams.term is not None and self._state.epoch == epoch:
                return
            me, end = self.name.member_id, self.store.log.max_offset
            group_state.become_master(
                self._state, epoch, term_id, me, end
            )  # a refused request changes nothing
            if (complete := self.store.replica.whole_end()) < end:
                await self.hooks.cut_log(complete)
            end = self.store.log.max_offset
            await self.file.change(lambda state: group_state.become_master(state, epoch, term_id, me, end))
            await self._lead()

    async def follow(self, epoch: int, term_id: int, master_id: int, address: str) -> None:
        async with self._turn:
            if self.streams.term is not None and self._state.epoch >= epoch:
                raise StaleEpoch(f"this member is master of epoch {self._state.epoch}")

            def step(state: GroupState) -> GroupState:
                followed = group_state.follow(state, epoch, term_id, master_id)
                return replace(followed, members={**followed.members, master_id: address})

            step(self._state)  # a refused request changes nothing
            await self.streams.stop()
            await self.file.change(step)
            await self._start_following(self._state)

    async def hand_over(self, epoch: int, member_id: int, timeout_ms: int, nonce: int) -> None:
        """Take no more writes; return when the member has the whole log. Without a new master writes
        resume."""
        term = self.streams.term
        if term is None or self._state.epoch != epoch:
            raise StaleEpoch(f"this member is not master of epoch {epoch}")
        term.begin_hand_over(member_id, nonce)
        await self.hooks.seek(epoch)
        timeout_ms = min(timeout_ms, MAX_HAND_OVER_MS)
        asyncio.get_running_loop().call_later(timeout_ms / 1000 + WATCH_S, self._resume_writes, term)
        await term.wait_until_caught_up(member_id, timeout_ms)

    def _resume_writes(self, term: MasterTerm) -> None:
        if self.streams.term is term:
            log.warning("no member took over: this member takes writes again")
            self._becoming = start_task(self.hooks.become_master(self._state.epoch), "take writes again")

    async def promote(self, seen_epoch: int, wanted: int | None, *, is_unclean: bool) -> PromotionAnswer:
        state = self._state
        if seen_epoch != state.epoch:
            raise StaleEpoch(f"the group is at epoch {state.epoch}, the request is for epoch {seen_epoch}")
        if state.epoch == 0:
            return await self._take_over(wanted, is_unclean=is_unclean)
        if wanted is not None and wanted not in state.members:
            raise Refused(f"the group has no member {wanted}: it has {sorted(state.members)}")
        return await self._promoter.promote(state, wanted, is_unclean=is_unclean)

    async def _take_over(self, wanted: int | None, *, is_unclean: bool) -> PromotionAnswer:
        """After a plain master; no other member knows of this one."""
        me, state = self.name.member_id, self._state
        end, follower = self.store.replica.whole_end(), self.streams.follower
        is_linked = follower is not None and follower.is_behind_plain
        refusal = takeover_refusal(log_end=end, is_linked=is_linked)
        doubt = takeover_doubt(end, state.copied_from)
        if wanted not in (None, me):
            refusal = f"this member knows no group, and no member {wanted}"
        if refusal or not is_unclean:
            raise Refused(f"nothing was changed: {refusal or doubt}")
        minimum, term_id = self.rules.min_in_sync, new_term_id()
        await self.file.change(lambda old: group_state.group_of_one(old, me, self.address, minimum))
        await self.promise(TAKEOVER_EPOCH, term_id)
        await self.become_master(TAKEOVER_EPOCH, term_id)
        log.warning("this member took over: %s", doubt)
        return PromotionAnswer(TAKEOVER_EPOCH, me, self.address, doubt)

    # -- watching -------------------------------------------------------------------------------------------

    async def _watch_forever(self) -> None:
        """Saves the confirmed offset; a master that lost a member's connection asks whether it was
        replaced."""
        since_save = 0.0
        while True:
            await asyncio.sleep(SAVE_S)
            since_save += SAVE_S
            await self._save_confirmed()
            if since_save >= WATCH_S:
                since_save = 0.0
                await self._look_for_successor()
                await self._look_for_older_group()

    async def _save_confirmed(self) -> None:
        confirmed = min(self.streams.copy.confirmed.value or 0, self.store.queues.dispatched_offset)
        if confirmed > self._state.confirmed_offset:
            await self.file.change(lambda state: replace(state, confirmed_offset=confirmed))

    async def _look_for_successor(self) -> None:
        term = self.streams.term
        if term is None:
            return
        status = await self._search.find_successor(term.links)
        if status is None or self.streams.term is not term:
            return
        log.warning("member %d has promised epoch %d: this master steps down", status.member_id, status.epoch)
        async with self._turn:
            await self.streams.stop()
            await self.hooks.seek(status.epoch)
        self._seek_soon(0.0 if status.master_id is not None else LOST_PROMISE_S)

    def _note(self, trouble: str) -> None:
        if trouble != self.trouble:
            log.warning("no writes yet: %s", trouble)
        self.trouble = trouble

    @property
    def epoch_and_term_id(self) -> tuple[int, int]:
        return self._state.epoch, self._state.term_id

    @property
    def history(self) -> History:
        return self._state.history

    @property
    def _state(self) -> GroupState:
        return self.file.known
