"""What a group would lose at the front of its log if this or that member were master. Pure.

A member's log may start later than another's: because it expired more, which loses nothing, or because
segments are missing. Between the two decide the start that the group's master decided last and, for each
member that answered, where its oldest unexpired segment begins (docs/adr/0015). Members of the first release
do not say the latter: what they hold is unknown, and nobody is refused for it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol


class LogStart(Protocol):
    """What a member said of the front of its log. Offsets are commit-log offsets."""

    @property
    def member_id(self) -> int: ...

    @property
    def log_epoch(self) -> int: ...

    @property
    def log_start(self) -> int: ...

    @property
    def log_end(self) -> int: ...

    @property
    def start_offset(self) -> int | None: ...

    @property
    def unexpired_from(self) -> int | None: ...

    @property
    def missing_from(self) -> int | None: ...


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


def front_loss(member: LogStart, votes: Sequence[LogStart], members: Collection[int]) -> FrontLoss | None:
    """None: whatever it lacks has expired, or nobody else has it either."""
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


def decided_start(votes: Sequence[LogStart]) -> int:
    """Of the newest reign that anybody heard of: within it the start only rises."""
    known = [(vote.log_epoch, vote.start_offset) for vote in votes if vote.start_offset is not None]
    return max(known)[1] if known else 0
