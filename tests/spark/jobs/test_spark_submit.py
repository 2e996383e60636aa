"""Every report as `spark-submit` runs it: a process on this machine, and on a standalone cluster of two
workers, where it gives the same tables. The store is a real broker's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.interop.clusters import BROKER_NAME, CLUSTER_NAME
from tests.spark.jobs.conftest import Done
from tests.spark.shop import LOG_COUNT, ORDER_COUNT, Shop
from tests.spark.standalone import LOCAL, ROOT, SparkCluster, spark_cluster, spark_submit

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(1800)]

WORDS = {
    "message_trace": (),
    "retention": ("--disk-bytes=100000000", "--disk-free-bytes=50000000"),
    "usage": ("--label=topic:orders=shop", "--price-per-gb-day=1"),
    "store_audit": (),
    "search": ("--topic=orders", "--key=all"),
}
FIGURES = {
    "message_trace": {"messages": ORDER_COUNT + LOG_COUNT - 1, "consumed": ORDER_COUNT - 1, "dead": 1},
    "retention": {},
    "usage": {},
    "store_audit": {"findings": 0, "repeated_keys": 1, "repeated_copies": 2},
    "search": {"messages": ORDER_COUNT, "found": 6, "stopped": "end"},
}
"""What the shop knows of itself. That all messages are counted is checked for each."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A store, and the moment that all runs look from: their tables would differ otherwise."""

    store: str
    now: str

    def submit(self, job: str, output: Path, master: str) -> Done:
        words = [
            f"--store={self.store}",
            f"--output={output}",
            "--run-id=r1",
            f"--to={self.now}",
            *WORDS[job],
        ]
        if job == "retention":
            words.append(f"--now={self.now}")
        done = spark_submit(ROOT / "spark" / "jobs" / f"{job}.py", words, master=master, cwd=output.parent)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return Done(done.returncode, done.stdout.splitlines(), output)


@pytest.fixture(scope="module")
def asked(shop: Shop) -> Asked:
    return Asked(f"{CLUSTER_NAME}/{BROKER_NAME}={shop.store}", datetime.now(UTC).isoformat())


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    with spark_cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


def tables(done: Done) -> dict[str, list[str]]:
    """Every row of every table; the order of rows within a table is not promised for all."""
    return {name: sorted(map(repr, done.rows(name))) for name in done.summary["tables"]}


def told(done: Done) -> dict[str, Any]:
    names = ("stores", "figures", "charts", "unknown", "warnings", "range", "tables")
    return {name: done.summary[name] for name in names}


@pytest.mark.parametrize("job", WORDS)
def test_a_report_is_the_same_on_this_machine_and_on_a_cluster(
    job: str, asked: Asked, cluster: SparkCluster, tmp_path: Path
) -> None:
    here = asked.submit(job, tmp_path / "here", LOCAL)
    before = cluster.programs()
    there = asked.submit(job, tmp_path / "there", cluster.master)
    assert here.said[-1] == f"{here.summary['report']}: {here.folder}"
    assert tables(there) == tables(here)
    assert told(there) == told(here)
    figures = here.summary["figures"]
    assert {name: figures[name] for name in FIGURES[job]} == {
        name: str(value) for name, value in FIGURES[job].items()
    }
    (store,) = here.summary["stores"]
    assert int(store["records"]) >= ORDER_COUNT + LOG_COUNT
    for known, ran in zip(before, cluster.programs(), strict=True):
        assert len(ran - known) == 1, "every worker had a part in it"


def test_bad_input_is_one_line_on_a_cluster_too(cluster: SparkCluster, tmp_path: Path) -> None:
    words = [f"--store={tmp_path}", f"--output={tmp_path / 'output'}"]
    done = spark_submit(ROOT / "spark" / "jobs" / "usage.py", words, master=cluster.master, cwd=tmp_path)
    assert done.returncode == 2
    told = [line for line in done.stdout.splitlines() if line.startswith("error: ")]
    assert told == [f"error: not a store: {tmp_path} has no commitlog folder, and no segments of one"]
    assert not (tmp_path / "output").exists()
