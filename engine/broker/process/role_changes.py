"""From slave to master and back while the broker runs, any number of times.

Down: from the first instant nothing is written and nothing waiting is acknowledged (a fenced master must
fall silent at once); then the duties end. Up: the log is first dispatched to its end, because the next queue
offsets and the open transactions and pops are read from there; so the streams must serve before, and the
confirmed offset must move. A later call wins over one that still waits. Loop thread only.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from engine.broker.failover.role import MASTER_ID, Role, RoleKind
from engine.broker.failover.role_hooks import RoleHooks
from engine.broker.process.duties import Duties
from engine.broker.process.waits import BrokerWaits
from engine.store.message_store import MessageStore

log = logging.getLogger(__name__)

_DISPATCH_POLL_S = 0.01
_COMPLAIN_POLLS = 1_000


class RoleChanges:
    """`use_routes` swaps the table of handlers; `announce` tells the name servers; `dispatch` is what must
    follow an append; `cut_log` drops the end of the log; `take_over` comes before the duties are loaded, and
    `follow` when there is another master."""

    def __init__(
        self,
        role: Role,
        store: MessageStore,
        duties: Duties,
        waits: BrokerWaits,
        *,
        use_routes: Callable[[], None],
        dispatch: Callable[[], None],
        announce: Callable[[], None],
        take_over: Callable[[], object],
        follow: Callable[[], None],
        cut_log: Callable[[int], Awaitable[None]],
    ) -> None:
        self._role = role
        self._store = store
        self._duties = duties
        self._waits = waits
        self._use_routes = use_routes
        self._dispatch = dispatch
        self._announce = announce
        self._take_over = take_over
        self._follow = follow
        self._cut_log = cut_log
        self._turn = 0
        self._one_at_a_time = asyncio.Lock()

    def begin(self) -> None:
        """The role of the start: before anybody is served."""
        self._use_routes()
        refusal = self._role.refusal()
        if refusal is None:
            self._duties.load()
            self._duties.start()
        else:
            self._store.close_writes(refusal.text)

    async def become_master(self, epoch: int) -> None:
        """Returns once writes are taken, or another role was asked for meanwhile."""
        role = self._role
        if role.is_master:
            if epoch != role.epoch:
                role.epoch = epoch
                self._announce()
            return
        turn = self._next_turn()
        role.become(RoleKind.SEEKING, role.broker_id, epoch, None)
        async with self._one_at_a_time:
            if not await self._all_dispatched(turn):
                return
            self._store.adopt_queue_offsets()
            self._store.open_writes()
            self._take_over()
            self._duties.load()
            role.become(RoleKind.MASTER, MASTER_ID, epoch, None)
            self._use_routes()
            self._duties.start()
            log.warning("this broker is master of its group now, epoch %d", epoch)
        self._announce()

    async def become_slave(self, master_address: str | None, broker_id: int, epoch: int) -> None:
        role = self._role
        asked = (RoleKind.SLAVE, broker_id, epoch, master_address)
        if asked == (role.kind, role.broker_id, role.epoch, role.master_address):
            return
        self._next_turn()
        is_known = (broker_id, epoch) == (role.broker_id, role.epoch) and role.kind is RoleKind.SLAVE
        role.become(*asked)
        refusal = role.refusal()
        self._store.close_writes(refusal.text if refusal is not None else "")
        self._use_routes()
        self._waits.demoted()
        log.warning("this broker is a slave of %s now, epoch %d", role.master_name(), epoch)
        async with self._one_at_a_time:
            await self._duties.drop()
            self._follow()
        if role.kind is RoleKind.SLAVE and not is_known:
            self._announce()

    async def seek(self, epoch: int) -> None:
        """Neither master nor slave: who is master is just being decided. Nothing is announced."""
        role = self._role
        if (RoleKind.SEEKING, epoch) == (role.kind, role.epoch):
            return
        self._next_turn()
        role.become(RoleKind.SEEKING, role.broker_id, epoch, None)
        refusal = role.refusal()
        self._store.close_writes(refusal.text if refusal is not None else "")
        self._use_routes()
        self._waits.demoted()
        async with self._one_at_a_time:
            await self._duties.drop()

    def _next_turn(self) -> int:
        self._turn += 1
        return self._turn

    async def _all_dispatched(self, turn: int) -> bool:
        """Everything in the log is in its queue and may be read; False: another role was asked for meanwhile.

        After a restart queues reach to the end of the log, although the replicas have not confirmed it all:
        the duties would not find what is open, nor what was decided, in records that nobody may see yet.
        """
        polls = 0
        while turn == self._turn:
            seen_to = min(self._store.dispatched_offset, self._store.readable_end())
            if seen_to >= self._store.commit_log_max_offset:
                return True
            if self._store.replica.ends_in_partial_record():
                # The old master died while it sent this: nobody will ever send the rest.
                await self._cut_log(self._store.dispatched_offset)
                continue
            self._dispatch()
            await asyncio.sleep(_DISPATCH_POLL_S)
            polls += 1
            if polls % _COMPLAIN_POLLS == 0:
                log.warning(
                    "not master yet: the log ends at %d, but only %d is confirmed and dispatched",
                    self._store.commit_log_max_offset,
                    self._store.dispatched_offset,
                )
        return False


def role_hooks(
    changes: Callable[[], RoleChanges],
    cut_log: Callable[[int], Awaitable[None]],
    keep_unexpired: Callable[[], bool],
) -> RoleHooks:
    """What a group calls; the changes themselves may be put together later."""

    async def become_master(epoch: int) -> None:
        await changes().become_master(epoch)

    async def become_slave(master_address: str | None, broker_id: int, epoch: int) -> None:
        await changes().become_slave(master_address, broker_id, epoch)

    async def seek(epoch: int) -> None:
        await changes().seek(epoch)

    return RoleHooks(become_master, become_slave, seek, cut_log, keep_unexpired)
