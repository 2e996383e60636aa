"""Real processes of ours for the crash suite: started, killed, restarted on the same ports and stores.

Each daemon's output goes to a file beside its store, because a pipe that nobody reads would stop it. `Broker`
and `NameServer` differ only in their command line; `launcher` puts another module in place of
`engine.broker`, which is how the mutants run.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from tests.crash.checker.resources import Sample
from tests.crash.wire import Address
from tests.freezing import freeze, thaw
from tests.ports import free_port

REPOSITORY = Path(__file__).parents[2]
START_TIMEOUT_S = 120.0
"""Patience only: `start` says how long it took, and tests judge that."""
_READY = re.compile(rb"ready on ([0-9.]+):(\d+)")

SYNC, ASYNC = "SYNC_FLUSH", "ASYNC_FLUSH"

SMALL_STORE = {
    "mappedFileSizeCommitLog": "1048576",
    "maxMessageSize": "65536",
    "mappedFileSizeConsumeQueue": "40000",
    "maxHashSlotNum": "5000",
    "maxIndexNum": "20000",
}
"""Segments so small that files roll all the time."""
VIP = -2
"""Where a broker's second port is, beside the first."""


class Daemon:
    """One process: start, wait until ready, kill, stop, look at."""

    def __init__(self, name: str, folder: Path, arguments: list[str], environment: Mapping[str, str]) -> None:
        self.name = name
        self.log_path = folder / f"{name}.out"
        self.address: Address = ("127.0.0.1", 0)
        self._arguments = arguments
        self._environment = {**os.environ, "PYTHONUNBUFFERED": "1", **environment}
        self._process: subprocess.Popen[bytes] | None = None
        self.prefix: list[str] = []
        """What comes before the command line: it must become the process itself (exec)."""
        self.tree = REPOSITORY
        """The sources that it runs; tests of upgrades start members of an earlier release."""

    @property
    def pid(self) -> int:
        assert self._process is not None, f"{self.name} was never started"
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def exit_status(self) -> int | None:
        return None if self._process is None else self._process.poll()

    def launch(self) -> None:
        """Starts without waiting."""
        assert not self.is_alive, f"{self.name} already runs"
        with self.log_path.open("ab") as log:
            self._log_start = log.tell()
            self._process = subprocess.Popen(
                [*self.prefix, sys.executable, *self._arguments],
                cwd=self.tree,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def start(self, timeout_s: float = START_TIMEOUT_S) -> float:
        """Starts and waits for the ready line; returns the seconds that took, without those in which the
        process stood in line for a core: how busy the machine is says nothing about it."""
        begun = time.monotonic()
        self.launch()
        while time.monotonic() - begun < timeout_s:
            found = _READY.search(self.output())
            if found:
                self.address = (found[1].decode(), int(found[2]))
                return time.monotonic() - begun - self.queued_s()
            if not self.is_alive:
                raise AssertionError(f"{self.name} ended with {self.exit_status}:\n{self.tail()}")
            time.sleep(0.01)
        self.kill()
        raise AssertionError(f"{self.name} was not ready within {timeout_s} s:\n{self.tail()}")

    def queued_s(self) -> float:
        """How long its main thread was ready to run and was not let (the kernel's schedstat)."""
        return int(Path(f"/proc/{self.pid}/schedstat").read_text().split()[1]) / 1e9

    def output(self) -> bytes:
        """What this run wrote (earlier runs of the same daemon are before it in the file)."""
        with self.log_path.open("rb") as log:
            log.seek(self._log_start)
            return log.read()

    def tail(self, lines: int = 40) -> str:
        return "\n".join(self.output().decode(errors="replace").splitlines()[-lines:])

    def log_lines(self) -> list[str]:
        """Everything that all runs wrote."""
        return self.log_path.read_text(errors="replace").splitlines()

    def kill(self) -> None:
        """kill -9, and gone when this returns."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def freeze(self) -> None:
        freeze(self.pid)

    def thaw(self) -> None:
        thaw(self.pid)

    def stop(self, timeout_s: float = 10.0) -> float:
        """SIGTERM; returns the seconds until it ended by itself, fails when it ends badly or not at all."""
        assert self._process is not None
        begun = time.monotonic()
        self._process.send_signal(signal.SIGTERM)
        try:
            status = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"{self.name} did not stop within {timeout_s} s:\n{self.tail()}") from None
        assert status == 0, f"{self.name} ended with {status}:\n{self.tail()}"
        return time.monotonic() - begun

    def sample(self) -> Sample:
        proc = Path(f"/proc/{self.pid}")
        anonymous = re.search(r"^Anonymous:\s+(\d+) kB", (proc / "smaps_rollup").read_text(), re.M)
        threads = re.search(r"^Threads:\s+(\d+)", (proc / "status").read_text(), re.M)
        assert anonymous
        assert threads
        return Sample(int(anonymous[1]) * 1024, len(list((proc / "fd").iterdir())), int(threads[1]))


class NameServer(Daemon):
    def __init__(
        self,
        folder: Path,
        name: str = "namesrv",
        environment: Mapping[str, str] | None = None,
        host: str = "127.0.0.1",
    ) -> None:
        self.port = free_port()
        config = folder / f"{name}.conf"
        home = folder / f"{name}-home"
        config.write_text(f"rocketmqHome={home}\nkvConfigPath={home}/kvConfig.json\n")
        arguments = ["-m", "engine.namesrv", "--listen", f"{host}:{self.port}", "-c", str(config)]
        super().__init__(name, folder, arguments, {"HOME": str(folder), **(environment or {})})


class Broker(Daemon):
    """A master on loopback with a small store in `folder`."""

    def __init__(
        self,
        folder: Path,
        *,
        flush: str = ASYNC,
        store: Path | None = None,
        name_servers: list[Address] | None = None,
        settings: Mapping[str, str] | None = None,
        environment: Mapping[str, str] | None = None,
        launcher: str = "engine.broker",
        name: str = "broker",
    ) -> None:
        self.folder = folder
        self.store = store or folder / "store"
        self.store.mkdir(parents=True, exist_ok=True)
        self.config_path = folder / f"{name}.conf"
        self._settings = {
            "brokerClusterName": "CrashCluster",
            "brokerName": name,
            "brokerId": "0",
            "brokerIP1": "127.0.0.1",
            "bindAddress": "127.0.0.1",
            "listenPort": str(free_port(VIP)),
            "flushDiskType": flush,
            "flushConsumerOffsetInterval": "500",
            **SMALL_STORE,
            **(settings or {}),
        }
        self._write_config()
        arguments = ["-m", launcher, "-c", str(self.config_path)]
        if name_servers:
            arguments += ["-n", ";".join(f"{host}:{port}" for host, port in name_servers)]
        super().__init__(name, folder, arguments, {"HOME": str(folder), **(environment or {})})

    def _write_config(self) -> None:
        # The logs stay off the disk that is about to fail: they tell what the broker made of it.
        lines = {"logDir": str(self.folder / "logs"), **self._settings, "storePathRootDir": str(self.store)}
        self.config_path.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))

    def use_store(self, store: Path) -> None:
        """The next start opens another folder."""
        assert not self.is_alive
        self.store = store
        self._write_config()

    def use_environment(self, **environment: str) -> None:
        self._environment.update(environment)
