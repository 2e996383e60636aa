"""Real agents for tests: `manage.py agent` as processes on the test's database and Redis."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
from django.db import transaction
from django.utils import timezone

from clusters.actions.hosts import Ranges, add_host
from clusters.models import Host, Operation
from clusters.provisioning.host_keys import make_key, public_half
from console.agent import VERSION, remember
from tests.platform_processes import database_url

ROOT = Path(__file__).parents[3]


def free_block(size: int) -> int:
    """The first of some neighbouring ports that nothing uses now, below those that the system hands out to
    whoever dials: a port that is given up for a moment must still be free in the next."""
    while True:
        low = random.randrange(12_000, 32_000 - size)
        if all(_is_free(port) for port in range(low, low + size)):
            return low


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def make_host(name: str, folder: Path, brokers: int = 8) -> Host:
    """Joined as `up` joins its own, with ports that nothing uses."""
    low = free_block(5 * brokers + 4)
    ranges = Ranges(low + 4, low + 3 + 5 * brokers, low, low + 3)
    data_root = folder / name
    key = make_key(data_root)
    with transaction.atomic():
        now = timezone.now()
        host = add_host(name, "127.0.0.1", str(data_root), public_half(key), ranges, version=VERSION, now=now)
    remember(data_root, name)
    return host


class AgentProcess:
    def __init__(self, host: Host, *, control: bool = True) -> None:
        self.host = host
        self._control = ["--control"] if control else []
        self.program = "manage.py"
        self.environment: dict[str, str] = {}
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Returns once it beats."""
        Host.objects.filter(pk=self.host.pk).update(heartbeat_at=None)
        self.launch()
        process = self.process

        def beats() -> bool:
            assert process is not None and process.poll() is None, self.log()
            return Host.objects.get(pk=self.host.pk).heartbeat_at is not None

        wait(beats, 60, self.log)

    def launch(self) -> None:
        """Does not wait: what it finds to do may be its end."""
        root = Path(self.host.data_root)
        command = [sys.executable, self.program, "agent", "--data-root", str(root), *self._control]
        environment = {**os.environ, "DATABASE_URL": database_url(), **self.environment}
        with (root / "agent.log").open("ab") as log:
            self.process = subprocess.Popen(
                command, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT
            )

    def log(self) -> str:
        return (Path(self.host.data_root) / "agent.log").read_text()[-4000:]

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()

    def engines(self) -> dict[str, list[psutil.Process]]:
        return engines_below(Path(self.host.data_root))


def engines_below(folder: Path) -> dict[str, list[psutil.Process]]:
    """Living engine processes by the name of their folder: a list, so that two of one would be seen."""
    found: dict[str, list[psutil.Process]] = {}
    for process in psutil.process_iter(["cmdline", "status"]):
        line = process.info["cmdline"] or []
        is_ours = "-m" in line and len(line) > 3 and line[-1].startswith(f"{folder}/")
        if is_ours and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.setdefault(Path(line[-1]).parent.name, []).append(process)
    return found


def wait(what: Callable[[], Any], seconds: float = 60, why: Callable[[], str] = lambda: "") -> Any:
    deadline = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < deadline, f"it did not happen within {seconds} s\n{why()}"
        time.sleep(0.05)
    return found


def wait_until_over(operation: str, seconds: float = 120) -> Operation:
    def over() -> Operation | None:
        row = Operation.objects.get(pk=operation)
        return None if row.state in ("running", "cancelling", "rolling_back") else row

    def why() -> str:
        row = Operation.objects.get(pk=operation)
        return "\n".join(f"{s.state} {s.summary} {s.progress} {s.error}" for s in row.steps.all())

    found: Operation = wait(over, seconds, why)
    return found


@contextmanager
def agents(folder: Path, *names: str) -> Iterator[list[AgentProcess]]:
    """Started at once; they and everything that they started are gone afterwards."""
    running = [
        AgentProcess(make_host(name, folder), control=number == 0) for number, name in enumerate(names)
    ]
    try:
        for agent in running:
            agent.start()
        yield running
    finally:
        for agent in running:
            agent.stop()
        for processes in (each for agent in running for each in agent.engines().values()):
            for process in processes:
                process.kill()
