"""Search jobs: asking for one, calling it off, what of it somebody may see."""

from __future__ import annotations

import uuid
from dataclasses import asdict, astuple, dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from clusters.actions.messages import refuse_hidden
from clusters.actions.reading import Reader
from clusters.gateway.messages import find_stretches
from clusters.gateway.scanning import Wanted
from clusters.models import SearchHit, SearchJob
from console.core import audit
from console.core.events import publish
from console.core.models.people import Role
from console.core.problems import Problem, not_found
from console.core.standing import kept_grants
from console.core.waking import wake

RUN = "clusters.tasks.searches.run_search"
RUN_BY_SPARK = "reports.tasks.searches.start_search"
"""Not a task of this app: reports know clusters, not the other way."""
TOO_LONG = 10_000_000
"""More messages are Spark's to look through, which reads the brokers' files and costs them nothing."""
MOST_OPEN = 5
"""Of one person: each takes a worker's time."""


@dataclass(frozen=True, slots=True)
class SearchRequest:
    topics: tuple[str, ...]
    wanted: Wanted
    runner: str
    """Empty: by the number of messages."""
    max_scan: int
    """Of Spark there is none: it looks at everything in range."""
    max_hits: int
    keep_for: timedelta


@dataclass(frozen=True, slots=True)
class Estimate:
    messages: int
    cursor: list[list[Any]]
    runner: str

    def is_within(self, max_scan: int) -> bool:
        return self.runner == SearchJob.Runner.SPARK or self.messages <= max_scan


def estimate_search(reader: Reader, asked: SearchRequest) -> Estimate:
    """How many messages it would look through; also says what is wrong with it."""
    for topic in asked.topics:
        reader.require(Role.VIEWER, topic)
        refuse_hidden(reader.masks.of(topic), asked.wanted)
    to_ms = asked.wanted.to_ms if asked.wanted.to_ms < Wanted().to_ms else None
    stretches = find_stretches(reader.address, asked.topics, asked.wanted.from_ms, to_ms)
    cursor = [list(astuple(stretch)) for stretch in stretches if stretch.count]
    messages = sum(stretch.count for stretch in stretches)
    return Estimate(messages, cursor, asked.runner or runner_for(messages))


def runner_for(messages: int) -> str:
    return SearchJob.Runner.SPARK if messages > TOO_LONG else SearchJob.Runner.CELERY


def do_create_search(reader: Reader, asked: SearchRequest, *, now: datetime) -> SearchJob:
    estimate = estimate_search(reader, asked)
    is_sparks = estimate.runner == SearchJob.Runner.SPARK
    with transaction.atomic():
        _refuse_too_many(reader)
        job = SearchJob.objects.create(
            cluster=reader.cluster,
            owner_id=reader.user_id,
            created_by=reader.actor.name,
            runner=estimate.runner,
            grants=kept_grants(reader.grants),
            topics=list(asked.topics),
            query=asdict(asked.wanted),
            cursor=None if is_sparks else estimate.cursor,
            estimate=estimate.messages,
            max_scan=max(asked.max_scan, estimate.messages) if is_sparks else asked.max_scan,
            max_hits=asked.max_hits,
            created_at=now,
            expires_at=now + asked.keep_for,
        )
        searched = [name for name, value in asdict(asked.wanted).items() if value is not None]
        audit.record(
            reader.actor,
            "search.create",
            cluster=reader.cluster.name,
            target=",".join(asked.topics),
            details={"job": str(job.pk), "searches_in": searched, "estimate": str(estimate.messages)},
            now=now,
        )
        wake(RUN_BY_SPARK if is_sparks else RUN, id=str(job.pk))
        tell(job)
    return job


def _refuse_too_many(reader: Reader) -> None:
    mine = SearchJob.objects.filter(owner_id=reader.user_id, state__in=SearchJob.OPEN)
    if mine.count() >= MOST_OPEN:
        raise Problem("too_many", f"{MOST_OPEN} of your searches are under way: wait or cancel one", 409)


def do_cancel_search(reader: Reader, job: SearchJob, *, now: datetime) -> SearchJob:
    with transaction.atomic():
        changed = SearchJob.objects.filter(pk=job.pk, state__in=SearchJob.OPEN).update(
            state=SearchJob.State.CANCELLED, finished_at=now
        )
        if not changed:
            raise Problem("not_open", f"the search is {job.state} already", 409)
        audit.record(
            reader.actor,
            "search.cancel",
            cluster=reader.cluster.name,
            target=",".join(job.topics),
            details={"job": str(job.pk)},
            now=now,
        )
        job.refresh_from_db()
        tell(job)
    return job


def do_continue_search(
    reader: Reader, job: SearchJob, more_scan: int, more_hits: int, *, now: datetime
) -> SearchJob:
    """From its cursor on, with so much more to look at and to find."""
    _require_readable(reader, job)
    with transaction.atomic():
        _refuse_too_many(reader)
        changed = SearchJob.objects.filter(
            pk=job.pk, state=job.state, scanned=job.scanned, fence=job.fence, cursor__isnull=False
        )
        if job.state in SearchJob.OPEN or not job.cursor:
            raise Problem("not_open", "nothing of this search is left to look at, or it is under way", 409)
        if not changed.update(
            state=SearchJob.State.QUEUED,
            stopped="",
            finished_at=None,
            error="",
            attempts=0,
            max_scan=job.scanned + more_scan,
            max_hits=job.found + more_hits,
        ):
            raise Problem("changed", "the search changed meanwhile: look at it again", 409)
        audit.record(
            reader.actor,
            "search.continue",
            cluster=reader.cluster.name,
            target=",".join(job.topics),
            details={"job": str(job.pk), "scanned": str(job.scanned), "found": job.found},
            now=now,
        )
        job.refresh_from_db()
        wake(RUN, id=str(job.pk))
        tell(job)
    return job


def do_delete_search(reader: Reader, job: SearchJob, *, now: datetime) -> None:
    with transaction.atomic():
        audit.record(
            reader.actor,
            "search.delete",
            cluster=reader.cluster.name,
            target=",".join(job.topics),
            details={"job": str(job.pk), "found": job.found},
            now=now,
        )
        job.delete()


def do_expire_searches(*, now: datetime) -> int:
    """Result sets whose days are over."""
    return SearchJob.objects.filter(expires_at__lt=now).delete()[0]


def visible_searches(reader: Reader) -> QuerySet[SearchJob]:
    """One's own; all of the cluster's for its administrators."""
    rows = SearchJob.objects.filter(cluster=reader.cluster)
    if reader.grants.may(Role.ADMIN, reader.cluster.name):
        return rows
    return rows.filter(owner_id=reader.user_id)


def get_search(reader: Reader, job_id: uuid.UUID) -> SearchJob:
    job = visible_searches(reader).filter(pk=job_id).first()
    if job is None:
        raise not_found("search", str(job_id))
    return job


def hits_for(reader: Reader, job: SearchJob) -> QuerySet[SearchHit]:
    """What was found, as far as its reader could have searched for it themselves, today."""
    _require_readable(reader, job)
    return job.hits.all()


def _require_readable(reader: Reader, job: SearchJob) -> None:
    wanted = Wanted(**job.query)
    for topic in job.topics:
        reader.require(Role.VIEWER, topic)
        refuse_hidden(reader.masks.of(topic), wanted)


def tell(job: SearchJob) -> None:
    publish(
        f"jobs/{job.cluster.name}",
        {
            "kind": "search",
            "id": str(job.pk),
            "state": str(job.state),
            "stopped": job.stopped,
            "scanned": str(job.scanned),
            "estimate": None if job.estimate is None else str(job.estimate),
            "found": job.found,
        },
    )
