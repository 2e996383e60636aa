"""Who works on a job: a lease and a fence in its row, as steps have. For searches, redrives and report runs.

Whoever raises `fence` while the lease is over has the job; every later write about it names that fence and
the states in which it may be worked on. A write that changes no row means: the job is another worker's, or it
is to be left alone. Stop.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.db.models import Model, Q, QuerySet

LEASE = timedelta(seconds=15)
M = TypeVar("M", bound=Model)


class LeaseLost(Exception):
    """Do nothing more."""


def takeable(rows: QuerySet[M], states: tuple[str, ...], now: datetime) -> QuerySet[M]:
    return rows.filter(Q(lease_until=None) | Q(lease_until__lt=now), state__in=states)


def take(rows: QuerySet[M], pk: Any, states: tuple[str, ...], worker: str, now: datetime) -> M | None:
    """The job as it is now, or None: somebody has it, or it is not to be done."""
    row: Any = takeable(rows, states, now).filter(pk=pk).first()
    if row is None:
        return None
    fence = row.fence + 1
    taken = takeable(rows, states, now).filter(pk=pk, fence=row.fence)
    if not taken.update(fence=fence, lease_until=now + LEASE, worker=worker[:128]):
        return None
    row.refresh_from_db()
    return row if row.fence == fence else None  # type: ignore[no-any-return]


def write(job: Any, states: tuple[str, ...], now: datetime, **changes: Any) -> None:
    """Change the row and keep the lease. Raises LeaseLost."""
    mine = type(job).objects.filter(pk=job.pk, fence=job.fence, state__in=states)
    if not mine.update(lease_until=now + LEASE, **changes):
        raise LeaseLost
    for name, value in changes.items():
        setattr(job, name, value)


def release(job: Any) -> None:
    """Let others have it at once; nothing, if it is no longer ours."""
    type(job).objects.filter(pk=job.pk, fence=job.fence).update(lease_until=None)
