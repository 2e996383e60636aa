"""A worker's turn: takes a run of its host, starts Spark, follows it to its end, says what became of it.

Every write names the fence, so a worker that was taken for dead changes nothing: its next write finds no row,
it ends its Spark and goes. Results are moved into place before the row says that they are there.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import DatabaseError, IntegrityError, connections, transaction
from django.db.models import Q

from clusters.models import Host
from console.core.job_leases import LEASE, LeaseLost, release, take, takeable, write
from reports.actions.run_decisions import BAD_INPUT, Verdict, after_failure
from reports.actions.telling import tell
from reports.models import ReportRun, SparkHost
from reports.submitting import availability, logs, results
from reports.submitting.folders import ReportFolders, folders_of
from reports.submitting.processes import HostBusy, SparkProcess, end_leftovers, only_one
from reports.submitting.progress import ProgressFile
from reports.submitting.spawning import Refused, spawn

log = logging.getLogger(__name__)

LOOK_S = 0.25
WRITE_S = 1.0
MEASURE_S = 2.0
AGAIN = timedelta(seconds=10)
"""When another Spark of the host has not ended."""
RUNNING = (ReportRun.State.RUNNING,)
Clock = Callable[[], datetime]


class Stopped(Exception):
    """This worker is told to end: the run goes back."""


class Cancelled(Exception):
    """Somebody asked for the run's end."""


class Failed(Exception):
    def __init__(self, reason: str, code: int = BAD_INPUT) -> None:
        super().__init__(reason)
        self.code = code
        """Bad input: another try would end the same."""


def do_run_reports(host: Host, *, worker: str, clock: Clock, stop: threading.Event) -> int:
    """All that wait for this host, one after the other. How many were tried."""
    count = 0
    while not stop.is_set() and (run := take_run(host, worker, clock())) is not None:
        _Turn(run, host, clock, stop).run()
        count += 1
    return count


def take_run(host: Host, worker: str, now: datetime) -> ReportRun | None:
    """None: nothing waits, or a run of this host is under way."""
    if ReportRun.objects.filter(host=host, state=ReportRun.State.RUNNING).exists():
        return None
    mine, due = Q(host=host), Q(not_before=None) | Q(not_before__lte=now)
    if not SparkHost.objects.filter(host=host).exclude(missing="").exists():
        # One that any host could run is not taken by one that cannot.
        mine |= Q(host=None)
    queued = (ReportRun.State.QUEUED,)
    waiting = takeable(ReportRun.objects.filter(mine, due, cluster__deleted_at=None), queued, now)
    for pk in list(waiting.order_by("created_at").values_list("pk", flat=True)[:20]):
        rows = ReportRun.objects.select_related("cluster", "host", "search")
        run = take(rows, pk, queued, worker, now)
        if run is None:
            continue
        try:
            with transaction.atomic():
                began = {"state": ReportRun.State.RUNNING, "host": host, "started_at": now, "progress": {}}
                write(run, queued, now, attempts=run.attempts + 1, not_before=None, error="", **began)
                tell(run)
            return run
        except IntegrityError:
            # Another worker of this host was quicker with another run.
            release(run)
            return None
        except LeaseLost:
            continue
    return None


class _Turn:
    """One attempt of one run."""

    def __init__(self, run: ReportRun, host: Host, clock: Clock, stop: threading.Event) -> None:
        self.run_row, self.host, self.clock, self.stop = run, host, clock, stop
        self.folders: ReportFolders = folders_of(host.data_root)
        self.progress: dict[str, Any] = {}
        self.lease_until = clock() + LEASE

    def run(self) -> None:
        run = self.run_row
        try:
            done = self._attempt_cleanly()
            write(run, RUNNING, self.clock(), **done, state=ReportRun.State.DONE, finished_at=self.clock())
        except LeaseLost:
            log.warning("the run %s is somebody else's now", run.pk)
            return
        except Stopped:
            self._put_back("its worker was stopped")
        except HostBusy as busy:
            self._put_back(str(busy), self.clock() + AGAIN)
        except Cancelled:
            self._end(Verdict(ReportRun.State.CANCELLED))
        except Failed as failure:
            self._fail(str(failure), failure.code)
        except (Refused, results.ResultsBroken, OSError) as error:
            self._fail(str(error), BAD_INPUT)
        except Exception as error:
            # The border of runs: whatever nobody foresaw is the run's reason, and in the worker's log.
            log.exception("the run %s failed", run.pk)
            self._fail(f"{type(error).__name__}: {error}"[:1000], 1)
        finally:
            release(run)
        tell(run)

    # -- how it ends ----------------------------------------------------------------------------------------

    def _fail(self, reason: str, code: int) -> None:
        run = self.run_row
        try:
            is_cancelled = _is_called_off(run.pk)
        except LeaseLost:
            return
        now, tries = self.clock(), {"attempts": run.attempts, "retries": run.retries}
        self._end(after_failure(code, reason, **tries, is_cancelled=is_cancelled, now=now))

    def _end(self, verdict: Verdict) -> None:
        finished_at = None if verdict.state == ReportRun.State.QUEUED else self.clock()
        self._write(
            state=verdict.state,
            error=verdict.error,
            not_before=verdict.not_before,
            finished_at=finished_at,
            log_tail=logs.tail(self.folders.log(self.run_row.pk)),
        )

    def _put_back(self, why: str, not_before: datetime | None = None) -> None:
        """As if it had not been tried."""
        attempts = max(0, self.run_row.attempts - 1)
        self._write(state=ReportRun.State.QUEUED, attempts=attempts, error=why, not_before=not_before)

    def _write(self, **changes: Any) -> None:
        try:
            write(self.run_row, RUNNING, self.clock(), **changes)
        except LeaseLost:
            log.warning("how the run %s ended was not written: it is somebody else's", self.run_row.pk)

    # -- the attempt ----------------------------------------------------------------------------------------

    def _attempt_cleanly(self) -> dict[str, Any]:
        try:
            return self._attempt()
        finally:
            self.folders.drop_attempt(self.run_row.pk, self.run_row.fence)

    def _attempt(self) -> dict[str, Any]:
        run = self.run_row
        if said := availability.missing():
            raise Failed(f"{said} (host {self.host.name})")
        end_leftovers(self.folders.pid(run.pk))
        with only_one(self.folders.lock) as lock:
            folder = self.folders.make_attempt(run.pk, run.fence)
            process, heap_mb = spawn(run, self.host, self.folders, folder, lock, uuid.uuid4().hex)
            try:
                code = self._follow(process)
            finally:
                process.end()
        tail = logs.tail(self.folders.log(run.pk))
        if code != 0:
            raise Failed(logs.reason_of(tail, code, heap_mb), code)
        output = folder / "output"
        found = results.find_results(output, run.pk)
        summary = results.read_summary(output / found)
        tables = results.tables_of(output / found, summary)
        results.put_in_place(output, self.folders.results, found)
        return {"folder": found, "summary": summary, "tables": tables, "log_tail": tail}

    def _follow(self, process: SparkProcess) -> int:
        """Its exit code. Raises as soon as it has to be ended."""
        run = self.run_row
        progress, log_file = ProgressFile(self.folders.progress(run.pk)), self.folders.log(run.pk)
        began = time.monotonic()
        next_write, next_measure = began, began + MEASURE_S
        while (code := process.exit_code()) is None:
            if self.stop.wait(LOOK_S):
                raise Stopped
            now_s = time.monotonic()
            if now_s - began > run.timeout_s:
                raise Failed(f"it was ended because it took longer than {run.timeout_s} s")
            if now_s >= next_measure:
                next_measure = now_s + MEASURE_S
                self._measure(process)
                logs.keep_short(log_file)
            if now_s >= next_write:
                next_write = now_s + WRITE_S
                self._say(progress.newest())
        self._say(progress.newest())
        return code

    def _measure(self, process: SparkProcess) -> None:
        memory_mb = process.memory_mb()
        if memory_mb > settings.SPARK_MEMORY_MB:
            raise Failed(
                f"it was ended because it took {memory_mb} MB of memory, more than the "
                f"{settings.SPARK_MEMORY_MB} MB of SIGNALBOX_SPARK_MEMORY_MB"
            )
        self.progress["memory_mb"] = memory_mb

    def _say(self, news: dict[str, Any] | None) -> None:
        """Keeps the lease, tells what is new, and asks whether it is still wanted."""
        run = self.run_row
        self.progress |= news or {}
        try:
            write(run, RUNNING, self.clock(), progress=dict(self.progress))
            self.lease_until = self.clock() + LEASE
            if _is_called_off(run.pk):
                raise Cancelled
            if news:
                tell(run)
        except DatabaseError as error:
            # The next look tries again; when the lease is over, the run is somebody else's.
            log.warning("the run %s was not written: %s", run.pk, error)
            connections.close_all()
            if self.clock() > self.lease_until:
                raise LeaseLost from error


def _is_called_off(run_id: uuid.UUID) -> bool:
    """By somebody, or because the search job that it runs for is over or gone."""
    row = (
        ReportRun.objects.filter(pk=run_id).values_list("cancel_asked_at", "report", "search__state").first()
    )
    if row is None:
        raise LeaseLost
    asked_at, report, search_state = row
    return asked_at is not None or (report == "search" and search_state not in ("queued", "running"))
