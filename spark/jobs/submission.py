"""A report from its command line to its exit code: the one border where errors become a line.

    0    done
    2    bad input: one line `error: …`, nothing written
    1    anything else: the log, then one line `error: …`
    130, 143    ended by a signal: nothing half-written stays

The line is the last thing that is said, behind whatever Spark says while it is stopped. (`spark-submit` folds
Python's standard error into its own standard output.) A job is a value: what it may be asked, and a function
from what was read to what is written.
"""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from engine.errors import EngineError
from spark.jobs.arguments import Asked, asked_of, common_parser
from spark.jobs.charts import text_of
from spark.jobs.logs import Logs
from spark.jobs.progress import Progress, watched
from spark.jobs.results import Keeper, ResultFolder
from spark.session import open_session, reason_of
from spark.transforms.trace_report import Keep

__all__ = ["Job", "Said", "Work", "submit"]

ROOT = Path(__file__).resolve().parents[2]
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
Opened = Callable[[str, Mapping[str, str]], contextlib.AbstractContextManager[SparkSession]]


@dataclass(frozen=True, slots=True)
class Work:
    """What a job has to do its work with."""

    session: SparkSession
    asked: Asked
    logs: Logs
    keep: Keep
    now: datetime


@dataclass(frozen=True, slots=True)
class Said:
    """What a job has made: its tables, and once they are written what the summary says of them."""

    tables: Mapping[str, DataFrame]
    sum_up: Callable[[Mapping[str, DataFrame], Mapping[str, int]], Mapping[str, Any]]
    """From the written tables and their numbers of rows: figures, charts, unknown and warnings."""


@dataclass(frozen=True, slots=True)
class Job:
    report: str
    file: str
    about: str
    examples: str
    tables: Mapping[str, Sequence[str]]
    """The report's tables, and the columns that each is sorted by; none: as it comes."""
    run: Callable[[Work], Said]
    add_options: Callable[[argparse.ArgumentParser], None] = field(default=lambda parser: None)
    check: Callable[[argparse.Namespace], None] = field(default=lambda options: None)
    """Raises BadInput for options that do not go together."""
    damage: str = "fail"
    """What reading does about damage: `skip` is for a job that looks for it."""


class Stopped(BaseException):
    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.exit_code = 128 + number


def submit(job: Job, words: Sequence[str] | None = None, opened: Opened | None = None) -> int:
    """The exit code. Everything that can be wrong with the words is found before Spark is started. Who has a
    session already passes how to get it: given the settings that a job needs."""
    try:
        with _signals():
            return _run(job, sys.argv[1:] if words is None else words, opened or _opened)
    except Stopped as stopped:
        return _fail("stopped by a signal", stopped.exit_code)
    except EngineError as error:
        return _fail(error.text, 2)
    except SystemExit as over:
        return int(over.code or 0)
    except Exception as error:
        return _fail(reason_of(error), 2 if _is_bad_input(error) else 1)


def _fail(reason: str, exit_code: int) -> int:
    sys.stdout.flush()
    print("error: " + " ".join(reason.split()), file=sys.stderr, flush=True)
    return exit_code


def _is_bad_input(error: Exception) -> bool:
    """Workers say what is wrong with a store by the same errors; Spark wraps them in its own."""
    return "engine.errors." in str(error)


def _run(job: Job, words: Sequence[str], opened: Opened) -> int:
    now = datetime.now(UTC)
    parser = common_parser(job.file, job.about, job.examples)
    job.add_options(parser)
    asked = asked_of(parser.parse_args(words), now=now)
    job.check(asked.options)
    logs = Logs.find(asked, damage=job.damage)
    folder = ResultFolder(asked.output, job.report, asked.run_id, started_at=now)
    folder.open()
    try:
        with opened(f"signalbox {job.report} {asked.run_id}", _settings(asked)) as session:
            # Spark takes the interrupt for itself when it starts.
            _listen()
            _produce(job, asked, logs, session, folder, now)
    except BaseException:
        folder.discard()
        raise
    return 0


@contextlib.contextmanager
def _opened(name: str, settings: Mapping[str, str]) -> Iterator[SparkSession]:
    # Where the job is run from its sources, workers find them too.
    found = {"spark.executorEnv.PYTHONPATH": str(ROOT), **settings}
    session = open_session(name, settings=found)
    try:
        yield session
    finally:
        with contextlib.suppress(Exception):
            session.stop()


def _settings(asked: Asked) -> dict[str, str]:
    return {
        "spark.sql.session.timeZone": str(asked.time_zone),
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    }


def _produce(
    job: Job, asked: Asked, logs: Logs, session: SparkSession, folder: ResultFolder, now: datetime
) -> None:
    progress = Progress()
    with watched(session, progress, asked.progress):
        logs.look(session)
        keeper = Keeper(session, folder, job.tables, progress)
        made = job.run(Work(session, asked, logs, keeper.keep, now))
        written = {name: keeper.write(name, made.tables[name], order) for name, order in job.tables.items()}
        abouts = {name: folder.about(name) for name in job.tables}
        said = made.sum_up(written, {name: about["rows"] for name, about in abouts.items()})
        summary = {
            "report": job.report,
            "run_id": asked.run_id,
            "started_at": now.isoformat(),
            "ended_at": datetime.now(UTC).isoformat(),
            "range": {"from": text_of(asked.begin), "to": text_of(asked.end)},
            "stores": logs.about(),
            "tables": abouts,
            "figures": {name: text_of(value) for name, value in said.get("figures", {}).items()},
            "charts": list(said.get("charts", ())),
            "unknown": list(said.get("unknown", ())),
            "warnings": [*logs.warnings, *said.get("warnings", ())],
        }
        place = folder.publish(summary)
    print(f"{job.report}: {place}")


@contextlib.contextmanager
def _signals() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    _listen()
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _listen() -> None:
    for number in _SIGNALS:
        signal.signal(number, _stop)


def _stop(number: int, frame: object) -> None:
    raise Stopped(number)
