"""The stream of this member's role: as master a `MasterTerm`, as slave a `Follower`, else none.

It also decides what may be deleted at the front of the log, which depends on the role (docs/adr/0015).
`GroupMember` starts and stops it. Loop thread only.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from engine.broker.failover.group_file_io import GroupFile
from engine.broker.failover.group_state import GroupName
from engine.broker.failover.master_search_io import MasterPlace
from engine.broker.failover.member_status import own_missing_from
from engine.broker.failover.role import GroupRules
from engine.broker.replication.acknowledgement import ConfirmedOffset
from engine.broker.replication.ha_port_io import HaServer
from engine.broker.replication.master_task import MasterTerm
from engine.broker.replication.slave_task import Follower
from engine.broker.storage.log_events import LogEvents
from engine.store.message_store import MessageStore


class Streams:
    def __init__(
        self,
        name: GroupName,
        address: str,
        secret: bytes | None,
        rules: GroupRules,
        file: GroupFile,
        store: MessageStore,
        server: HaServer,
        events: LogEvents,
        *,
        find_master: Callable[[], Awaitable[MasterPlace | None]],
        cut_log: Callable[[int], Awaitable[None]],
        now_ms: Callable[[], int],
    ) -> None:
        self._name = name
        self._address = address
        self._secret = secret
        self._rules = rules
        self._file = file
        self._store = store
        self._server = server
        self._events = events
        self._find_master = find_master
        self._cut_log = cut_log
        self._now_ms = now_ms
        self.confirmed = ConfirmedOffset(store, events)
        self.term: MasterTerm | None = None
        self.follower: Follower | None = None

    @property
    def are_idle(self) -> bool:
        return self.term is None and self.follower is None

    def lead(self) -> None:
        self.term = MasterTerm(
            self._name, self._file, self._store, self._rules, self.confirmed, now_ms=self._now_ms
        )
        self.confirmed.move(self._file.known.confirmed_offset)
        self.term.start()
        self._server.master = self.term

    def follow(self) -> None:
        name = self._name
        identity = {"cluster": name.cluster, "broker": name.broker, "member": name.member_id}
        self.follower = Follower(
            {**identity, "address": self._address},
            self._secret,
            self._file,
            self._store,
            self.confirmed,
            self._find_master,
            cut_log=self._cut_log,
            appended=self._events.appended,
            now_ms=self._now_ms,
        )
        self.follower.start()

    async def stop(self) -> None:
        """When this returns, no slave's acknowledgement and no master's byte is taken any more."""
        self._server.drop_all()
        if self.follower is not None:
            await self.follower.stop()
            self.follower = None
        if self.term is not None:
            term, self.term = self.term, None
            await term.stop()

    async def close(self) -> None:
        await self.stop()
        await self._server.close()

    # -- the front of the log -------------------------------------------------------------------------------

    @property
    def is_linked(self) -> bool:
        return self.follower is not None and self.follower.may_delete_to is not None

    def lacks_front(self) -> bool:
        """Whether this log starts behind messages that have not expired and that other members may have."""
        state, now_ms = self._file.state, self._now_ms()
        if self.term is not None or state is None:
            return False
        return own_missing_from(state, self._store, is_linked=self.is_linked, now_ms=now_ms) is not None

    async def settle_start(self, planned_start: Callable[[], int]) -> int | None:
        """The commit-log offset up to which segments may be deleted now; None: none may. A master decides,
        and has it on disk when this returns. A slave obeys a master of ours; behind one of the first release
        it deletes what both have expired; behind a plain master it expires for itself, as RocketMQ's slaves.
        `planned_start`: the start by this broker's own settings."""
        term, follower = self.term, self.follower
        if term is not None:
            start = max(planned_start(), self._file.known.start_offset or 0)
            if start <= self._store.log.min_offset:
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
