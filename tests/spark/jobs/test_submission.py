"""The border of a job: what becomes of errors, signals and drafts, and what watchers get to see."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from spark.jobs import message_trace, retention, search, store_audit, usage
from spark.jobs.submission import Job, Said, Work, submit
from tests.spark.jobs.conftest import Run
from tests.spark.shop import Shop

pytestmark = pytest.mark.timeout(600)


def job_that(does: Callable[[Work], None]) -> Job:
    """A small report that writes one table, and then does what a test wants to see the end of."""

    def run(work: Work) -> Said:
        numbers = work.session.range(3)
        work.keep("kept", numbers)
        table = work.keep("numbers", numbers)
        does(work)
        return Said(
            {"numbers": table}, lambda tables, counts: {"figures": {"rows": counts["numbers"], "none": None}}
        )

    return Job("numbers", "numbers", "Three numbers.", "", {"numbers": ()}, run)


def nothing(work: Work) -> None:
    pass


def test_a_run_is_there_whole_with_its_summary(run: Run, shop: Shop, tmp_path: Path) -> None:
    progress = tmp_path / "progress.jsonl"
    done = run(job_that(nothing), shop.store, f"--progress={progress}", "--from=2026-01-01T00:00:00+01:00")
    assert done.exit_code == 0
    day = done.folder.parent.name
    assert done.folder.relative_to(done.output).parts == ("report=numbers", day, "run=r1")
    assert sorted(path.name for path in done.folder.iterdir()) == ["numbers", "summary.json"]
    assert [path.name for path in done.folder.parent.iterdir()] == ["run=r1"], "no draft stays"
    summary = done.summary
    assert summary["report"] == "numbers" and summary["run_id"] == "r1"
    assert summary["range"] == {"from": "2025-12-31T23:00:00+00:00", "to": None}
    assert summary["tables"] == {"numbers": {"rows": 3, "columns": ["id"]}}
    assert summary["figures"] == {"rows": "3", "none": None}
    assert day == f"day={summary['started_at'][:10]}"
    lines = [json.loads(line) for line in progress.read_text().splitlines()]
    assert lines[-1]["phase"] == "writing"
    assert lines[-1]["stages_done"] >= 1 and lines[-1]["rows"] >= 30, "the store's records at least"


def test_a_run_that_is_there_already_is_not_written_over(run: Run, shop: Shop) -> None:
    first = run(job_that(nothing), shop.store)
    before = (first.folder / "summary.json").read_bytes()
    again = run(job_that(nothing), shop.store)
    assert again.exit_code == 2
    assert again.said == [f"error: {again.output}: the run r1 is there already"]
    assert (first.folder / "summary.json").read_bytes() == before


def test_an_unexpected_error_is_one_line_and_leaves_nothing(run: Run, shop: Shop) -> None:
    def fail(work: Work) -> None:
        raise RuntimeError("the roof\nis on fire")

    done = run(job_that(fail), shop.store)
    assert (done.exit_code, done.said) == (1, ["error: the roof"])
    assert not done.output.exists()


def test_a_worker_that_finds_damage_is_bad_input(run: Run, shop: Shop) -> None:
    def look(work: Work) -> None:
        # As if the log went on where nothing is written.
        (log,) = work.logs.logs
        work.logs.logs = (replace(log, end_offset=log.end_offset + 4096),)
        work.logs.look(work.session)

    done = run(job_that(look), shop.store)
    assert done.exit_code == 2
    (line,) = done.said
    assert "is damaged" in line
    assert not done.output.exists()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_leaves_nothing(run: Run, shop: Shop, number: signal.Signals, code: int) -> None:
    done = run(job_that(lambda work: os.kill(os.getpid(), number)), shop.store)
    assert (done.exit_code, done.said) == (code, ["error: stopped by a signal"])
    assert not done.output.exists()


def test_an_output_that_is_a_file_is_refused(run: Run, shop: Shop, tmp_path: Path) -> None:
    (tmp_path / "output").write_text("mine")
    done = run(retention.JOB, shop.store)
    assert done.exit_code == 2
    (line,) = done.said
    assert line.startswith(f"error: cannot write to {tmp_path / 'output'}")
    assert (tmp_path / "output").read_text() == "mine"


@pytest.mark.parametrize("job", [message_trace, retention, usage, search, store_audit])
def test_help_shows_examples(job: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert submit(job.JOB, ["--help"]) == 0
    said = capsys.readouterr().out
    assert f"usage: spark-submit spark/jobs/{job.JOB.file}.py" in said
    assert said.count(f"spark-submit spark/jobs/{job.JOB.file}.py --store") >= 2
