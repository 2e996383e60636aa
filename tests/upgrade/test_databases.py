"""The console opens databases and backups of release 0.1.0: migrated, every row is there, secrets open.

Each database is read by a process of its own (platform_reading.py), as a console would.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests import debian_servers
from tests.upgrade import release_files

ROOT = Path(__file__).resolve().parents[2]
EXPECTED = release_files.expected("platform")


def run(data_root: Path, *command: str, **environment: str) -> str:
    ours = {
        key: value for key, value in os.environ.items() if not key.startswith(("SIGNALBOX_", "DATABASE_"))
    }
    ours |= {"SIGNALBOX_DATA": str(data_root), **environment}
    done = subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=ours, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def assert_all_is_there(data_root: Path, **environment: str) -> None:
    answer = run(data_root, "tests/upgrade/platform_reading.py", EXPECTED["password"], **environment)
    found: dict[str, Any] = json.loads(answer)
    assert found["password"] is True
    assert found["clusters"] == ["prod"]
    assert found["access_control"] == "off", "an upgrade changes no cluster's access control"
    assert "orders" in found["topics"]
    assert "billing" in found["groups"]
    assert len(found["brokers"]) == 2
    assert found["users"] == ["admin", "olga"]
    assert "billing behind" in found["rules"]
    assert found["channels"] == ["pager"]
    assert found["operations"] == ["succeeded", "succeeded"]
    assert found["lag"] == EXPECTED["lag"]
    assert found["url"] == "https://hooks.example.com/x"


@pytest.fixture
def data_root(tmp_path: Path) -> Path:
    return release_files.unpack("data-root", tmp_path / "data")


def test_sqlite(data_root: Path) -> None:
    run(data_root, "manage.py", "migrate", "--verbosity", "0")
    assert_all_is_there(data_root)


def test_a_backup_is_restored_and_migrated(tmp_path: Path) -> None:
    data_root = tmp_path / "new"
    (data_root / "console").mkdir(parents=True)
    file = str(release_files.FOLDER / "backup.sbx")
    # A console makes a key at its first start; the backup brings its own, so none must be there yet.
    run(data_root, "manage.py", "migrate", "--verbosity", "0", SIGNALBOX_CONSOLE_KEY="k" * 50)
    run(data_root, "manage.py", "restore", file, SIGNALBOX_CONSOLE_KEY="k" * 50)
    assert_all_is_there(data_root)


@pytest.mark.needs_debian_servers
def test_postgresql(data_root: Path) -> None:
    with debian_servers.postgresql() as url:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(release_files.postgresql_dump())
        run(data_root, "manage.py", "migrate", "--verbosity", "0", DATABASE_URL=url)
        assert_all_is_there(data_root, DATABASE_URL=url)
