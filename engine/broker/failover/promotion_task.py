"""Makes a master: asks the members, collects promises, lets the pure rules decide, tells everybody.

Any member may run it, for an operator (`promote`) or for itself when it restarts as master. It asks twice:
first without obligation, so that a promotion that cannot succeed disturbs nobody; then for promises, each of
which ends the old reign at that member. Should this process die in between, the group has no master, and the
next attempt begins with a higher epoch.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import TypeVar

from engine.broker.failover.election import Election, Vote, elect, resume
from engine.broker.failover.front_loss import FrontLoss, front_loss
from engine.broker.failover.group_state import GroupState, InSyncSet
from engine.broker.failover.members import Members, Self
from engine.errors import EngineError, Refused
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


class Promoter:
    def __init__(self, me: Self, members: Members, draw_reign: Callable[[], int]) -> None:
        self._me = me
        self._members = members
        self._draw_reign = draw_reign
        self._turn = asyncio.Lock()

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
                # Before a master that lives is made to stop its writes for it.
                loss = losses[wanted].with_count(counts)
                raise Refused(f"nothing was changed: {loss}")
            if await self._hand_over(state, statuses, wanted):
                statuses = await self._ask(state)
            return await self._run(state, statuses, decide, step=2 if is_unclean else 1)

    async def resume(self, current: Callable[[], GroupState]) -> PromotionAnswer | None:
        """For a master that restarted, or a member whose last promise came to nothing. None: a promotion that
        was under way gave this member its place meanwhile, and it must not ask for another."""
        me = self._me.member_id

        def decide(votes: Sequence[Vote]) -> Election:
            return resume(me, state.master_id == me, votes)

        async with self._turn:
            if self._me.status().role != "seeking":
                return None
            state = current()
            statuses = await self._ask(state)
            for status in statuses.values():
                master = _reigning(status, state)
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
        rehearsal = decide([vote_of(status) for status in statuses.values()])
        if rehearsal.winner is None:
            raise Refused(f"nothing was changed: {rehearsal.reason}")
        epoch = max(status.epoch for status in statuses.values()) + step
        if epoch > _MAX_EPOCH:
            raise Refused(f"epoch {epoch} is impossible")
        reign = self._draw_reign()
        promised = await self._collect(state, statuses, epoch, reign)
        outcome = decide([vote_of(status) for status in promised.values()])
        if outcome.winner is None:
            raise Refused(f"epoch {epoch} was promised and has no master: {outcome.reason}")
        return await self._enthrone(state, outcome, epoch, reign, promised)

    # -- asking ---------------------------------------------------------------------------------------------

    async def _ask(self, state: GroupState) -> dict[int, GroupStatus]:
        others = {member: self._members.status(at) for member, at in self._others(state).items()}
        return {self._me.member_id: self._me.status(), **await _answers(others)}

    async def _collect(
        self, state: GroupState, statuses: Mapping[int, GroupStatus], epoch: int, reign: int
    ) -> dict[int, GroupStatus]:
        """Promises of those that answered. This member promises first: if it cannot, nobody is disturbed."""
        own = await self._me.promise(epoch, reign)
        others = {
            member: self._members.promise(address, epoch, reign)
            for member, address in self._others(state).items()
            if member in statuses
        }
        return {self._me.member_id: own, **await _answers(others)}

    async def _count(self, state: GroupState, losses: Mapping[int, FrontLoss]) -> dict[int, int]:
        """How many messages each of these losses is, as far as who has them can say."""
        asked: dict[int, Awaitable[int | None]] = {}
        for member, loss in losses.items():
            if loss.holder == self._me.member_id:
                asked[member] = self._me.count_messages(loss.begin, loss.end)
            elif loss.holder is not None and (address := state.members.get(loss.holder)):
                asked[member] = self._members.count_messages(address, loss.begin, loss.end)
        counts = await _answers(asked)
        return {member: count for member, count in counts.items() if count is not None}

    async def _hand_over(
        self, state: GroupState, statuses: Mapping[int, GroupStatus], wanted: int | None
    ) -> bool:
        """A live master lets the wanted member catch up first; without it the longest log would win again.
        Whether there was one to ask."""
        master = state.master_id
        if wanted is None or master is None or wanted == master or master not in statuses:
            return False
        await self._members.hand_over(state.members[master], state.epoch, wanted)
        return True

    async def _enthrone(
        self, state: GroupState, outcome: Election, epoch: int, reign: int, promised: Collection[int]
    ) -> PromotionAnswer:
        """Whoever did not promise is not waited for either: it finds the new master by itself."""
        winner = outcome.winner
        assert winner is not None
        address = state.members[winner]
        if winner == self._me.member_id:
            await self._me.crown(epoch, reign)
        else:
            await self._members.crown(address, epoch, reign)
        others = {
            member: self._members.follow(at, epoch, reign, winner, address)
            for member, at in self._others(state).items()
            if member != winner and member in promised
        }
        told = await _answers(others)
        if winner != self._me.member_id:
            await self._me.follow(epoch, reign, winner, address)
        silent = tuple(sorted(set(state.members) - {self._me.member_id, winner} - set(told)))
        log.warning("member %d at %s is master of epoch %d", winner, address, epoch)
        return PromotionAnswer(epoch, winner, address, outcome.reason or None, silent)

    def _others(self, state: GroupState) -> dict[int, str]:
        return {member: at for member, at in state.members.items() if member != self._me.member_id}


def _front_losses(statuses: Mapping[int, GroupStatus]) -> dict[int, FrontLoss]:
    """By member: what would be lost at the front of the log if it were master."""
    votes = [vote_of(status) for status in statuses.values()]
    losses = {vote.member_id: front_loss(vote, votes, vote.members) for vote in votes}
    return {member: loss for member, loss in losses.items() if loss is not None}


def _reigning(status: GroupStatus, state: GroupState) -> int | None:
    """Whom this member shall follow by what another one says: the master of a higher epoch, or of the very
    reign that it promised without being told the outcome."""
    if status.epoch > state.epoch:
        return status.master_id
    is_outcome = (status.epoch, status.reign) == (state.epoch, state.reign) and status.role == "master"
    return status.member_id if is_outcome and state.master_id is None else None


def vote_of(status: GroupStatus) -> Vote:
    told = status.in_sync
    in_sync = InSyncSet(told.epoch, told.version, tuple(told.ids), told.min_in_sync, tuple(told.settled))
    return Vote(
        member_id=status.member_id,
        log_epoch=status.log_epoch,
        log_end=status.log_end,
        log_start=status.log_start,
        copied_from=status.copied_from,
        whole_at=status.whole_at,
        confirmed_offset=status.confirmed_offset,
        in_sync=in_sync,
        members=frozenset(map(int, status.members)),
        start_offset=status.start_offset,
        unexpired_from=status.unexpired_from,
        missing_from=status.missing_from,
    )


async def _answers(asked: Mapping[int, Awaitable[_T]]) -> dict[int, _T]:
    """Of those that did as asked."""
    results = await asyncio.gather(*asked.values(), return_exceptions=True)
    answers: dict[int, _T] = {}
    for member, result in zip(asked, results, strict=True):
        if isinstance(result, EngineError | OSError):
            log.info("member %d did not answer: %s", member, result)
        elif isinstance(result, BaseException):
            raise result
        else:
            answers[member] = result
    return answers
