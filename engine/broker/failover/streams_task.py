"""The stream of this member's role: as master a `MasterTerm`, as slave a `Follower`, else none.

It also decides what may be deleted at the front of the log, which depends on the role (docs/adr/0015).
`GroupMember` starts and stops it. Loop thread only.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from engine.broker.failover.group_state import GroupName
from engine.broker.failover.master_search_io import MasterPlace
from engine.broker.failover.member_status import own_missing_from
from engine.broker.failover.role import GroupRules
from engine.broker.replication.ha_port_io import HaServer
from engine.broker.replication.master_link_io import LogCopy
from engine.broker.replication.master_task import MasterTerm
from engine.broker.replication.slave_task import Follower


@dataclass(eq=False, repr=False)
class Streams:
    name: GroupName
    address: str
    secret: bytes | None
    rules: GroupRules
    copy: LogCopy
    server: HaServer
    find_master: Callable[[], Awaitable[MasterPlace | None]]
    term: MasterTerm | None = field(default=None, init=False)
    follower: Follower | None = field(default=None, init=False)

    @property
    def are_idle(self) -> bool:
        return self.term is None and self.follower is None

    def lead(self) -> None:
        copy = self.copy
        confirmed, now_ms = copy.confirmed, copy.now_ms
        self.term = MasterTerm(
            self.name,
            copy.file,
            copy.store.log,
            copy.store.replica,
            copy.store.front,
            self.rules,
            confirmed,
            now_ms,
        )
        confirmed.move(copy.file.known.confirmed_offset)
        self.term.start()
        self.server.master = self.term

    def follow(self) -> None:
        name = self.name
        me = {
            "cluster": name.cluster,
            "broker": name.broker,
            "member": name.member_id,
            "address": self.address,
        }
        self.follower = Follower(me, self.secret, self.copy, self.find_master)
        self.follower.start()

    async def stop(self) -> None:
        """When this returns, no slave's acknowledgement and no master's byte is taken any more."""
        self.server.drop_all()
        if self.follower is not None:
            await self.follower.stop()
            self.follower = None
        if self.term is not None:
            term, self.term = self.term, None
            await term.stop()

    async def close(self) -> None:
        await self.stop()
        await self.server.close()

    # -- the front of the log -------------------------------------------------------------------------------

    @property
    def is_linked(self) -> bool:
        return self.follower is not None and self.follower.may_delete_to is not None

    def lacks_front(self) -> bool:
        """Whether this log starts behind messages that have not expired and that other members may have."""
        state, now_ms = self.copy.file.state, self.copy.now_ms()
        if self.term is not None or state is None:
            return False
        return (
            own_missing_from(
                state, self.copy.store.log, self.copy.store.front, is_linked=self.is_linked, now_ms=now_ms
            )
            is not None
        )

    async def settle_start(self, planned_start: Callable[[], int]) -> int | None:
        """The commit-log offset up to which segments may be deleted now; None: none may. A master decides,
        and has it on disk when this returns. A slave obeys a master of ours; behind one of the first release
        it deletes what both have expired; behind a plain master it expires for itself, as RocketMQ's slaves.
        `planned_start`: the start by this broker's own settings."""
        term, follower = self.term, self.follower
        if term is not None:
            start = max(planned_start(), self.copy.file.known.start_offset or 0)
            if start <= self.copy.store.log.min_offset:
                return None
            await term.decide_start(start)
            return start if self.term is term else None
        if follower is None:
            return None
        decided = follower.may_delete_to
        if follower.is_behind_plain:
            return planned_start()
        return decided if decided is None or follower.obeys_starts else min(planned_start(), decided)

    def cleaning_refusal(self) -> str:
        """Why an administrator may not clean here; empty on a master, and behind a plain master."""
        if self.term is not None or (self.follower is not None and self.follower.is_behind_plain):
            return ""
        return "a slave deletes what its master has decided to delete, and nothing else: ask the master"
