"""Parts of the platform as processes of their own, on the database and Redis of the test that starts them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from django.conf import settings
from django.db import connection

from console.serving import command as serving_command

ROOT = Path(__file__).resolve().parents[1]
T = TypeVar("T")


def database_url() -> str:
    """Of the test's own database, for processes that share it."""
    name = connection.settings_dict["NAME"]
    if connection.vendor == "sqlite":
        return f"sqlite:///{name}"
    return os.environ["DATABASE_URL"].rsplit("/", 1)[0] + f"/{name}"


def _environment() -> dict[str, str]:
    return {
        **os.environ,
        "DATABASE_URL": database_url(),
        "REDIS_URL": settings.REDIS_URL,
        "PYTHONPATH": f"{ROOT}/platform:{ROOT}",
        "PYTHONUNBUFFERED": "1",
    }


@contextmanager
def _running(command: list[str], ready: str) -> Iterator[tuple[subprocess.Popen[str], re.Match[str]]]:
    process = subprocess.Popen(
        command, cwd=ROOT, env=_environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout is not None
    try:
        lines = []
        for line in process.stdout:
            lines.append(line)
            if found := re.search(ready, line):
                break
        else:
            raise AssertionError("".join(lines))
        yield process, found
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        process.stdout.close()


@contextmanager
def collecting() -> Iterator[subprocess.Popen[str]]:
    """`manage.py collect`."""
    with _running([sys.executable, "manage.py", "collect"], "collecting") as (process, _):
        yield process


@contextmanager
def serving(**options: str) -> Iterator[str]:
    """The console as `manage.py up` serves it: host and port."""
    with served(**options) as (_, address):
        yield address


@contextmanager
def served(**options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Its process, too. `options`: another `application` or `protocol`."""
    command = serving_command(sys.executable, "127.0.0.1", 0, **options)
    with _running(command, r"running on http://([0-9.]+:[0-9]+)") as (process, found):
        yield process, found[1]


def soon(found: Callable[[], T], within_s: float = 20.0) -> T:
    """The first true answer."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if answer := found():
            return answer
        time.sleep(0.05)
    raise AssertionError(f"not within {within_s} s")
