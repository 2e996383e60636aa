"""Who may become master, decided from what the members answered. Pure: a controller may drive it as well.

A vote is given only after its member stored the new epoch, so a member that voted helps no older master any
more. Every acknowledged message lies on `minInSyncReplicas` members at least; so among `needed_promises` of
them is one that has it, and the longest log of the newest epoch has them all (docs/adr/0008, rules 7 and 8).
A member whose log lacks its front counts for nothing (docs/adr/0015).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from engine.broker.failover.front_loss import FrontLoss, front_loss
from engine.broker.failover.group_state import InSyncSet


@dataclass(frozen=True, slots=True)
class Vote:
    """What a member answered when it promised. Offsets are commit-log offsets."""

    member_id: int
    log_epoch: int
    log_end: int
    log_start: int
    copied_from: int
    """Where its copy began; 0 when it holds, or once held, the log from its beginning."""
    confirmed_offset: int
    in_sync: InSyncSet
    members: frozenset[int]
    """The group as this member knows it."""
    whole_at: int = 0
    """Where a log that began empty must have come to."""
    start_offset: int | None = None
    """Where the group's log starts by its master's decision, as this member heard."""
    unexpired_from: int | None = None
    """Where its oldest unexpired segment begins."""
    missing_from: int | None = None
    """Where its log should start, when it starts later."""

    @property
    def remembers(self) -> bool:
        """It has, or knows of, whatever it once acknowledged. One whose disk was emptied does not, until it
        has copied all that its master had."""
        return self.log_epoch > 0 and self.log_end >= self.whole_at


@dataclass(frozen=True, slots=True)
class Election:
    """`winner` is None when nobody may be chosen; `reason` then says why, else what may be lost."""

    winner: int | None
    reason: str = ""


def needed_promises(member_count: int, min_in_sync: int) -> int:
    return member_count - min(max(min_in_sync, 1), member_count) + 1


def elect(
    votes: Sequence[Vote],
    *,
    wanted: int | None = None,
    is_unclean: bool = False,
    lost_messages: Mapping[int, int] | None = None,
) -> Election:
    """The master of the promised epoch. `wanted` wins among equals; it never wins over a longer log.
    `lost_messages`: by member, how many messages it lacks at its front, where somebody has counted."""
    if not votes:
        return Election(None, "no member answered")
    newest, members = _newest(votes).in_sync, _newest(votes).members
    losses = {vote.member_id: front_loss(vote, votes, members) for vote in votes}
    best = _best(votes)
    if isinstance(best, Election):
        return best
    chosen = _chosen(votes, best, losses, wanted)
    if isinstance(chosen, Election):
        return chosen
    needed = needed_promises(len(members), newest.min_in_sync)
    counted = [vote for vote in votes if vote.remembers and losses[vote.member_id] is None]
    doubts: list[str] = []
    if (loss := losses[chosen]) is not None:
        doubts.append(str(loss.with_count(lost_messages or {})))
    if len(counted) < needed:
        doubts.append(_too_few(votes, counted, members, needed))
    if not any(vote.member_id in newest.ids for vote in best):
        doubts.append(_outside(best[0], newest))
    doubt = "; ".join(doubts)
    return Election(None if doubt and not is_unclean else chosen, doubt)


def _newest(votes: Sequence[Vote]) -> Vote:
    """The vote of who heard last from a master about the group."""
    return max(votes, key=lambda vote: (vote.in_sync.epoch, vote.in_sync.version))


def _best(votes: Sequence[Vote]) -> list[Vote] | Election:
    """Those with the longest log of the newest epoch; they must also have its beginning."""
    top = max((vote.log_epoch, vote.log_end) for vote in votes)
    best = sorted(
        (vote for vote in votes if (vote.log_epoch, vote.log_end) == top), key=lambda vote: vote.member_id
    )
    group_start = min(vote.log_start for vote in votes)
    whole = [vote for vote in best if vote.copied_from <= group_start]
    if not whole:
        ids = ", ".join(str(vote.member_id) for vote in best)
        return Election(
            None,
            f"member {ids} has the longest log but copied it only from offset {best[0].copied_from} on, "
            f"and the group's begins at {group_start}: it cannot become master",
        )
    return whole


def _chosen(
    votes: Sequence[Vote], best: list[Vote], losses: Mapping[int, FrontLoss | None], wanted: int | None
) -> int | Election:
    """Of the longest logs one that lacks nothing at its front, unless another is wanted."""
    ids = [vote.member_id for vote in best]
    if wanted is None:
        return next((member for member in ids if losses[member] is None), ids[0])
    if wanted in ids:
        return wanted
    vote = next((vote for vote in votes if vote.member_id == wanted), None)
    if vote is None:
        return Election(None, f"member {wanted} did not answer")
    return Election(
        None,
        f"member {wanted} ends at epoch {vote.log_epoch}, offset {vote.log_end}; member {ids[0]} at epoch "
        f"{best[0].log_epoch}, offset {best[0].log_end}, and only the longest log may win",
    )


def _too_few(votes: Sequence[Vote], counted: Sequence[Vote], members: Collection[int], needed: int) -> str:
    silent = ", ".join(str(member) for member in sorted(set(members) - {vote.member_id for vote in votes}))
    counting = {vote.member_id for vote in counted}
    empty = ", ".join(str(vote.member_id) for vote in votes if not vote.remembers)
    short = ", ".join(
        str(vote.member_id) for vote in votes if vote.remembers and vote.member_id not in counting
    )
    notes = f" (not member {empty}, whose store is new and not filled yet)" if empty else ""
    notes += f" (not member {short}, whose log lacks its front)" if short else ""
    return (
        f"{len(counted)} of {len(members)} members promised{notes} and {needed} are needed: "
        f"member {silent or empty or short} may hold acknowledged messages that nobody else has"
    )


def _outside(best: Vote, newest: InSyncSet) -> str:
    ids = ", ".join(map(str, newest.ids))
    return (
        f"member {best.member_id} is not in the newest in-sync set ({ids}): what that set acknowledged since "
        f"offset {best.log_end} may be lost"
    )


def resume(member_id: int, was_master: bool, votes: Sequence[Vote]) -> Election:
    """Who reigns when a member asks on its own, after a restart or a promotion that came to nothing: the
    master of the last epoch if nobody knows more, else whoever `elect` finds. Never with fewer votes than an
    acknowledgement needs: such a master could not take a write, and might disturb one that can."""
    own = next(vote for vote in votes if vote.member_id == member_id)
    needed = min(max(own.in_sync.min_in_sync, 1), len(own.members))
    # An emptied member has forgotten what it promised. One that never counted had nothing to promise.
    counted = [vote for vote in votes if vote.log_epoch or vote.member_id not in own.in_sync.settled]
    if len(counted) < needed:
        return Election(None, f"{len(counted)} members answered, {needed} are needed before it takes a write")
    if not was_master:
        return elect(votes)
    ahead = [vote for vote in votes if (vote.log_epoch, vote.log_end) > (own.log_epoch, own.log_end)]
    if not ahead and front_loss(own, votes, own.members) is None:
        return Election(member_id)
    found = elect(votes)
    if found.winner is not None or not ahead:
        return found
    return Election(
        None,
        f"its log ends at epoch {own.log_epoch}, offset {own.log_end}, that of member {ahead[0].member_id} "
        f"at epoch {ahead[0].log_epoch}, offset {ahead[0].log_end}: its own tail was lost; {found.reason}",
    )
