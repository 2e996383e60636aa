"""What Spark leaves on a host and what it may read: progress, logs, results, stores."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import pytest
from django.utils import timezone

from clusters.models import Broker, BrokerGroup, Cluster, Host
from clusters.provisioning.folders import folder_of
from reports.submitting import logs, results
from reports.submitting.folders import ReportFolders
from reports.submitting.progress import ProgressFile
from reports.submitting.stores import StoreRefused, is_below, permitted, store_words

LINE = {"at": "now", "phase": "reading", "tasks_done": 3, "rows": 2**60}


def test_progress_is_read_as_it_grows_whole_lines_only(tmp_path: Path) -> None:
    path = tmp_path / "progress"
    file = ProgressFile(path)
    assert file.newest() is None
    whole = json.dumps(LINE) + "\n"
    path.write_text(whole + whole[:10])
    assert file.newest() == {**LINE, "rows": str(2**60)}
    assert file.newest() is None
    with path.open("a") as out:
        out.write(whole[10:] + "garbage\n[1]\n" + json.dumps({"rows": -1, "phase": 7}) + "\n")
    assert file.newest() == {**LINE, "rows": str(2**60)}, "the last line that says something"


def test_the_reason_is_the_jobs_own_line_or_the_best_there_is() -> None:
    assert logs.reason_of("x\nerror: a missing store\nINFO stopped\n", 2, 1024) == "a missing store"
    assert "out of its 1024 MB" in logs.reason_of("java.lang.OutOfMemoryError: Java heap", 1, 1024)
    assert logs.reason_of("", 137, 1024) == "Spark was ended by signal 9"
    assert logs.reason_of("first\nlast\n", 1, 1024) == "Spark ended with exit code 1: last"


def test_a_logs_end_begins_with_a_line_and_is_printable(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"0123456789\nsecond \x1b[31m\x00\xff\n")
    assert logs.tail(path, 20) == "second �[31m��\n"
    assert logs.tail(tmp_path / "none") == ""


def test_a_log_is_kept_short_while_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "MOST_BYTES", 1000)
    path = tmp_path / "log"
    with path.open("ab", buffering=0) as writer:
        writer.write(b"a line\n" * 1000)
        logs.keep_short(path)
        writer.write(b"the end\n")
    text = path.read_text()
    assert len(text) < 20_000 and text.endswith("the end\n") and "cut here" in text


def made_results(folder: Path, run_id: uuid.UUID, summary: str = "{}") -> Path:
    place = folder / f"report=usage/day=2026-11-16/run={run_id}"
    (place / "keys").mkdir(parents=True)
    (place / "keys" / "part-0.parquet").write_bytes(b"12345")
    (place / "keys" / "_SUCCESS").touch()
    (place / "summary.json").write_text(summary)
    return place


def test_results_are_what_lies_there_not_what_a_summary_says(tmp_path: Path) -> None:
    run_id = uuid.uuid4()
    place = made_results(tmp_path, run_id)
    (place / "..hidden").mkdir()
    (place / "link").symlink_to("/etc")
    (place / "keys" / "part-1.parquet").symlink_to("/etc/passwd")
    (place / "_temporary").mkdir()
    folder = results.find_results(tmp_path, run_id)
    summary = {"tables": {"keys": {"rows": 3}, "../../etc": {"rows": 1}}}
    assert results.tables_of(tmp_path / folder, summary) == {
        "keys": {"rows": 3, "files": [{"name": "part-0.parquet", "bytes": 5}]}
    }


@pytest.mark.parametrize("summary", ["", "[1]", "{", '"x"'])
def test_broken_summaries_are_said_so(tmp_path: Path, summary: str) -> None:
    with pytest.raises(results.ResultsBroken):
        results.read_summary(made_results(tmp_path, uuid.uuid4(), summary))


def test_missing_results_are_said_so(tmp_path: Path) -> None:
    with pytest.raises(results.ResultsBroken):
        results.find_results(tmp_path, uuid.uuid4())
    place = made_results(tmp_path, uuid.uuid4())
    (place / "summary.json").unlink()
    with pytest.raises(results.ResultsBroken):
        results.read_summary(place)


def test_results_of_a_newer_attempt_replace_those_of_one_taken_for_dead(tmp_path: Path) -> None:
    run_id = uuid.uuid4()
    for number in ("1", "2"):
        output = tmp_path / number
        made_results(output, run_id, json.dumps({"attempt": number}))
        results.put_in_place(output, tmp_path / "results", results.find_results(output, run_id))
    [summary] = (tmp_path / "results").rglob("summary.json")
    assert json.loads(summary.read_text()) == {"attempt": "2"}


def test_an_attempt_begins_with_an_empty_folder_and_the_log_of_those_before(tmp_path: Path) -> None:
    folders, run_id = ReportFolders(tmp_path), uuid.uuid4()
    first = folders.make_attempt(run_id, 1)
    (first / "left").touch()
    folders.log(run_id).write_text("attempt 1\n")
    second = folders.make_attempt(run_id, 2)
    assert not first.exists() and [each.name for each in second.iterdir()] == ["temporary"]
    assert folders.log(run_id).read_text() == "attempt 1\n"


# -- stores -------------------------------------------------------------------------------------------------


def test_paths_count_below_what_the_host_allows_after_links(tmp_path: Path) -> None:
    allowed = tmp_path / "allowed"
    (allowed / "a").mkdir(parents=True)
    (allowed / "b").mkdir()
    (tmp_path / "allowed-not").mkdir()
    (allowed / "out").symlink_to("/etc")
    roots = [str(allowed), "s3://bucket/stores"]
    assert permitted(f"{allowed}/[ab]", roots) == [f"{allowed}/a", f"{allowed}/b"]
    assert permitted("s3://bucket/stores/a", roots) == ["s3://bucket/stores/a"]
    for path in (
        "/etc",
        f"{allowed}/out",
        f"{allowed}/../allowed-not",
        str(tmp_path / "allowed-not"),
        f"{allowed}/none",
        f"{allowed}/none*",
        "s3://bucket/storesX/a",
        "s3://bucket/stores/../secrets",
        "file:///etc",
    ):
        with pytest.raises(StoreRefused):
            permitted(path, roots)
    assert not is_below("/etc", []) and not is_below(str(allowed), [])


@pytest.mark.django_db
def test_managed_stores_are_found_from_rows_alone(host: Host) -> None:
    cluster = Cluster.objects.create(
        name="shop", broker_cluster_name="C", kind="managed", created_at=timezone.now()
    )
    group = BrokerGroup.objects.create(cluster=cluster, name="broker-a")
    Broker.objects.create(group=group, member=0, host=host, port=1, desired="stopped")
    named = [{"broker": "broker-a", "member": 0}]
    with pytest.raises(StoreRefused, match="is not on the host here"):
        store_words(cluster, named, host, [])
    folder = folder_of(Path(host.data_root), "shop", cluster.pk, "broker-a-0").path / "store"
    folder.mkdir(parents=True)
    assert store_words(cluster, named, host, []) == [f"shop/broker-a={folder}"]
    for other in ({"broker": "broker-a", "member": 1}, {"broker": "../x", "member": 0}):
        with pytest.raises(StoreRefused, match="any more"):
            store_words(cluster, [other], host, [])
    with pytest.raises(StoreRefused, match="no store"):
        store_words(cluster, [], host, [])
