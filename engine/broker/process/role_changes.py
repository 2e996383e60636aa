"""From slave to master and back while the broker runs, any number of times.

Demotion: from the first instant nothing is written and no waiting send is acknowledged (a fenced master must
stop answering at once); then the master's tasks end. Promotion: the log is first dispatched to its end,
because the next queue offsets and the open transactions and pops are read from there; so replication must
already serve, and the confirmed offset must move. A later call wins over one that still waits. Loop thread
only.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from engine.broker.failover.role import MASTER_ID, RoleHooks, RoleKind
from engine.broker.process.core import Core, now_ms
from engine.broker.process.master_tasks import MasterTasks
from engine.broker.process.waits import BrokerWaits
from engine.broker.storage.flush_task import Flusher

log = logging.getLogger(__name__)

_DISPATCH_POLL_S = 0.01
_COMPLAIN_POLLS = 1_000


class RoleChanges:
    """`announce` registers this broker's new role with the name servers."""

    def __init__(
        self,
        core: Core,
        tasks: MasterTasks,
        waits: BrokerWaits,
        flusher: Flusher,
        *,
        announce: Callable[[], None],
    ) -> None:
        self._role = core.role
        self._store = core.store
        self._events = core.events
        self._log_events = core.log_events
        self._tasks = tasks
        self._waits = waits
        self._flusher = flusher
        self._announce = announce
        self._turn = 0
        self._one_at_a_time = asyncio.Lock()
        self.hooks = RoleHooks(
            self.become_master, self.become_slave, self.seek, self.cut_log, core.changes.keep_unexpired
        )
        """What the broker group calls."""

    def begin(self) -> None:
        """The role of the start: before anybody is served."""
        self._events.routes_changed()
        refusal = self._role.refusal()
        if refusal is None:
            self._tasks.load()
            self._tasks.start()
        else:
            self._store.log.close_writes(refusal.text)

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
            self._store.replica.adopt_queue_offsets()
            self._store.log.open_writes()
            self._events.promoting()
            self._tasks.load()
            role.become(RoleKind.MASTER, MASTER_ID, epoch, None)
            self._events.routes_changed()
            self._tasks.start()
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
        self._end_writes()
        log.warning("this broker is a slave of %s now, epoch %d", role.master_name(), epoch)
        async with self._one_at_a_time:
            await self._tasks.drop()
            self._events.new_master()
        if role.kind is RoleKind.SLAVE and not is_known:
            self._announce()

    async def seek(self, epoch: int) -> None:
        """Neither master nor slave: who is master is just being decided. Nothing is announced."""
        role = self._role
        if (RoleKind.SEEKING, epoch) == (role.kind, role.epoch):
            return
        self._next_turn()
        role.become(RoleKind.SEEKING, role.broker_id, epoch, None)
        self._end_writes()
        async with self._one_at_a_time:
            await self._tasks.drop()

    def _end_writes(self) -> None:
        refusal = self._role.refusal()
        self._store.log.close_writes(refusal.text if refusal is not None else "")
        self._events.routes_changed()
        self._waits.demoted()

    async def cut_log(self, commit_log_offset: int) -> None:
        """Drop the log from this record boundary on, while no flush runs."""
        async with self._flusher.pause():
            self._store.replica.truncate(commit_log_offset)
            self._tasks.waiting.log_was_cut(now_ms())
            # Requests that write the same offsets again must wait for a sync of their own.
            self._waits.flushed(min(commit_log_offset, self._store.log.flushed_offset))

    def _next_turn(self) -> int:
        self._turn += 1
        return self._turn

    async def _all_dispatched(self, turn: int) -> bool:
        """Everything in the log is in its queue and may be read; False: another role was asked for meanwhile.

        After a restart queues reach to the end of the log, although the replicas have not confirmed it all:
        the tasks would miss open transactions and pops, and their outcomes, in records not readable yet.
        """
        polls = 0
        while turn == self._turn:
            seen_to = min(self._store.queues.dispatched_offset, self._store.log.readable_end())
            if seen_to >= self._store.log.max_offset:
                return True
            if self._store.replica.ends_in_partial_record():
                # The old master died while it sent this record: the rest will never come.
                await self.cut_log(self._store.queues.dispatched_offset)
                continue
            self._log_events.appended()
            await asyncio.sleep(_DISPATCH_POLL_S)
            polls += 1
            if polls % _COMPLAIN_POLLS == 0:
                log.warning(
                    "not master yet: the log ends at %d, but only %d is confirmed and dispatched",
                    self._store.log.max_offset,
                    self._store.queues.dispatched_offset,
                )
        return False
