"""A group in virtual time: the real rules (states, sets, elections, partings) over logs that are lists.

One record has size 1, so a commit-log offset is an index, and is a segment of its own. What a node stores
survives its crash, what it only knows does not. Entries before a node's start are gone there; they stay in
the list so that offsets are indexes. Every step is drawn from one random source, so a seed tells the story.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from msgspec.structs import replace

from engine.broker.failover.election import Vote, elect, resume
from engine.broker.failover.group_state import (
    GroupState,
    InSyncSet,
    StaleEpoch,
    become_master,
    create_group,
    decide_start,
    follow,
    promise,
    take_set,
    take_start,
)
from engine.broker.failover.member_status import missing_from
from engine.broker.replication.epochs import divergence, log_epoch, reached
from engine.broker.replication.in_sync_set import InSyncTable

Entry = tuple[int, int]
"""Who wrote it (term id) and its number."""


class Broken(AssertionError):
    """A promise of docs/adr/0008 does not hold."""


@dataclass
class Node:
    member_id: int
    state: GroupState
    log: list[Entry] = field(default_factory=list)
    is_up: bool = True
    table: InSyncTable | None = None
    following: int | None = None
    """The master whose stream runs, by the epoch of `joined`."""
    joined: int = 0
    start: int = 0
    """Where its log starts."""

    def vote(self, unexpired_from: int) -> Vote:
        """`unexpired_from`: the first entry of the group that has not expired."""
        state, is_linked = self.state, self.following is not None
        missing = missing_from(
            state, self.start, is_linked=is_linked, lacks_only_expired=self.start < unexpired_from
        )
        return Vote(
            member_id=self.member_id,
            log_epoch=log_epoch(state.history),
            log_end=len(self.log),
            log_start=self.start,
            confirmed_offset=state.confirmed_offset,
            in_sync=state.in_sync,
            members={str(member): address for member, address in state.members.items()},
            whole_at=state.caught_up_at,
            start_offset=state.start_offset,
            unexpired_from=max(self.start, min(unexpired_from, len(self.log))),
            missing_from=None if self.table is not None else missing,
        )

    def leave_role(self) -> None:
        self.table, self.following = None, None


class Group:
    def __init__(self, size: int, min_in_sync: int, seed: int) -> None:
        self.draw = random.Random(seed)
        self.now_ms = 0
        self.min_in_sync = min_in_sync
        self.nodes = [Node(member, GroupState()) for member in range(size)]
        self.nodes[0].state = create_group(0, "0", self._new_term_id(), min_in_sync)
        self.cut: set[frozenset[int]] = set()
        self.acknowledged: dict[int, Entry] = {}
        self.seen: dict[int, Entry] = {}
        self.waiting: list[tuple[int, int, Entry]] = []
        """Sends that wait: master, offset behind the record, record."""
        self.number = 0
        self.lost_disks = self.lost_fronts = 0
        self.reserved_ms: float = float("inf")
        self.stored_ms: dict[Entry, int] = {}
        self._start_term(self.nodes[0])

    def _new_term_id(self) -> int:
        return self.draw.getrandbits(40)

    def _start_term(self, node: Node) -> None:
        node.leave_role()
        node.table = InSyncTable(node.member_id, node.state, self.min_in_sync)

    def reaches(self, one: Node, other: Node) -> bool:
        both = frozenset((one.member_id, other.member_id))
        return one.is_up and other.is_up and both not in self.cut

    def pick(self) -> Node:
        return self.draw.choice(self.nodes)

    # -- what a master does ---------------------------------------------------------------------------------

    def send(self) -> None:
        node = self.pick()
        if node.is_up and node.table is not None and node.table.is_enough():
            self.number += 1
            entry = (node.state.term_id, self.number)
            node.log.append(entry)
            self.stored_ms[entry] = self.now_ms
            self.waiting.append((node.member_id, len(node.log), entry))

    def settle(self, node: Node) -> None:
        """Move the confirmed offset; answer what it has passed."""
        if node.table is None or not node.is_up:
            return
        confirmed = node.table.confirmed(len(node.log))
        node.state = replace(node.state, confirmed_offset=max(node.state.confirmed_offset, confirmed))
        self._see(node, confirmed)
        for wait in [wait for wait in self.waiting if wait[0] == node.member_id]:
            _, end, entry = wait
            if node.log[end - 1 : end] == [entry] and end <= confirmed:
                self.acknowledged[end - 1] = entry
                self.waiting.remove(wait)

    def _see(self, node: Node, end: int) -> None:
        for offset, entry in enumerate(node.log[:end]):
            if self.seen.setdefault(offset, entry) != entry:
                raise Broken(f"offset {offset} was read as {self.seen[offset]} and as {entry}")

    def plan(self) -> None:
        node = self.pick()
        if node.is_up and node.table is not None:
            planned = node.table.plan(len(node.log), self.now_ms, self._needed_from(node))
            if planned is not None:
                self._propose(node, planned, dict(node.table.latest[1]))

    def _propose(self, node: Node, planned: InSyncSet, members: dict[int, str]) -> None:
        assert node.table is not None
        node.state = take_set(node.state, node.state.epoch, planned, members)
        node.table.propose(planned, members)
        self.settle(node)

    # -- what a slave does ----------------------------------------------------------------------------------

    def connect(self) -> None:
        slave, master = self.pick(), self.pick()
        if slave is master or slave.table is not None or master.table is None:
            return
        if not self.reaches(slave, master):
            return
        try:
            state = follow(slave.state, master.state.epoch, master.state.term_id, master.member_id)
        except StaleEpoch:
            return
        point = divergence(state.history, len(slave.log), master.state.history, len(master.log))
        if slave.log and not point.shared:
            return
        if point.offset < len(slave.log):
            if point.offset < slave.start:
                return  # nothing of its log is the master's: a person must empty it
            if point.offset < state.confirmed_offset:
                raise Broken(f"member {slave.member_id} would have to cut what is confirmed")
            del slave.log[point.offset :]
        caught_up_at = min(state.caught_up_at, len(master.log)) if slave.log else len(master.log)
        if not slave.log:
            slave.log, slave.start = master.log[: master.start], master.start
        history = reached(point.shared, master.state.history, len(slave.log))
        slave.state = replace(state, history=history, caught_up_at=caught_up_at)
        self._tell_start(slave, master)
        slave.following, slave.joined = master.member_id, master.state.epoch
        members = master.table.plan_members(slave.member_id, str(slave.member_id))
        if members is not None:
            in_sync = master.table.latest[0]
            self._propose(master, replace(in_sync, version=in_sync.version + 1), members)
        master.table.connected(slave.member_id, self.now_ms, slave.start)
        self._acknowledge(slave, master)

    def copy(self) -> None:
        slave = self.pick()
        master = self._master_of(slave)
        if master is None:
            return
        some = self.draw.randint(0, 4)
        slave.log += master.log[len(slave.log) : len(slave.log) + some]
        history = reached(slave.state.history, master.state.history, len(slave.log))
        confirmed = min(self._confirmed(master), len(slave.log))
        confirmed = max(slave.state.confirmed_offset, confirmed)
        slave.state = replace(slave.state, history=history, confirmed_offset=confirmed)
        self._see(slave, min(confirmed, len(slave.log)))
        if self.draw.random() < 0.8:  # or the word is lost with the connection
            self._acknowledge(slave, master)

    def _confirmed(self, master: Node) -> int:
        return master.table.confirmed(len(master.log)) if master.table is not None else 0

    def _acknowledge(self, slave: Node, master: Node) -> None:
        assert master.table is not None
        master.table.acknowledged(slave.member_id, len(slave.log), len(master.log), self.now_ms)
        self.settle(master)

    # -- the front of the log -------------------------------------------------------------------------------

    def unexpired_from(self, node: Node) -> int:
        """Of this node's log; its end when all has expired."""
        for offset, entry in enumerate(node.log):
            if self.stored_ms[entry] + self.reserved_ms > self.now_ms:
                return offset
        return len(node.log)

    def _needed_from(self, node: Node) -> int:
        oldest = max(node.start, min(self.unexpired_from(node), max(0, len(node.log) - 1)))
        return max(oldest, node.state.start_offset or 0)

    def expire(self) -> None:
        """A master decides, and may die before it deletes."""
        node = self.pick()
        if node.is_up and node.table is not None and node.log:
            start = max(node.start, min(self.unexpired_from(node), len(node.log) - 1))
            needed = max(self._needed_from(node), start)
            node.state = decide_start(node.state, node.state.epoch, start, needed)
            if self.draw.random() < 0.7:
                node.start = max(node.start, start)

    def hear_start(self) -> None:
        """A slave is told, and may die before it deletes."""
        slave = self.pick()
        master = self._master_of(slave)
        if master is None or master.table is None:
            return
        self._tell_start(slave, master)
        if self.draw.random() < 0.7 and slave.log:
            slave.start = max(slave.start, min(slave.state.start_offset or 0, len(slave.log) - 1))
        master.table.starts_at(slave.member_id, slave.start)

    def _tell_start(self, slave: Node, master: Node) -> None:
        state = master.state
        slave.state = take_start(slave.state, state.epoch, state.start_offset, self._needed_from(master))

    def lose_front(self) -> None:
        """Segments vanish from a node that is down: of as many nodes as an acknowledgement survives."""
        node = self.pick()
        if self.lost_fronts < self.min_in_sync - 1 and len(node.log) > node.start + 1:
            self.lost_fronts += 1
            node.leave_role()
            node.start = self.draw.randint(node.start + 1, len(node.log) - 1)

    def _check_front(self, winner: Node) -> None:
        for offset, entry in self.acknowledged.items():
            is_unexpired = self.stored_ms[entry] + self.reserved_ms > self.now_ms
            if is_unexpired and offset < winner.start:
                holders = [node for node in self.nodes if node.start <= offset < len(node.log)]
                if any(node.log[offset] == entry for node in holders):
                    raise Broken(f"member {winner.member_id} is master without {entry} at its front")

    def store_set(self) -> None:
        slave = self.pick()
        master = self._master_of(slave)
        if master is None or master.table is None or master.table.pending is None:
            return
        in_sync, members = master.table.pending
        slave.state = take_set(slave.state, master.state.epoch, in_sync, members)
        if self.draw.random() < 0.8:
            master.table.stored(slave.member_id, in_sync.version)
            self.settle(master)

    def _master_of(self, slave: Node) -> Node | None:
        if slave.following is None or not slave.is_up:
            return None
        master = self.nodes[slave.following]
        is_streaming = master.table is not None and master.state.epoch == slave.joined == slave.state.epoch
        return master if is_streaming and self.reaches(slave, master) else None

    # -- elections ------------------------------------------------------------------------------------------

    def promote(self) -> None:
        """An operator asks some member; it may die between any two words."""
        asked = self.pick()
        self._elect(asked, lambda votes: elect(votes).winner)

    def resume(self) -> None:
        node = self.pick()
        if node.table is not None or node.following is not None or not node.is_up:
            return
        was_master = node.state.master_id == node.member_id
        if not was_master and node.state.master_id is not None:
            return
        heard = [other for other in self.nodes if self.reaches(node, other)]
        if any(other.state.master_id is not None and other.state.epoch > node.state.epoch for other in heard):
            return
        me = node.member_id
        self._elect(node, lambda votes: resume(me, was_master, votes).winner)

    def _elect(self, asked: Node, decide: Callable[[list[Vote]], int | None]) -> None:
        members = set(asked.state.members)
        heard = [node for node in self.nodes if node.member_id in members and self.reaches(asked, node)]
        if asked not in heard or decide([self._vote(node) for node in heard]) is None:
            return
        epoch, term_id = max(node.state.epoch for node in heard) + 1, self._new_term_id()
        votes: list[Vote] = []
        for node in heard:
            if self.draw.random() < 0.9:
                try:
                    promised = promise(node.state, epoch, term_id)
                except StaleEpoch:
                    continue
                node.leave_role()
                node.state = promised
                votes.append(self._vote(node))
        has_own = any(vote.member_id == asked.member_id for vote in votes)
        winner = decide(votes) if has_own else None
        if winner is not None and self.draw.random() < 0.9:
            self._install(self.nodes[winner], epoch, term_id, heard)

    def _vote(self, node: Node) -> Vote:
        return node.vote(self.unexpired_from(node))

    def _install(self, winner: Node, epoch: int, term_id: int, heard: list[Node]) -> None:
        for offset, entry in self.acknowledged.items():
            if winner.log[offset : offset + 1] != [entry]:
                raise Broken(f"member {winner.member_id} is master without {entry} at {offset}")
        self._check_front(winner)
        winner.state = become_master(winner.state, epoch, term_id, winner.member_id, len(winner.log))
        self._start_term(winner)
        for node in heard:
            if node is not winner and self.draw.random() < 0.8:
                node.leave_role()
                node.state = follow(node.state, epoch, term_id, winner.member_id)

    # -- misfortune -----------------------------------------------------------------------------------------

    def crash(self) -> None:
        node = self.pick()
        node.is_up = False
        node.leave_role()

    def lose_disk(self) -> None:
        """As many as an acknowledgement survives: one less than hold it. Its broker.conf is still there: it
        starts as a slave, or as a master that finds its group (`founding`)."""
        if self.lost_disks < self.min_in_sync - 1:
            self.lost_disks += 1
            node = self.pick()
            node.leave_role()
            node.state, node.log = GroupState(), []

    def start(self) -> None:
        self.pick().is_up = True

    def part(self) -> None:
        one, other = self.draw.sample(range(len(self.nodes)), 2)
        self.cut.add(frozenset((one, other)))

    def mend(self) -> None:
        self.cut.clear()

    def wait(self) -> None:
        self.now_ms += self.draw.choice((10, 1_000, 16_000))
