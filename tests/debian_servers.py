"""PostgreSQL and Redis servers from Debian, started for a test and gone with it.

initdb refuses root, so as root everything of PostgreSQL runs as the user `postgres`, in a folder of its own
outside of pytest's, which that user may not enter.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import redis

from tests.ports import free_port

_TUNING = {
    # Of a server that is thrown away: nothing has to survive a power cut.
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "listen_addresses": "127.0.0.1",
}


def postgresql_programs() -> Path | None:
    """Debian keeps them off PATH, by version; the newest."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda file: int(file.parts[-3]))
    return found[-1].parent if found else None


def missing() -> str | None:
    """What is not on this machine, for tests/requirements_probe.py."""
    if postgresql_programs() is None:
        return "Debian's package postgresql is not installed"
    if shutil.which("redis-server") is None:
        return "Debian's package redis-server is not installed"
    return None


@contextmanager
def postgresql() -> Iterator[str]:
    """The DATABASE_URL of an empty database."""
    programs = postgresql_programs()
    assert programs is not None
    folder = Path(tempfile.mkdtemp(prefix="sbxpg"))
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres", "postgres")
    data, port = folder / "data", free_port()
    try:
        _as_postgres([programs / "initdb", "-D", data, "-U", "signalbox", "-A", "trust", "-N"])
        options = " ".join(f"-c {name}={value}" for name, value in _TUNING.items())
        options += f" -c port={port} -c unix_socket_directories={folder}"
        control = [programs / "pg_ctl", "-D", data, "-w", "-t", "60"]
        _as_postgres([*control, "-l", folder / "log", "-o", options, "start"])
        try:
            yield _new_database(port)
        finally:
            _as_postgres([*control, "-m", "immediate", "stop"])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def redis_of_debian(folder: Path) -> Iterator[str]:
    """The REDIS_URL of a server on a port."""
    port = free_port()
    command = ["redis-server", "--bind", "127.0.0.1", "--port", str(port), "--save", "", "--dir", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        _wait_for_redis(port)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        process.terminate()
        process.wait(10)


def _new_database(port: int) -> str:
    with psycopg.connect(
        f"host=127.0.0.1 port={port} user=signalbox dbname=postgres", autocommit=True
    ) as one:
        one.execute("CREATE DATABASE signalbox")
    return f"postgres://signalbox@127.0.0.1:{port}/signalbox"


def _as_postgres(command: list[str | Path]) -> None:
    prefix = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    done = subprocess.run(
        [*prefix, *map(str, command)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
        cwd="/",
    )
    assert done.returncode == 0, done.stderr


def _wait_for_redis(port: int) -> None:
    client = redis.Redis(port=port)
    for _ in range(500):
        try:
            client.ping()
            return
        except redis.ConnectionError:
            time.sleep(0.02)
    raise AssertionError("redis-server does not listen")
