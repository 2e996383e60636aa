"""A broker's life in its group: seeking, reigning or following, and how it passes from one to the other.

Every change of role goes through one lock, and always in this order: stop what the old role does, store the
new state on disk, begin the new role. So a promise is given only when nothing more of the old master can be
acknowledged here, and a reign begins only when this member's disk says so. Loop thread only.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from dataclasses import replace

from engine.broker.failover.founding_task import ALONE_S, Founding
from engine.broker.failover.group_file_io import GroupFile
from engine.broker.failover.group_state import (
    GroupName,
    GroupState,
    StaleEpoch,
    crown,
    follow,
    found,
    promise,
    wire_id,
)
from engine.broker.failover.hand_over_task import MAX_HAND_OVER_MS, note_request, wait_for_heir
from engine.broker.failover.master_search_io import MasterSearch
from engine.broker.failover.member_status import member_status, own_missing_from
from engine.broker.failover.members import Members, Self
from engine.broker.failover.promotion_task import HigherEpoch, Promoter
from engine.broker.failover.role_hooks import GroupRules, RoleHooks
from engine.broker.failover.takeover import (
    TAKEOVER_EPOCH,
    founded_anew,
    takeover_doubt,
    takeover_refusal,
)
from engine.broker.replication.confirmed_offset import ConfirmedOffset
from engine.broker.replication.epochs import History
from engine.broker.replication.ha_server_io import HaServer
from engine.broker.replication.master_task import Mastering
from engine.broker.replication.slave_task import Following
from engine.broker.storage.log_events import LogEvents
from engine.daemon.background_tasks import start_task, stop_tasks
from engine.errors import EngineError, Refused
from engine.protocol.bodies.brokers import GroupStatus
from engine.protocol.bodies.brokers import Promotion as PromotionAnswer
from engine.store.message_store import MessageStore

log = logging.getLogger(__name__)

SEEK_S = 1.0
LOST_PROMISE_S = 5.0
"""How long a member that promised waits for the outcome before it asks for one itself."""
WATCH_S = 2.0
SAVE_S = 1.0


class Replication:
    def __init__(
        self,
        name: GroupName,
        address: str,
        ha_address: str,
        secret: bytes | None,
        rules: GroupRules,
        file: GroupFile,
        store: MessageStore,
        server: HaServer,
        members: Members,
        hooks: RoleHooks,
        events: LogEvents,
        *,
        named_master: Callable[[], tuple[str | None, str | None]],
        now_ms: Callable[[], int],
    ) -> None:
        self._name = name
        self._address, self._ha_address = address, ha_address
        self._secret = secret
        self._rules = rules
        self._file = file
        self._store = store
        self._server = server
        self._founding = Founding(name.member_id, address, members)
        self._hooks = hooks
        self._events = events
        self._confirmed = ConfirmedOffset(store, events)
        self._search = MasterSearch(name.member_id, file, members, named_master)
        self._now_ms = now_ms
        self._turn = asyncio.Lock()
        own = Self(name.member_id, self.status, self.promise, self.crown, self.follow, self.count_messages)
        self._promoter = Promoter(own, members, lambda: random.SystemRandom().getrandbits(62))
        self._seeking: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None
        self._becoming: asyncio.Task[None] | None = None
        self._founded_at = float("-inf")
        self.mastering: Mastering | None = None
        self.following: Following | None = None
        self.trouble = ""

    # -- from start to stop ---------------------------------------------------------------------------------

    async def start(self, *, is_slave: bool) -> None:
        """What the file says wins over broker.conf: a promotion outlives a restart."""
        state = self._state
        if is_slave and state.epoch == 0:
            await self._serve_under(state)
        elif state.epoch == 0:
            await self._found_or_join()
            if self._becoming is not None:
                # A new group takes writes at once, unless that needs others.
                await asyncio.wait({self._becoming}, timeout=SEEK_S)
            self._seek_soon(SEEK_S)
        else:
            await self._file.change(self._sober)
            self._confirmed.move(state.confirmed_offset)
            me = self._name.member_id
            if state.master_id in (me, None):
                self._seek_soon(0.0)
            else:
                await self._serve_under(self._state)
        self._watching = start_task(self._watch_forever(), "watch the group")

    async def _found_or_join(self) -> None:
        """For a master that knows no group; there may be one all the same."""
        verdict = await self._founding.ask(asyncio.get_running_loop().time())
        async with self._turn:
            if self.mastering is not None or self.following is not None:
                return  # somebody told this member meanwhile what it is
            if verdict.master is not None:
                await self._join(verdict.master)
            elif verdict.doubt or self._state.epoch:
                self._note(verdict.doubt or "its group is gone, and it promised to follow it")
            else:
                await self._found()

    async def _join(self, master: GroupStatus) -> None:
        log.warning("there is a group of this name, at epoch %d: this member follows", master.epoch)
        address = master.members.get(str(master.member_id), "")
        members = {**self._state.members, master.member_id: address}
        await self._serve_under(replace(self._state, master_id=master.member_id, members=members))

    async def _found(self) -> None:
        reign = random.SystemRandom().getrandbits(62)
        name, minimum = self._name, self._rules.min_in_sync
        await self._file.change(lambda _: found(name.member_id, self._address, reign, minimum))
        await self._reign()
        self._founded_at = asyncio.get_running_loop().time()

    async def _look_for_elder_group(self) -> None:
        """For a while, a founder whom nobody joined asks again: name servers may have been late to hear of
        its elders. Nothing rests on such a reign, so it ends; what was written meanwhile stays where it is,
        and keeps this member from joining until a person has looked at it."""
        mastering, now = self.mastering, asyncio.get_running_loop().time()
        if mastering is None or now - self._founded_at > ALONE_S or self._search.others():
            return
        if (await self._founding.ask(now)).is_alone:
            return
        async with self._turn:
            if self.mastering is not mastering or self._search.others():
                return
            log.warning("there is an older group of this name: this one is given up")
            await self._leave_role()
            await self._file.change(lambda _: GroupState())
            await self._hooks.seek(0)
        self._seek_soon(0.0)

    def _sober(self, state: GroupState) -> GroupState:
        """After a power cut the log may end before entries that are on disk: they were not reached."""
        end = self._store.log.max_offset
        history = tuple(entry for entry in state.history if entry.start_offset <= end)
        members = {**state.members, self._name.member_id: self._address}
        changed = replace(state, history=history, members=members)
        return state if changed == state else changed

    async def stop(self) -> None:
        await stop_tasks(self._watching, self._seeking, self._becoming)
        await self._save_confirmed()
        await self._leave_role()
        await self._server.close()

    # -- roles ----------------------------------------------------------------------------------------------

    async def _leave_role(self) -> None:
        """When this returns, no slave's acknowledgement and no master's byte is taken any more."""
        self._server.drop_all()
        if self.following is not None:
            await self.following.stop()
            self.following = None
        if self.mastering is not None:
            mastering, self.mastering = self.mastering, None
            await mastering.stop()

    async def _reign(self) -> None:
        state = self._state
        self.mastering = Mastering(
            self._name,
            self._file,
            self._store,
            min_in_sync=self._rules.min_in_sync,
            catch_up_ms=self._rules.catch_up_ms,
            now_ms=self._now_ms,
            confirmed=self._confirmed,
            loop=asyncio.get_running_loop(),
        )
        self.trouble = ""
        self._confirmed.move(state.confirmed_offset)
        self.mastering.start()
        self._server.master = self.mastering
        log.warning("master of epoch %d", state.epoch)
        self._keep_promise(state.promised_in_sync)
        # Slaves must be able to join meanwhile: writes are taken once the end of the log is confirmed.
        self._becoming = start_task(self._hooks.become_master(state.epoch), "take writes")

    def _keep_promise(self, promised: int) -> None:
        """What was acknowledged under another master must not depend on this member's silence about it."""
        own = self._rules.min_in_sync
        if promised <= own:
            return
        may_delete = self._hooks.keep_unexpired()
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

    async def _serve_under(self, state: GroupState) -> None:
        master_id = state.master_id
        address = state.members.get(master_id) if master_id is not None else None
        me = self._name.member_id
        await self._hooks.become_slave(address, wire_id(me, master_id), state.epoch)
        identity = {"cluster": self._name.cluster, "broker": self._name.broker, "member": me}
        self.following = Following(
            {**identity, "address": self._address},
            self._secret,
            self._file,
            self._store,
            self._confirmed,
            self._search.find,
            cut_log=self._hooks.cut_log,
            appended=self._events.appended,
            now_ms=self._now_ms,
        )
        self.following.start()

    def _seek_soon(self, delay_s: float) -> None:
        if self._seeking is None or self._seeking.done():
            self._seeking = start_task(self._seek(delay_s), "seek a master")

    async def _seek(self, delay_s: float) -> None:
        """Until this member reigns or follows."""
        await asyncio.sleep(delay_s)
        while self.mastering is None and self.following is None:
            try:
                await self._seek_once()
            except HigherEpoch as higher:
                await self._follow_found(higher)
            except EngineError as error:
                self._note(error.text)
            await asyncio.sleep(SEEK_S + random.random() * SEEK_S)

    async def _seek_once(self) -> None:
        state = self._state
        if state.history or self._search.others():
            await self._promoter.resume(lambda: self._state)
        else:
            await self._found_or_join()

    async def _follow_found(self, higher: HigherEpoch) -> None:
        """Its handshake tells epoch and reign; until then this member only knows where to ask."""
        async with self._turn:
            if self.mastering is not None or self.following is not None:
                return  # somebody told this member meanwhile what it is
            await self._leave_role()
            members = {**self._state.members, higher.master_id: higher.address}
            await self._serve_under(replace(self._state, master_id=higher.master_id, members=members))

    # -- what members ask of each other ---------------------------------------------------------------------

    def status(self) -> GroupStatus:
        following = self.following
        return member_status(
            self._name,
            self._state,
            self._store,
            role="master" if self.mastering else "slave" if following else "seeking",
            is_linked=self._is_linked,
            ha_address=self._ha_address,
            trouble=following.trouble if following else self.trouble,
            now_ms=self._now_ms(),
        )

    async def count_messages(self, begin: int, end: int) -> int:
        """How many messages of this log lie between two commit-log offsets."""
        count = 0
        for piece in self._store.front.count_messages(begin, end):
            count += piece
            await asyncio.sleep(0)
        return count

    @property
    def _is_linked(self) -> bool:
        return self.following is not None and self.following.may_delete_to is not None

    def lacks_front(self) -> bool:
        """Whether this member's log starts behind messages that have not expired and that others may have."""
        if self.mastering is not None or self._file.state is None:
            return False
        now_ms = self._now_ms()
        return (
            own_missing_from(self._state, self._store, is_linked=self._is_linked, now_ms=now_ms) is not None
        )

    async def settle_start(self, planned_start: Callable[[], int]) -> int | None:
        """The commit-log offset up to which segments may be deleted now; None: none may. A master decides,
        and has it on disk when this returns. A slave of ours obeys its master; behind one of the first
        release it deletes what both have let go; one behind RocketMQ's own expires for itself, as there.
        `planned_start`: what this broker's own settings say."""
        mastering, following = self.mastering, self.following
        if mastering is not None:
            start = max(planned_start(), self._state.start_offset or 0)
            if start <= self._store.log.min_offset:
                return None
            await mastering.decide_start(start)
            return start if self.mastering is mastering else None
        if following is None:
            return None
        told = following.may_delete_to
        if following.is_behind_plain:
            return planned_start()
        return told if told is None or following.is_told_starts else min(planned_start(), told)

    def cleaning_refusal(self) -> str:
        """Why an administrator may not clean here; empty on a master, and behind one of RocketMQ's own."""
        if self.mastering is not None or (self.following is not None and self.following.is_behind_plain):
            return ""
        return "a slave deletes what its master has decided to delete, and nothing else: ask the master"

    def is_under(self, status: GroupStatus | None) -> bool:
        """Whether whoever says this of itself is the master that this member obeys. A broker that knows no
        groups (None) can only be the master of a member that has none."""
        state = self._state
        if status is None:
            return state.epoch == 0
        return status.role == "master" and (status.epoch, status.reign) == (state.epoch, state.reign)

    async def promise(self, epoch: int, reign: int) -> GroupStatus:
        async with self._turn:
            promise(self._state, epoch, reign)  # whoever is refused disturbs nothing
            if epoch != self._state.epoch:
                was_master = self.mastering is not None
                await self._leave_role()
                await self._file.change(lambda state: promise(state, epoch, reign))
                await self._hooks.seek(epoch)
                self._seek_soon(LOST_PROMISE_S * (1 if was_master else 1 + random.random()))
            return self.status()

    async def crown(self, epoch: int, reign: int) -> None:
        async with self._turn:
            if self.mastering is not None and self._state.epoch == epoch:
                return
            me, end = self._name.member_id, self._store.log.max_offset
            crown(self._state, epoch, reign, me, end)  # whoever is refused disturbs nothing
            if (whole := self._store.replica.whole_end()) < self._store.log.max_offset:
                await self._hooks.cut_log(whole)
            end = self._store.log.max_offset
            await self._file.change(lambda state: crown(state, epoch, reign, me, end))
            await self._reign()

    async def follow(self, epoch: int, reign: int, master_id: int, address: str) -> None:
        async with self._turn:
            if self.mastering is not None and self._state.epoch >= epoch:
                raise StaleEpoch(f"this member is master of epoch {self._state.epoch}")

            def step(state: GroupState) -> GroupState:
                followed = follow(state, epoch, reign, master_id)
                return replace(followed, members={**followed.members, master_id: address})

            step(self._state)  # whoever is refused disturbs nothing
            await self._leave_role()
            await self._file.change(step)
            await self._serve_under(self._state)

    async def hand_over(self, epoch: int, member_id: int, timeout_ms: int, nonce: int) -> None:
        """Take no more writes; return when the member has all. If nobody takes over, writes come back."""
        mastering = self.mastering
        if mastering is None or self._state.epoch != epoch:
            raise StaleEpoch(f"this member is not master of epoch {epoch}")
        note_request(mastering, member_id, nonce)
        await self._hooks.seek(epoch)
        timeout_ms = min(timeout_ms, MAX_HAND_OVER_MS)
        loop = asyncio.get_running_loop()
        loop.call_later(timeout_ms / 1000 + WATCH_S, self._take_back, mastering)
        await wait_for_heir(mastering, self._store, member_id, timeout_ms)

    def _take_back(self, mastering: Mastering) -> None:
        if self.mastering is mastering:
            log.warning("nobody took over: this member writes again")
            self._becoming = start_task(self._hooks.become_master(self._state.epoch), "take writes again")

    async def promote(self, seen_epoch: int, wanted: int | None, *, is_unclean: bool) -> PromotionAnswer:
        state = self._state
        if seen_epoch != state.epoch:
            raise StaleEpoch(f"the group is at epoch {state.epoch}, the request speaks of {seen_epoch}")
        if state.epoch == 0:
            return await self._take_over(wanted, is_unclean=is_unclean)
        if wanted is not None and wanted not in state.members:
            raise Refused(f"the group has no member {wanted}: it has {sorted(state.members)}")
        return await self._promoter.promote(state, wanted, is_unclean=is_unclean)

    async def _take_over(self, wanted: int | None, *, is_unclean: bool) -> PromotionAnswer:
        """After a master that is none of ours; nobody else knows of this member."""
        me, state = self._name.member_id, self._state
        end, following = self._store.replica.whole_end(), self.following
        is_linked = following is not None and following.is_behind_plain
        refusal = takeover_refusal(log_end=end, is_linked=is_linked)
        doubt = takeover_doubt(end, state.copied_from)
        if wanted not in (None, me):
            refusal = f"this member knows no group, and no member {wanted}"
        if refusal or not is_unclean:
            raise Refused(f"nothing was changed: {refusal or doubt}")
        minimum, reign = self._rules.min_in_sync, random.SystemRandom().getrandbits(62)
        await self._file.change(lambda old: founded_anew(old, me, self._address, minimum))
        await self.promise(TAKEOVER_EPOCH, reign)
        await self.crown(TAKEOVER_EPOCH, reign)
        log.warning("this member took over: %s", doubt)
        return PromotionAnswer(TAKEOVER_EPOCH, me, self._address, doubt)

    # -- watching -------------------------------------------------------------------------------------------

    async def _watch_forever(self) -> None:
        """A master that lost sight of a member asks whether it was replaced; all keep what is confirmed."""
        since_save = 0.0
        while True:
            await asyncio.sleep(SAVE_S)
            since_save += SAVE_S
            await self._save_confirmed()
            if since_save >= WATCH_S:
                since_save = 0.0
                await self._look_for_successor()
                await self._look_for_elder_group()

    async def _save_confirmed(self) -> None:
        confirmed = min(self._confirmed.value or 0, self._store.queues.dispatched_offset)
        if confirmed > self._state.confirmed_offset:
            await self._file.change(lambda state: replace(state, confirmed_offset=confirmed))

    async def _look_for_successor(self) -> None:
        mastering = self.mastering
        if mastering is None:
            return
        status = await self._search.find_successor(mastering.links)
        if status is None or self.mastering is not mastering:
            return
        log.warning("member %d has promised epoch %d: this master steps down", status.member_id, status.epoch)
        async with self._turn:
            await self._leave_role()
            await self._hooks.seek(status.epoch)
        self._seek_soon(0.0 if status.master_id is not None else LOST_PROMISE_S)

    def _note(self, trouble: str) -> None:
        if trouble != self.trouble:
            log.warning("no writes yet: %s", trouble)
        self.trouble = trouble

    @property
    def epoch_and_reign(self) -> tuple[int, int]:
        return self._state.epoch, self._state.reign

    @property
    def history(self) -> History:
        return self._state.history

    @property
    def _state(self) -> GroupState:
        return self._file.known
