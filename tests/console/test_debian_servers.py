"""The same code on PostgreSQL and Redis servers: a few tests in `make test`, all of the platform nightly."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.debian_servers import postgresql, redis_of_debian

pytestmark = pytest.mark.needs_debian_servers
ROOT = Path(__file__).resolve().parents[2]
SMOKE = (
    "tests/console/api/test_audit.py",
    "tests/console/api/test_search.py",
    "tests/console/test_full_disk.py::test_a_full_database_is_named_and_nothing_is_half_done",
    "tests/console/test_backups.py::test_what_was_backed_up_comes_back",
    "tests/console/test_backups.py::test_others_write_while_a_backup_reads_one_moment",
)


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with postgresql() as database, redis_of_debian(tmp_path_factory.mktemp("redis")) as redis_url:
        yield {"DATABASE_URL": database, "REDIS_URL": redis_url}


def run(servers: dict[str, str], *arguments: str, timeout_s: float) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        cwd=ROOT,
        env=os.environ | servers,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout_s,
    )
    assert done.returncode == 0, done.stdout[-8000:]
    return done.stdout


@pytest.mark.timeout(300)
def test_a_few_tests_pass_on_servers_of_debian(servers: dict[str, str]) -> None:
    assert " passed" in run(servers, "--create-db", "--reuse-db", *SMOKE, timeout_s=280)
    tested = servers["DATABASE_URL"].rsplit("/", 1)[0] + "/test_signalbox"
    with psycopg.connect(tested) as database:
        found = database.execute("SELECT indexname FROM pg_indexes WHERE indexname LIKE '%_name_trgm'")
        assert {name for (name,) in found} == {
            "clusters_livetopic_name_trgm",
            "clusters_livegroup_name_trgm",
        }, "the search has its indexes"


@pytest.mark.nightly
@pytest.mark.timeout(3600)
def test_the_whole_platform_passes_on_servers_of_debian(servers: dict[str, str]) -> None:
    folders = [name for name in ("console", "clusters", "reports") if (ROOT / "tests" / name).is_dir()]
    paths = [f"tests/{name}" for name in folders]
    without = "not nightly and not bench and not interop and not needs_debian_servers"
    run(servers, "--create-db", *paths, "-m", without, timeout_s=3500)
