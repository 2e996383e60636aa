"""When a redrive must stop, and what comes next. Pure.

A failure is a message that was refused, whose fate is not known, or that came back to the dead letters. The
share is of all that were tried, but never of fewer than the canary: one failure of the first two is not half.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clusters.models import RedriveOutcome

State = RedriveOutcome.State


@dataclass(frozen=True, slots=True)
class Tally:
    sent: int = 0
    refused: int = 0
    unsure: int = 0
    came_back: int = 0
    skipped: int = 0
    under_way: int = 0

    @classmethod
    def of(cls, counts: Mapping[str, int]) -> Tally:
        return cls(
            counts.get(State.SENT, 0),
            counts.get(State.REFUSED, 0),
            counts.get(State.UNSURE, 0),
            counts.get(State.CAME_BACK, 0),
            counts.get(State.SKIPPED, 0),
            counts.get(State.INTENT, 0),
        )

    @property
    def failures(self) -> int:
        return self.refused + self.unsure + self.came_back

    @property
    def tried(self) -> int:
        return self.sent + self.failures


def stop_reason(tally: Tally, *, canary: int, max_share: float) -> str:
    """Why it must not go on; empty: it may."""
    base = max(tally.tried, canary, 1)
    if tally.failures <= max_share * base:
        return ""
    return (
        f"{tally.failures} of {tally.tried} failed ({tally.refused} refused, {tally.unsure} unsure, "
        f"{tally.came_back} came back), more than {max_share:.0%} of {base}"
    )
