"""Promotes a member to master: asks the members, collects promises, applies the election rules, and
informs all.

Any member may run it, for an operator (`promote`) or for itself when it restarts as master. It asks
twice: first without obligation, so that a promotion that cannot succeed changes nothing; then for
promises, each of which ends the old term at that member. If this process dies in between, the group has
no master, and the next attempt begins with a higher epoch.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from engine.broker.failover.election import (
    Election,
    FrontLoss,
    Vote,
    elect,
    front_loss,
    member_ids,
    resume,
)
from engine.broker.failover.group_state import GroupState
from engine.broker.failover.master_search_io import Self
from engine.broker.failover.member_requests_io import MemberRequests, ask_all
from engine.errors import Refused
from engine.protocol.bodies.brokers import GroupStatus
from engine.protocol.bodies.brokers import Promotion as PromotionAnswer

log = logging.getLogger(__name__)

_MAX_EPOCH = 0x7FFF_FFF0
_T = TypeVar("_T")


class HigherEpoch(Refused):
    """Another member already has a master of a higher epoch: follow it."""

    def __init__(self, epoch: int, master_id: int, address: str) -> None:
        super().__init__(f"member {master_id} at {address} is master of epoch {epoch}")
        self.master_id, self.address = master_id, address


def new_term_id() -> int:
    return random.SystemRandom().getrandbits(62)


@dataclass(eq=False, repr=False)
class Promoter:
    me: Self
    members: MemberRequests
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    async def promote(
        self, state: GroupState, wanted: int | None, *, is_unclean: bool = False
    ) -> PromotionAnswer:
        """For an operator. Raises Refused with the reason when the rules forbid it."""
        counts: dict[int, int] = {}

        def decide(votes: Sequence[Vote]) -> Election:
            return elect(votes, wanted=wanted, is_unclean=is_unclean, lost_messages=counts)

        async with self._turn:
            statuses = await self._ask(state)
            losses = _front_losses(statuses)
            counts |= await self._count(state, losses)
            if wanted in losses and not is_unclean:
                # Refuse before a live master stops its writes.
                loss = losses[wanted].with_count(counts)
                raise Refused(f"nothing was changed: {loss}")
            if await self._hand_over(state, statuses, wanted):
                statuses = await self._ask(state)
            return await self._run(state, statuses, decide, step=2 if is_unclean else 1)

    async def resume(self, current: Callable[[], GroupState]) -> PromotionAnswer | None:
        """For a master that restarted, or a member whose last promise had no outcome. None: another promotion
        has given this member a role meanwhile, and it must not start one."""
        me = self.me.member_id

        def decide(votes: Sequence[Vote]) -> Election:
            return resume(me, state.master_id == me, votes)

        async with self._turn:
            if self.me.status().role != "seeking":
                return None
            state = current()
            statuses = await self._ask(state)
            for status in statuses.values():
                master = _master_of(status, state)
                if master is not None:
                    raise HigherEpoch(status.epoch, master, status.members.get(str(master), ""))
            return await self._run(state, statuses, decide, step=1)

    async def _run(
        self,
        state: GroupState,
        statuses: Mapping[int, GroupStatus],
        decide: Callable[[Sequence[Vote]], Election],
        *,
        step: int,
    ) -> PromotionAnswer:
        preview = decide(list(statuses.values()))
        if preview.winner is None:
            raise Refused(f"nothing was changed: {preview.reason}")
        epoch = max(status.epoch for status in statuses.values()) + step
        if epoch > _MAX_EPOCH:
            raise Refused(f"epoch {epoch} is impossible")
        term_id = new_term_id()
        promised = await self._collect(state, statuses, epoch, term_id)
        outcome = decide(list(promised.values()))
        if outcome.winner is None:
            raise Refused(f"epoch {epoch} was promised and has no master: {outcome.reason}")
        return await self._install(state, outcome, epoch, term_id, promised)

    # -- asking ---------------------------------------------------------------------------------------------

    async def _ask(self, state: GroupState) -> dict[int, GroupStatus]:
        others = {member: self.members.status(at) for member, at in self._others(state).items()}
        return {self.me.member_id: self.me.status(), **await _answers(others)}

    async def _collect(
        self, state: GroupState, statuses: Mapping[int, GroupStatus], epoch: int, term_id: int
    ) -> dict[int, GroupStatus]:
        """Promises of those that answered. This member promises first: if it cannot, nothing changes."""
        own = await self.me.promise(epoch, term_id)
        others = {
            member: self.members.promise(address, epoch, term_id)
            for member, address in self._others(state).items()
            if member in statuses
        }
        return {self.me.member_id: own, **await _answers(others)}

    async def _count(self, state: GroupState, losses: Mapping[int, FrontLoss]) -> dict[int, int]:
        """How many messages each of these losses is, as far as the members that have them can count."""
        asked: dict[int, Awaitable[int | None]] = {}
        for member, loss in losses.items():
            if loss.holder == self.me.member_id:
                asked[member] = self.me.count_messages(loss.begin, loss.end)
            elif loss.holder is not None and (address := state.members.get(loss.holder)):
                asked[member] = self.members.count_messages(address, loss.begin, loss.end)
        counts = await _answers(asked)
        return {member: count for member, count in counts.items() if count is not None}

    async def _hand_over(
        self, state: GroupState, statuses: Mapping[int, GroupStatus], wanted: int | None
    ) -> bool:
        """Make a live master let the wanted member catch up first; otherwise the longest log would win again.
        Returns whether there was a master to ask."""
        master = state.master_id
        if wanted is None or master is None or wanted == master or master not in statuses:
            return False
        await self.members.hand_over(state.members[master], state.epoch, wanted)
        return True

    async def _install(
        self, state: GroupState, outcome: Election, epoch: int, term_id: int, promised: Collection[int]
    ) -> PromotionAnswer:
        """A member that did not promise is not waited for: it finds the new master by itself."""
        winner = outcome.winner
        assert winner is not None
        address = state.members[winner]
        if winner == self.me.member_id:
            await self.me.become_master(epoch, term_id)
        else:
            await self.members.become_master(address, epoch, term_id)
        others = {
            member: self.members.follow(at, epoch, term_id, winner, address)
            for member, at in self._others(state).items()
            if member != winner and member in promised
        }
        informed = await _answers(others)
        if winner != self.me.member_id:
            await self.me.follow(epoch, term_id, winner, address)
        silent = tuple(sorted(set(state.members) - {self.me.member_id, winner} - set(informed)))
        log.warning("member %d at %s is master of epoch %d", winner, address, epoch)
        return PromotionAnswer(epoch, winner, address, outcome.reason or None, silent)

    def _others(self, state: GroupState) -> dict[int, str]:
        return {member: at for member, at in state.members.items() if member != self.me.member_id}


def _front_losses(statuses: Mapping[int, GroupStatus]) -> dict[int, FrontLoss]:
    """By member: what would be lost at the front of the log if it were master."""
    votes = list(statuses.values())
    losses = {vote.member_id: front_loss(vote, votes, member_ids(vote)) for vote in votes}
    return {member: loss for member, loss in losses.items() if loss is not None}


def _master_of(status: GroupStatus, state: GroupState) -> int | None:
    """The master to follow by another member's status: that of a higher epoch, or of the very term that this
    member promised without learning the outcome."""
    if status.epoch > state.epoch:
        return status.master_id
    is_outcome = (status.epoch, status.reign) == (state.epoch, state.term_id) and status.role == "master"
    return status.member_id if is_outcome and state.master_id is None else None


async def _answers(asked: Mapping[int, Awaitable[_T]]) -> dict[int, _T]:
    """The answers of the members that did as asked."""
    answers, errors = await ask_all(asked)
    for member, error in errors.items():
        log.info("member %d did not answer: %s", member, error)
    return answers
