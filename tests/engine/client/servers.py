"""Our own name server and brokers as processes of their own, for the client's integration tests."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
READY = re.compile(r"ready on (\S+:\d+)")
START_TIMEOUT_S = 30.0


class Daemon:
    """A process that says where it is ready; stopped with SIGTERM, killed if it does not go."""

    def __init__(self, *arguments: str, environment: Mapping[str, str] | None = None) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", *arguments],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1", **(environment or {})},
        )
        try:
            self.address = self._wait_until_ready()
        except BaseException:
            self.kill()
            raise

    def _wait_until_ready(self) -> str:
        assert self._process.stdout is not None
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            if select.select([self._process.stdout], [], [], 0.2)[0]:
                line = self._process.stdout.readline()
                if found := READY.search(line):
                    return found[1]
                if not line:
                    break
        raise AssertionError(f"{self._process.args} did not become ready")

    def stop(self) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()
        self._close()

    def kill(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._close()

    def _close(self) -> None:
        if self._process.stdout is not None:
            self._process.stdout.close()


@dataclass(frozen=True, slots=True)
class Cluster:
    namesrv: str
    broker_name: str
    broker: str


def start_name_server(home: Path, **settings: str) -> Daemon:
    options = {"kvConfigPath": str(home / "kvConfig.json")} | settings
    config = home / "namesrv.conf"
    config.write_text("".join(f"{key}={value}\n" for key, value in options.items()))
    return Daemon("engine.namesrv", "--listen", "127.0.0.1:0", "-c", str(config))


def start_broker(
    home: Path,
    namesrv: str,
    name: str = "client-a",
    environment: Mapping[str, str] | None = None,
    **settings: str,
) -> Daemon:
    options = {
        "brokerClusterName": "ClientCluster",
        "brokerName": name,
        "brokerId": "0",
        "brokerIP1": "127.0.0.1",
        "listenPort": "0",
        "storePathRootDir": str(home / name),
        "storePathCommitLog": str(home / name / "commitlog"),
        "mappedFileSizeCommitLog": str(16 * 1024 * 1024),
        "diskMaxUsedSpaceRatio": "95",
        # Two cores are shared by everything: a slow moment must not look like an overload.
        "waitTimeMillsInSendQueue": "5000",
    } | settings
    config = home / f"{name}.conf"
    config.write_text("".join(f"{key}={value}\n" for key, value in options.items()))
    return Daemon("engine.broker", "-c", str(config), "-n", namesrv, environment=environment)
