"""Who may become master, decided from the members' answers. Pure: a controller may call it as well.

A member votes only after it has stored the new epoch, so it acknowledges nothing for an older master.
Every acknowledged message is on `minInSyncReplicas` members at least; so one of any `needed_promises`
members has it, and the longest log of the newest epoch has them all (docs/adr/0008, rules 7 and 8).

A member whose log lacks unexpired messages at its front does not count (docs/adr/0015). A log may start
later than another's because it expired more, which loses nothing, or because segments are missing. What
decides is the start that the group's master decided last and where each member's oldest unexpired segment
begins. Members of the first release do not send the latter: what they hold is unknown, and no member is
refused for it.

A member that has followed only a plain master (RocketMQ's own stream) has no epoch, no members and no
in-sync set, so there is no election. It may take over when an operator says --unclean and the old master
is gone, because that master cannot learn that it was replaced.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from engine.broker.failover.group_state import InSyncSet
from engine.protocol.bodies.brokers import GroupStatus

TAKEOVER_EPOCH = 2
"""Higher than that of a group that another broker creates meanwhile with the same name."""

Vote = GroupStatus
"""What a member answered when it promised. Offsets are commit-log offsets."""


@dataclass(frozen=True, slots=True)
class FrontLoss:
    """The commit log from `begin` to `end` is not in this member's log and has not expired."""

    member_id: int
    begin: int
    end: int
    holder: int | None
    """The member that has it; None: perhaps one of `silent`, which did not answer."""
    silent: tuple[int, ...] = ()
    messages: int | None = None
    """How many messages that is, where it was counted."""

    def with_count(self, counts: Mapping[int, int]) -> FrontLoss:
        """`counts`: by member, how many messages it lacks."""
        return replace(self, messages=counts.get(self.member_id))

    def __str__(self) -> str:
        counted = "" if self.messages is None else f" ({self.messages} messages)"
        who = f"member {self.holder} has them"
        if self.holder is None:
            who = f"member {', '.join(map(str, self.silent))} did not answer and may have them"
        return (
            f"member {self.member_id} lacks {self.end - self.begin} bytes{counted} at the front of the log: "
            f"it starts at offset {self.end}, those from offset {self.begin} on have not expired, and {who}"
        )


def front_loss(member: Vote, votes: Sequence[Vote], members: Collection[int]) -> FrontLoss | None:
    """None: what it lacks has expired, or no other member has it either."""
    decided = decided_start(votes)
    found: FrontLoss | None = None
    for other in votes:
        if other.member_id == member.member_id or other.unexpired_from is None:
            continue
        begin, end = max(other.unexpired_from, decided), min(member.log_start, other.log_end)
        if begin < end and (found is None or begin < found.begin):
            found = FrontLoss(member.member_id, begin, member.log_start, other.member_id)
    silent = tuple(sorted(set(members) - {vote.member_id for vote in votes}))
    if found is None and silent and member.missing_from is not None:
        begin = max(member.missing_from, decided)
        if begin < member.log_start:
            found = FrontLoss(member.member_id, begin, member.log_start, None, silent)
    return found


def decided_start(votes: Sequence[Vote]) -> int:
    """The start of the newest term that a member knows of: within a term it only rises."""
    known = [(vote.log_epoch, vote.start_offset) for vote in votes if vote.start_offset is not None]
    return max(known)[1] if known else 0


def is_complete(vote: Vote) -> bool:
    """Whether it has, or knows of, what it once acknowledged. A member whose disk was emptied does not, until
    it has copied all that its master had."""
    return vote.log_epoch > 0 and vote.log_end >= vote.whole_at


def member_ids(vote: Vote) -> frozenset[int]:
    """The group as this member knows it."""
    return frozenset(map(int, vote.members))


@dataclass(frozen=True, slots=True)
class Election:
    """`winner` is None when no member may be chosen; `reason` then says why, else what may be lost."""

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
    `lost_messages`: by member, how many messages it lacks at its front, where it was counted."""
    if not votes:
        return Election(None, "no member answered")
    latest = max(votes, key=lambda vote: (vote.in_sync.epoch, vote.in_sync.version))
    newest, members = latest.in_sync, member_ids(latest)
    losses = {vote.member_id: front_loss(vote, votes, members) for vote in votes}
    best = _best(votes)
    if isinstance(best, Election):
        return best
    chosen = _chosen(votes, best, losses, wanted)
    if isinstance(chosen, Election):
        return chosen
    needed = needed_promises(len(members), newest.min_in_sync)
    counted = [vote for vote in votes if is_complete(vote) and losses[vote.member_id] is None]
    doubts: list[str] = []
    if (loss := losses[chosen]) is not None:
        doubts.append(str(loss.with_count(lost_messages or {})))
    if len(counted) < needed:
        doubts.append(_too_few(votes, counted, members, needed))
    if not any(vote.member_id in newest.ids for vote in best):
        doubts.append(_outside(best[0], newest))
    doubt = "; ".join(doubts)
    return Election(None if doubt and not is_unclean else chosen, doubt)


def _best(votes: Sequence[Vote]) -> list[Vote] | Election:
    """Those with the longest log of the newest epoch; they must also have its beginning."""
    top = max((vote.log_epoch, vote.log_end) for vote in votes)
    best = [vote for vote in votes if (vote.log_epoch, vote.log_end) == top]
    best.sort(key=lambda vote: vote.member_id)
    group_start = min(vote.log_start for vote in votes)
    complete = [vote for vote in best if vote.copied_from <= group_start]
    if not complete:
        ids = ", ".join(str(vote.member_id) for vote in best)
        return Election(
            None,
            f"member {ids} has the longest log but copied it only from offset {best[0].copied_from} on, "
            f"and the group's begins at {group_start}: it cannot become master",
        )
    return complete


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
    empty = ", ".join(str(vote.member_id) for vote in votes if not is_complete(vote))
    short = ", ".join(
        str(vote.member_id) for vote in votes if is_complete(vote) and vote.member_id not in counting
    )
    notes = f" (not member {empty}, whose store is new and not filled yet)" if empty else ""
    notes += f" (not member {short}, whose log lacks its front)" if short else ""
    return (
        f"{len(counted)} of {len(members)} members promised{notes} and {needed} are needed: "
        f"member {silent or empty or short} may hold acknowledged messages that no other member has"
    )


def _outside(best: Vote, newest: InSyncSet) -> str:
    ids = ", ".join(map(str, newest.ids))
    return (
        f"member {best.member_id} is not in the newest in-sync set ({ids}): what that set acknowledged since "
        f"offset {best.log_end} may be lost"
    )


def resume(member_id: int, was_master: bool, votes: Sequence[Vote]) -> Election:
    """The master when a member asks without an operator, after a restart or a failed promotion: the master of
    the last epoch if no other log is ahead, else the winner of `elect`. Never with fewer votes than an
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
    if not ahead and front_loss(own, votes, member_ids(own)) is None:
        return Election(member_id)
    found = elect(votes)
    if found.winner is not None or not ahead:
        return found
    return Election(
        None,
        f"its log ends at epoch {own.log_epoch}, offset {own.log_end}, that of member {ahead[0].member_id} "
        f"at epoch {ahead[0].log_epoch}, offset {ahead[0].log_end}: its own tail was lost; {found.reason}",
    )


def takeover_refusal(*, log_end: int, is_linked: bool) -> str:
    """Why a takeover is impossible; empty where it is not."""
    if is_linked:
        return "its master is still there and cannot be told that it is replaced: stop it first"
    if log_end == 0:
        return "it has copied nothing from any master"
    return ""


def takeover_doubt(log_end: int, copied_from: int) -> str:
    """What may be lost."""
    before = f"the messages before offset {copied_from} were never copied; " if copied_from else ""
    return (
        "this member followed a master that promises nothing (RocketMQ's plain stream): "
        f"{before}what that master acknowledged behind offset {log_end} is not here; "
        "consumers may see again what they committed in the last seconds"
    )
