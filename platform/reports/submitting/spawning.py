"""Starting the Spark of one run, from its row: its words are built here, of values that are checked again."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings

from clusters.models import Host
from console.core.problems import Problem
from console.data_root import REPOSITORY
from reports.models import ReportRun
from reports.selectors.catalogue import find_report
from reports.submitting.availability import spark_submit
from reports.submitting.commands import Submission, command_of, environment_of
from reports.submitting.folders import ReportFolders
from reports.submitting.processes import SparkProcess
from reports.submitting.stores import StoreRefused, store_words
from reports.submitting.teams import write_teams


class Refused(Exception):
    """Why this run cannot be started here, in a sentence."""


def spawn(
    run: ReportRun, host: Host, folders: ReportFolders, folder: Path, lock: int, token: str
) -> tuple[SparkProcess, int]:
    """The process, and the megabytes of its heap."""
    wanted = submission_of(run, host, folders, folder)
    environment = environment_of(
        os.environ, master=wanted.master, python=sys.executable, sources=[REPOSITORY]
    )
    log = folders.log(run.pk)
    with log.open("a") as file:
        stores = ", ".join(wanted.stores)
        file.write(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} attempt {run.attempts} on {host.name}: {stores}\n")
    process = SparkProcess(
        command_of(wanted),
        environment,
        log=log,
        pid_file=folders.pid(run.pk),
        token=token,
        fence=run.fence,
        niceness=settings.SPARK_NICE,
        lock=lock,
    )
    return process, wanted.heap_mb


def submission_of(run: ReportRun, host: Host, folders: ReportFolders, folder: Path) -> Submission:
    script = spark_submit()
    assert script is not None, "asked after availability.missing said that it is there"
    try:
        report = find_report(run.report)
        words = report.words(run.options)
        if run.report == "usage":
            words += write_teams(run.cluster, folder)
        stores = store_words(run.cluster, run.stores, host, settings.REPORT_STORES)
    except (Problem, StoreRefused) as refusal:
        raise Refused(str(refusal)) from None
    return Submission(
        spark_submit=script,
        job=settings.REPORT_JOBS / report.job,
        master=settings.SPARK_MASTER,
        memory_mb=settings.SPARK_MEMORY_MB,
        cluster=run.cluster.name,
        stores=tuple(stores),
        begin=run.begin,
        end=run.end,
        time_zone=run.time_zone,
        run_id=str(run.pk),
        output=folder / "output",
        progress=folders.progress(run.pk),
        temporary=folder / "temporary",
        arguments=tuple(words),
    )
