"""What is wrong with a question or a store: one line, exit code 2, nothing written."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from spark.jobs import message_trace, retention, search, store_audit, usage
from spark.jobs.submission import Job
from tests.spark.jobs.conftest import Done, Run
from tests.spark.shop import Shop

pytestmark = pytest.mark.timeout(900)
JOBS = (message_trace.JOB, retention.JOB, usage.JOB, search.JOB, store_audit.JOB)


def refusal(done: Done) -> str:
    """The one line, when there is nothing else."""
    assert done.exit_code == 2
    (line,) = done.said
    assert line.startswith("error: ")
    assert not done.output.exists(), "nothing is written"
    return line.removeprefix("error: ")


def needed(job: Job) -> tuple[str, ...]:
    """What a search cannot do without."""
    return ("--topic=orders", "--key=k") if job is search.JOB else ()


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.report)
def test_a_missing_store_is_named(run: Run, tmp_path: Path, job: Job) -> None:
    assert refusal(run(job, tmp_path / "nowhere", *needed(job))) == (
        f"no such store: {tmp_path / 'nowhere'} is not a folder"
    )


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.report)
def test_a_folder_that_is_no_store_is_named(run: Run, tmp_path: Path, job: Job) -> None:
    (tmp_path / "photos").mkdir()
    assert refusal(run(job, tmp_path / "photos", *needed(job))).startswith(
        f"not a store: {tmp_path / 'photos'}"
    )


# Not the audit, which reads past damage: it takes the log to end with the file, and must yet learn to say so.
@pytest.mark.parametrize("job", JOBS[:-1], ids=lambda job: job.report)
def test_a_file_that_was_cut_is_named(run: Run, shop: Shop, tmp_path: Path, job: Job) -> None:
    store = Path(shutil.copytree(shop.store, tmp_path / "copy"))
    (file,) = (store / "commitlog").iterdir()
    with file.open("r+b") as log:
        log.truncate(6_000)
    said = refusal(run(job, store, *needed(job)))
    assert str(file) in said and "is cut" in said


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--from=2026-11-17", "--to=2026-11-16"), "--to 2026-11-16 is not after --from 2026-11-17"),
        (("--from=yesterday",), "--from 'yesterday' is not a time (say 2026-11-16T08:00:00)"),
        (("--time-zone=Mars/Olympus",), "--time-zone 'Mars/Olympus' is not a time zone (say Europe/Berlin)"),
        (
            ("--run-id=../up",),
            "--run-id '../up' is not a name of letters, digits, dots, dashes and underscores",
        ),
        (("--colour=red",), "unrecognized arguments: --colour=red (see --help)"),
        (
            ("--reserved-hours=0",),
            "argument --reserved-hours: '0' is not a whole number above zero (see --help)",
        ),
        (("--full-ratio=2",), "argument --full-ratio: '2' is not above 0 and at most 1 (see --help)"),
        (("--settings=1,many",), "--settings: 'many' is not a number"),
        (("--disk-bytes=10",), "--disk-bytes and --disk-free-bytes go together"),
        (("--disk-bytes=10", "--disk-free-bytes=11"), "--disk-free-bytes is more than --disk-bytes"),
        (("--now=soon",), "--now 'soon' is not a time (say 2026-11-16T08:00:00)"),
    ],
)
def test_a_wrong_word_is_refused(run: Run, shop: Shop, words: tuple[str, ...], reason: str) -> None:
    assert refusal(run(retention.JOB, shop.store, *words)) == reason


_MANY = [f"--topic=t{number}" for number in range(21)]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([], "the following arguments are required: --topic (see --help)"),
        (
            ["--topic=orders"],
            "say what is looked for: --from, --to, --key, --tag, --property, --sql or --body",
        ),
        (["--topic=or/ders", "--key=k"], "--topic: the topic name 'or/ders' has characters other than"),
        (["--topic=orders", "--sql=price >"], "at position 8"),
        ([*_MANY, "--key=k"], "21 topics are too many: up to 20"),
    ],
)
def test_a_wrong_search_is_refused(run: Run, shop: Shop, words: list[str], reason: str) -> None:
    assert reason in refusal(run(search.JOB, shop.store, *words))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, "No such file or directory"),
        ("{", "not JSON"),
        ('{"teams": {}}', "not an object of topics and groups"),
        ('{"topics": {"a": 1}}', "topics is not an object of names and teams"),
    ],
)
def test_wrong_labels_are_refused(
    run: Run, shop: Shop, tmp_path: Path, text: str | None, reason: str
) -> None:
    file = tmp_path / "teams.json"
    if text is not None:
        file.write_text(text)
    assert refusal(run(usage.JOB, shop.store, f"--labels={file}")) == f"--labels {file}: {reason}"
    assert refusal(run(usage.JOB, shop.store, "--label=orders")).startswith("--label 'orders' is not topic:")


def test_offsets_that_cannot_be_read_are_told(run: Run, shop: Shop, tmp_path: Path) -> None:
    store = Path(shutil.copytree(shop.store, tmp_path / "copy"))
    (store / "config" / "consumerOffset.json").write_text('{"offsetTable": {"orders@g": {0:')
    (store / "config" / "consumerOffset.json.bak").unlink(missing_ok=True)
    done = run(retention.JOB, store)
    assert done.exit_code == 2
    assert done.said == [
        f"error: {store}/config/consumerOffset.json cannot be read, nor can what was saved before it"
    ]
    assert not done.output.exists()
