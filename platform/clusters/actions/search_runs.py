"""Running a search job: slices of a scan, each written with the cursor behind it in one transaction.

A worker holds the job's lease. Killed, it costs the slice that it was in; another goes on from the cursor.
The search sees what its owner may see: masked messages are passed over, whatever they hold.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import astuple
from datetime import UTC, datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet

from clusters.actions.messages import hides
from clusters.actions.searches import tell
from clusters.gateway.addressing import address_of
from clusters.gateway.messages import scan_stretches
from clusters.gateway.scanning import Budget, Scanned, Stretch, Wanted
from clusters.gateway.stored import StoredMessage
from clusters.models import SearchHit, SearchJob
from clusters.selectors.masking import Masks
from console.core.job_leases import LeaseLost, release, take, takeable, write
from console.core.problems import Problem
from console.core.standing import standing_of

SLICE_MESSAGES = 5_000
SLICE_S = 3.0
TURN = timedelta(seconds=20)
"""How long a worker stays with one job before others get their turn."""
MOST_FAILURES = 5

Clock = Callable[[], datetime]


def open_searches(now: datetime) -> list[uuid.UUID]:
    """Jobs that nobody has."""
    rows = takeable(_ours(), SearchJob.OPEN, now)
    return list(rows.order_by("created_at").values_list("pk", flat=True))


def _ours() -> QuerySet[SearchJob]:
    """Those of Spark are begun and ended by reports."""
    rows = SearchJob.objects.filter(runner=SearchJob.Runner.CELERY)
    return rows.select_related("cluster", "owner")


def do_run_search(job_id: uuid.UUID, *, worker: str, clock: Clock) -> bool:
    """For a turn. Whether there is more to do."""
    until = clock() + TURN
    job = take(_ours(), job_id, SearchJob.OPEN, worker, clock())
    if job is None:
        return False
    try:
        if job.state == SearchJob.State.QUEUED:
            write(job, SearchJob.OPEN, clock(), state=SearchJob.State.RUNNING, started_at=clock())
            tell(job)
        while job.state == SearchJob.State.RUNNING and clock() < until:
            if not _slice(job, clock):
                return False
        return job.state == SearchJob.State.RUNNING
    except LeaseLost:
        return False
    finally:
        release(job)


def _slice(job: SearchJob, clock: Clock) -> bool:
    """Whether to go on at once."""
    wanted = Wanted(**job.query)
    masks = Masks(job.cluster.name, standing_of(job.owner, job.grants))

    def is_hidden(message: StoredMessage) -> bool:
        return hides(masks.of(*message.topics), wanted)

    budget = Budget(
        max(0, job.max_hits - job.found), min(SLICE_MESSAGES, job.max_scan - job.scanned), SLICE_S
    )
    try:
        stretches = [Stretch(*place) for place in job.cursor or []]
        scanned = scan_stretches(address_of(job.cluster), stretches, wanted, budget, is_hidden=is_hidden)
    except Problem as problem:
        return _failed(job, problem.detail, clock())
    if scanned.problems and not scanned.scanned:
        return _failed(job, "; ".join(scanned.problems), clock())
    _keep(job, scanned, clock())
    return True


def _keep(job: SearchJob, scanned: Scanned, now: datetime) -> None:
    ends = ending(
        scanned.left,
        job.scanned + scanned.scanned,
        job.max_scan,
        job.found + len(scanned.found),
        job.max_hits,
    )
    done = {"state": SearchJob.State.DONE, "stopped": ends, "finished_at": now} if ends else {}
    notes = list(job.problems)
    if scanned.withheld and not any("masked" in note for note in notes):
        notes.append("messages of topics that are masked for its owner were not searched")
    with transaction.atomic():
        write(
            job,
            SearchJob.OPEN,
            now,
            cursor=[list(astuple(stretch)) for stretch in scanned.left],
            scanned=job.scanned + scanned.scanned,
            found=job.found + len(scanned.found),
            problems=notes,
            attempts=0,
            error="",
            **done,
        )
        SearchHit.objects.bulk_create([_hit(job, message) for message in scanned.found])
        tell(job)


def ending(left: list[Stretch], scanned: int, max_scan: int, found: int, max_hits: int) -> str:
    """Why it is over; empty: it is not."""
    if not left:
        return "end"
    if found >= max_hits:
        return "max_hits"
    return "max_scan" if scanned >= max_scan else ""


def _failed(job: SearchJob, reason: str, now: datetime) -> bool:
    """Beat tries again; a job that cannot get on at all ends, and says so."""
    ended = {"state": SearchJob.State.FAILED, "finished_at": now} if job.attempts + 1 >= MOST_FAILURES else {}
    with transaction.atomic():
        write(job, SearchJob.OPEN, now, attempts=job.attempts + 1, error=reason[:1000], **ended)
        tell(job)
    return False


def _hit(job: SearchJob, message: StoredMessage) -> SearchHit:
    return SearchHit(
        job=job,
        topic=message.topic,
        broker=message.broker,
        queue=message.queue,
        queue_offset=message.queue_offset,
        offset_id=message.offset_id,
        msg_id=message.msg_id[:255],
        stored_at=datetime.fromtimestamp(message.stored_ms / 1000, UTC),
        body_bytes=len(message.body or b""),
    )
