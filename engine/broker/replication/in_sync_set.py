"""The in-sync set: how far each slave has copied the log, and which of them acknowledgements wait for.
Pure; lives for one term.

The set changes in two steps. `plan` decides on a new one and `propose` makes it pending: from then on
both the old and the new set are waited for. Once every member that must know has stored it (`stored`),
the new one alone counts. A shorter list of conditions would lose messages: docs/adr/0008, rules 4 to 6
and 10.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from engine.broker.failover.group_state import GroupState, InSyncSet

CATCH_UP_MS = 15_000
"""haMaxTimeSlaveNotCatchup."""


@dataclass(slots=True)
class Progress:
    log_end: int = 0
    caught_up_ms: int = 0
    read_ms: int = 0
    master_end: int = 0
    """Where the master's log ended when this slave last reported."""
    is_connected: bool = True
    log_start: int | None = None
    """None: the first release, which does not report it."""


@dataclass(slots=True)
class _Pending:
    in_sync: InSyncSet
    members: Mapping[int, str]
    stored_by: set[int]


class InSyncTable:
    """The confirmed offset never goes back within a term. `own_end` is always the master's own log end."""

    def __init__(
        self, member_id: int, state: GroupState, min_in_sync: int, *, catch_up_ms: int = CATCH_UP_MS
    ) -> None:
        self.member_id = member_id
        self.epoch = state.epoch
        self.epoch_start = state.history[-1].start_offset
        self.current = state.in_sync
        self.members = {member: state.members[member] for member in state.in_sync.settled}
        self.min_in_sync = min_in_sync
        self.progress: dict[int, Progress] = {}
        self.plain: dict[str, int] = {}
        """Offsets that RocketMQ's own slaves acknowledged, by address: they store no sets, so are in none."""
        self._confirmed = state.confirmed_offset
        self._pending: _Pending | None = None
        self._catch_up_ms = catch_up_ms
        if set(self.members) != set(state.members):
            # Proposed by the last master; perhaps no other member has stored it.
            in_sync = replace(state.in_sync, version=state.in_sync.version + 1)
            self.propose(in_sync, state.members)

    # -- what slaves report ---------------------------------------------------------------------------------

    def connected(self, member_id: int, now_ms: int, log_start: int | None = None) -> None:
        """Earlier reports count no more: its store may have been emptied, or lost its end."""
        progress = self.progress.setdefault(member_id, Progress(caught_up_ms=now_ms))
        progress.is_connected, progress.read_ms, progress.log_end = True, now_ms, 0
        progress.log_start = log_start

    def starts_at(self, member_id: int, log_start: int) -> None:
        """A slave's log starts somewhere else now."""
        self.progress[member_id].log_start = log_start

    def left(self, member_id: int) -> None:
        """It has time to come back; the set changes only when that is over."""
        if member_id in self.progress:
            self.progress[member_id].is_connected = False

    def acknowledged(self, member_id: int, log_end: int, own_end: int, now_ms: int) -> None:
        """A slave had caught up at its last report when it has all that the log had then."""
        progress = self.progress[member_id]
        progress.log_end = max(progress.log_end, log_end)
        if log_end >= own_end:
            progress.caught_up_ms = now_ms
        elif log_end >= progress.master_end:
            progress.caught_up_ms = max(progress.caught_up_ms, progress.read_ms)
        progress.read_ms, progress.master_end = now_ms, own_end

    # -- what that means ------------------------------------------------------------------------------------

    def waited_for(self) -> set[int]:
        """The members whose log end holds the confirmed offset back."""
        pending = self._pending.in_sync.ids if self._pending is not None else ()
        return {*self.current.ids, *pending}

    def is_enough(self) -> bool:
        """Whether a send that waits may be taken at all."""
        return len(self.current.ids) >= max(self.min_in_sync, self.current.min_in_sync)

    def has_slaves(self) -> bool:
        return len(self.waited_for()) > 1 or bool(self.plain)

    def confirmed(self, own_end: int) -> int:
        """The confirmed offset. It does not move while the set is too small, or while a member of it has not
        reached this term: messages that no other member has, or has only under an older term, may be lost."""
        if self.is_enough():
            ends = [self._end_of(member, own_end) for member in self.waited_for()]
            if min(ends) >= self.epoch_start:
                self._confirmed = max(self._confirmed, min(ends))
        return self._confirmed

    def reached(self, count: int, own_end: int) -> int:
        """The offset that `count` of the members that count hold, the master among them."""
        ends = [self._end_of(member, own_end) for member in self.current.ids]
        ends = sorted([*ends, *self.plain.values()], reverse=True)
        return ends[count - 1] if 0 < count <= len(ends) else -1

    def _end_of(self, member_id: int, own_end: int) -> int:
        if member_id == self.member_id:
            return own_end
        progress = self.progress.get(member_id)
        return progress.log_end if progress is not None else -1

    # -- who is in it ---------------------------------------------------------------------------------------

    def plan(self, own_end: int, now_ms: int, needed_from: int | None = None) -> InSyncSet | None:
        """The set as it should be now; None when it is, or is about to be. A member whose log starts behind
        `needed_from`, the oldest segment that has not expired, is not in it."""
        base, _ = self.latest
        confirmed = self.confirmed(own_end)
        ids = {member for member in base.ids if not self._is_late(member, now_ms)}
        ids |= {member for member in self.progress if self._may_join(member, confirmed, now_ms)}
        ids -= self.lacking(needed_from)
        ids.add(self.member_id)
        settled = tuple(sorted(self.members))
        if (ids, self.min_in_sync, settled) == (set(base.ids), base.min_in_sync, base.settled):
            return None
        return InSyncSet(self.epoch, base.version + 1, tuple(sorted(ids)), self.min_in_sync, settled)

    def lacking(self, needed_from: int | None) -> set[int]:
        """The slaves whose logs start too late."""
        if needed_from is None:
            return set()
        starts = {member: progress.log_start for member, progress in self.progress.items()}
        return {member for member, start in starts.items() if start is not None and start > needed_from}

    def plan_members(self, member_id: int, address: str) -> dict[int, str] | None:
        """The list with this member at this address; None when it is known."""
        _, known = self.latest
        return None if known.get(member_id) == address else {**known, member_id: address}

    def propose(self, in_sync: InSyncSet, members: Mapping[int, str]) -> None:
        """The master itself has stored it already. An older proposal is dropped: it never counted."""
        self._pending = _Pending(in_sync, dict(members), {self.member_id})
        self._settle()

    def stored(self, member_id: int, version: int) -> bool:
        """A slave has the pending set on disk; True when the set counts from now on."""
        if self._pending is None or version != self._pending.in_sync.version:
            return False
        self._pending.stored_by.add(member_id)
        return self._settle()

    @property
    def pending(self) -> tuple[InSyncSet, Mapping[int, str]] | None:
        return None if self._pending is None else (self._pending.in_sync, self._pending.members)

    @property
    def latest(self) -> tuple[InSyncSet, Mapping[int, str]]:
        """The base of the next proposal."""
        return self.pending or (self.current, self.members)

    def _settle(self) -> bool:
        pending = self._pending
        if pending is None or not pending.stored_by.issuperset(pending.in_sync.ids):
            return False
        weakens = pending.in_sync.min_in_sync < self.current.min_in_sync
        is_new_list = set(pending.members) != set(self.members)
        knowing = pending.stored_by & set(self.members)
        if (weakens or is_new_list) and len(knowing) < min(self.current.min_in_sync, len(self.members)):
            return False
        self.current, self.members, self._pending = pending.in_sync, dict(pending.members), None
        return True

    def _is_late(self, member_id: int, now_ms: int) -> bool:
        if member_id == self.member_id:
            return False
        progress = self.progress.get(member_id)
        return progress is None or now_ms - progress.caught_up_ms > self._catch_up_ms

    def _may_join(self, member_id: int, confirmed: int, now_ms: int) -> bool:
        """A late slave may not: the confirmed offset may rest where its log ends."""
        progress = self.progress[member_id]
        is_there = progress.log_end >= max(confirmed, self.epoch_start)
        is_known = progress.is_connected and member_id in self.members
        return is_known and is_there and not self._is_late(member_id, now_ms)
