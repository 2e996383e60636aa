"""Search jobs that Spark runs: a run of the report `search` for each, and its hits back into the job.

The job belongs to clusters, which wakes this by name. Its hits are written by the host that has the run's
files, in one transaction with the job's end. As with the other runner, messages that masks hide from the
job's owner are passed over, whatever they hold; what the console looked for never reaches a log.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from django.db import transaction

from clusters.actions.messages import hides
from clusters.gateway.scanning import Wanted
from clusters.models import SearchHit, SearchJob
from clusters.selectors.masking import Masks
from console.core.actors import Actor
from console.core.events import publish
from console.core.job_leases import LeaseLost, release, take, write
from console.core.problems import Problem
from console.core.standing import standing_of
from console.core.waking import host_queue, wake
from reports.actions.bringing import table_files
from reports.actions.runs import Origin, RunWish, do_start_run
from reports.models import ReportRun
from reports.selectors import tables

START = "reports.tasks.searches.start_search"
FINISH = "reports.tasks.searches.finish_search"
HITS = "hits"
_END = (1 << 63) - 1
State = SearchJob.State


def open_searches() -> Any:
    rows = SearchJob.objects.filter(runner=SearchJob.Runner.SPARK, state__in=SearchJob.OPEN)
    return rows.select_related("cluster", "owner").order_by("created_at")


def do_follow_searches(*, now: datetime) -> None:
    """By beat: those that were not begun, those whose run has ended, how far the others are."""
    runs = {run.search_id: run for run in ReportRun.objects.filter(search__in=open_searches())}
    for job in open_searches():
        run = runs.get(job.pk)
        if run is None:
            do_start_search(job.pk, now=now)
        else:
            _follow(job, run, now)


def _follow(job: SearchJob, run: ReportRun, now: datetime) -> None:
    if run.state in ReportRun.OPEN:
        rows = run.progress.get("rows")
        if rows is not None and int(rows) != job.scanned:
            _change(job, scanned=int(rows))
    elif run.state == ReportRun.State.DONE and run.host is not None:
        wake(FINISH, queue=host_queue(run.host.name), id=str(job.pk))
    elif run.state == ReportRun.State.CANCELLED:
        _change(job, state=State.CANCELLED, finished_at=now)
    else:
        _change(job, state=State.FAILED, finished_at=now, error=run.error[:1000])


def do_start_search(job_id: uuid.UUID, *, now: datetime) -> ReportRun | None:
    """None: it is begun already, or over, or was refused."""
    job = open_searches().filter(pk=job_id).first()
    if job is None or ReportRun.objects.filter(search=job).exists():
        return None
    actor = Actor(job.created_by, user_id=job.owner_id)
    try:
        with transaction.atomic():
            run = do_start_run(job.cluster, wish_of(job), actor=actor, now=now, origin=Origin(search=job))
            _change(job, state=State.RUNNING, started_at=now)
    except Problem as problem:
        _change(job, state=State.FAILED, finished_at=now, error=problem.detail)
        return None
    if run.state == ReportRun.State.FAILED:
        _follow(job, run, now)
    return run


def wish_of(job: SearchJob) -> RunWish:
    query = job.query
    options: dict[str, Any] = {"topic": job.topics, "max_hits": job.max_hits}
    options |= {name: query[name] for name in ("key", "tag", "sql", "body") if query.get(name) is not None}
    if query.get("property_name") is not None:
        value = query.get("property_value")
        options["property"] = query["property_name"] + ("" if value is None else f"={value}")
    keep_days = max(1, (job.expires_at - job.created_at).days)
    times = {"begin": _moment(query["from_ms"], 0), "end": _moment(query["to_ms"], _END)}
    return RunWish("search", options, keep_days=keep_days, **times)


def _moment(ms: int, open_end: int) -> datetime | None:
    return None if ms == open_end else datetime.fromtimestamp(ms / 1000, UTC)


def _change(job: SearchJob, **changes: Any) -> None:
    with transaction.atomic():
        if SearchJob.objects.filter(pk=job.pk, state__in=SearchJob.OPEN).update(**changes):
            for name, value in changes.items():
                setattr(job, name, value)
            _tell(job)


def _tell(job: SearchJob) -> None:
    publish(f"jobs/{job.cluster.name}", {"kind": "search", "id": str(job.pk), "state": str(job.state)})


# -- on the run's host --------------------------------------------------------------------------------------


def do_finish_search(job_id: uuid.UUID, *, worker: str, now: datetime) -> bool:
    """Whether this worker did."""
    run = ReportRun.objects.select_related("host").filter(search_id=job_id, state="done").first()
    job = run and take(open_searches(), job_id, SearchJob.OPEN, worker, now)
    if run is None or job is None:
        return False
    try:
        hits, is_cut, withheld = _hits(job, run)
        notes = [f"{name} was not read: no single host has all stores" for name in run.left_out]
        notes += ["messages of topics that are masked for its owner were not searched"] if withheld else []
        with transaction.atomic():
            write(
                job,
                SearchJob.OPEN,
                now,
                state=State.DONE,
                stopped="max_hits" if is_cut or stopped_early(run) else "end",
                scanned=scanned_by(run, job.scanned),
                found=len(hits),
                problems=notes,
                finished_at=now,
            )
            SearchHit.objects.bulk_create(hits, batch_size=500)
            _tell(job)
    except LeaseLost:
        return False
    except Problem as problem:
        _change(job, state=State.FAILED, finished_at=now, error=problem.detail)
    finally:
        release(job)
    return True


def _hits(job: SearchJob, run: ReportRun) -> tuple[list[SearchHit], bool, int]:
    """What its owner may find; whether there was more; how many were passed over."""
    masks, wanted = Masks(job.cluster.name, standing_of(job.owner, job.grants)), Wanted(**job.query)
    found: list[SearchHit] = []
    withheld = 0
    for row in _rows(table_files(run, HITS)):
        topics = dict.fromkeys((row["topic"], row["origin_topic"] or row["topic"]))
        if hides(masks.of(*topics), wanted):
            withheld += 1
        elif len(found) >= job.max_hits:
            return found, True, withheld
        else:
            found.append(_hit(job, row))
    return found, False, withheld


def _rows(files: list[Any]) -> Iterator[dict[str, Any]]:
    for batch in tables.batches(files):
        yield from batch.to_pylist()


def _hit(job: SearchJob, row: dict[str, Any]) -> SearchHit:
    return SearchHit(
        job=job,
        topic=row["topic"],
        broker=row["broker"],
        queue=row["queue_id"],
        queue_offset=row["queue_offset"],
        offset_id=row["offset_id"],
        msg_id=(row["msg_id"] or row["offset_id"])[:255],
        stored_at=row["store_time"].replace(tzinfo=UTC),
        body_bytes=row["body_size"],
    )


def stopped_early(run: ReportRun) -> bool:
    """There was more to find than was asked for, as the job says: of what it found, masks may hide some."""
    return bool(_figures(run).get("stopped") == "max_hits")


def scanned_by(run: ReportRun, known: int) -> int:
    said = _figures(run).get("messages")
    return int(said) if isinstance(said, str) and said.isdigit() else known


def _figures(run: ReportRun) -> dict[str, Any]:
    figures = (run.summary or {}).get("figures")
    return figures if isinstance(figures, dict) else {}
