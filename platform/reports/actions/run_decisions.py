"""What becomes of a run when an attempt is over. Pure.

| how the attempt ended | the run |
|---|---|
| bad input (exit code 2), broken results, time or memory over | failed: another try would end the same |
| any other exit code | tried again while `retries` last, later each time; then failed |
| its worker ended in the middle of it | tried again, three times; then failed |
| its worker was told to stop | goes back to the queue as if it had not been tried |
| somebody asked for its end | cancelled |
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from reports.models import ReportRun

BAD_INPUT = 2
MOST_DEATHS = 3
FIRST_WAIT = timedelta(seconds=30)
State = ReportRun.State


@dataclass(frozen=True, slots=True)
class Verdict:
    state: str
    error: str = ""
    not_before: datetime | None = None
    """Of one that is queued again."""


def after_failure(
    code: int, reason: str, *, attempts: int, retries: int, is_cancelled: bool, now: datetime
) -> Verdict:
    """`attempts` with the one that failed."""
    if is_cancelled:
        return Verdict(State.CANCELLED)
    if code == BAD_INPUT or attempts > retries:
        return Verdict(State.FAILED, reason)
    return Verdict(
        State.QUEUED, f"attempt {attempts} failed: {reason}", now + FIRST_WAIT * 2 ** (attempts - 1)
    )


def after_death(deaths: int, *, is_cancelled: bool, now: datetime) -> Verdict:
    """`deaths` with this one."""
    if is_cancelled:
        return Verdict(State.CANCELLED)
    if deaths >= MOST_DEATHS:
        return Verdict(State.FAILED, f"its workers ended {deaths} times in the middle of it")
    return Verdict(State.QUEUED, "its worker ended in the middle of it: it begins again", now)
