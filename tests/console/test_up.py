"""`manage.py up` and `down` as their user meets them: real processes, free ports, what they print."""

from __future__ import annotations

import asyncio
import os
import random
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from engine.net.requester import Requester
from engine.protocol.codes import RequestCode
from engine.protocol.commands import Command
from tests.data_root_modes import open_to_others

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.timeout(240)


def _free_block(size: int) -> int:
    """The first of some neighbouring ports that nothing uses now, below those that the system hands out."""
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


class Up:
    """One data root; `start` may be called again after `interrupt`."""

    def __init__(self, data: Path) -> None:
        low = _free_block(24)
        self.port, self.namesrv_port, self.broker_port = low, low + 1, low + 12
        self.data = data
        self.process: subprocess.Popen[str] | None = None
        self.environment = {
            key: value for key, value in os.environ.items() if not key.startswith("SIGNALBOX_")
        }

    def command(self, name: str) -> list[str]:
        command = [sys.executable, "manage.py", name, "--data", str(self.data)]
        if name == "up":
            command += ["--port", str(self.port), "--namesrv-port", str(self.namesrv_port)]
            command += ["--broker-port", str(self.broker_port)]
        return command

    def run(self, name: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(name), cwd=ROOT, env=self.environment, capture_output=True, text=True, timeout=90
        )

    def start(self) -> str:
        """What it prints until it is up."""
        self.process = subprocess.Popen(
            self.command("up"),
            cwd=ROOT,
            env=self.environment,
            stdout=subprocess.PIPE,
            text=True,
            # The most careless umask: what is private is so by our own doing.
            umask=0,
        )
        assert self.process.stdout is not None
        printed = ""
        for line in self.process.stdout:
            printed += line
            if "`make down` stops those" in line:
                return printed
        raise AssertionError(f"it never came up:\n{printed}")

    def interrupt(self) -> int:
        assert self.process is not None
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=60)
        return self.process.returncode

    def ask(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "engine.admin", *arguments, "-n", f"127.0.0.1:{self.namesrv_port}"]
        variables = self.environment | environment
        return subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, timeout=60)

    def admin(self, *arguments: str, **environment: str) -> str:
        done = self.ask(*arguments, **environment)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def engines(self) -> dict[str, psutil.Process]:
        """Engine processes of this data root, by the folder that they run in."""
        found = {}
        for process in psutil.process_iter(["cmdline"]):
            line = process.info["cmdline"] or []
            if "-m" in line and str(self.data) in line[-1] and process.status() != psutil.STATUS_ZOMBIE:
                found[Path(line[-1]).parent.name] = process
        return found

    def close(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for process in self.engines().values():
            process.kill()


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Up]:
    launcher = Up(tmp_path / "data")
    yield launcher
    launcher.close()


def _wait(what: object, seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not what():  # type: ignore[operator]
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.1)


def assert_changes_need_the_administrator(up: Up, printed: str) -> None:
    """Any process reads; what changes the cluster takes the file that only this user may read."""
    [file] = up.data.glob("hosts/local/clusters/local-*/secrets/administrator.yml")
    assert str(file) in printed
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "broker-a" in up.admin("clusterList")
    broker = f"127.0.0.1:{up.broker_port}"
    shorten = ("updateBrokerConfig", "-b", broker, "-k", "fileReservedTime", "-v", "1")
    for attack in (
        shorten,
        ("wipeWritePerm", "-b", "broker-a"),
        ("updateKvConfig", *["-s", "n", "-k", "k", "-v", "v"]),
    ):
        refused = up.ask(*attack)
        assert refused.returncode == 1 and "NO_PERMISSION" in refused.stderr, refused
    assert register_forged_broker(f"127.0.0.1:{up.namesrv_port}").code == 16
    assert "forged" not in up.admin("clusterList")
    # With the data root in the environment the command line finds the administrator by itself.
    up.admin("updateTopic", "-c", "DefaultCluster", "-t", "made", SIGNALBOX_DATA=str(up.data))
    assert "made" in up.admin("topicList")


def register_forged_broker(name_server: str) -> Command:
    fields = {"brokerName": "forged", "brokerAddr": "127.0.0.1:1", "clusterName": "DefaultCluster"}
    command = Command(RequestCode.REGISTER_BROKER, fields=fields | {"brokerId": "0", "haServerAddr": ""})

    async def ask() -> Command:
        requester = Requester(lambda request, connection: None)
        try:
            return await requester.request(name_server, command, 10_000)
        finally:
            await requester.close()

    return asyncio.run(ask())


def test_from_nothing_to_a_first_message_and_down_again(up: Up) -> None:
    # Spark is an extra: without Java everything but reports works, and that is said.
    up.environment["JAVA_HOME"] = str(up.data / "nowhere")
    printed = up.start()
    assert "Everything but reports works: Spark cannot run: no java" in printed
    password = re.search(r"Password: +(\S+)", printed)
    assert password is not None and len(password[1]) >= 12
    assert f'engine.admin sendMessage -n 127.0.0.1:{up.namesrv_port} -t hello -p "hi"' in printed
    up.admin("sendMessage", "-t", "hello", "-p", "hi there")
    assert "hi there" in up.admin("consumeMessage", "-t", "hello")
    assert open_to_others(up.data) == []
    first = up.engines()
    assert set(first) == {"namesrv-1", "broker-a-0", "broker-b-0"}
    assert_changes_need_the_administrator(up, printed)

    # A broker that is killed comes back by itself, with what was acknowledged.
    first["broker-a-0"].kill()
    _wait(lambda: up.engines().get("broker-a-0", first["broker-a-0"]).pid != first["broker-a-0"].pid)

    # Ctrl-C leaves brokers running, the same ones; a second `up` finds them and prints no password.
    running = {name: process.pid for name, process in up.engines().items()}
    assert up.interrupt() == 0
    assert {name: process.pid for name, process in up.engines().items()} == running
    for path in ("", "hosts", "hosts/local", "console/logs"):
        (up.data / path).chmod(0o755)
    for path in ("console/db.sqlite3", "console/logs/console.log", "console/up.pid"):
        (up.data / path).chmod(0o644)
    again = up.start()
    assert open_to_others(up.data) == [], "what an older release left open is put right"
    assert "Password" not in again
    assert {name: process.pid for name, process in up.engines().items()} == running

    down = up.run("down")
    assert down.returncode == 0, down.stderr
    assert "stopped" in down.stdout
    assert up.process is not None and up.process.wait(30) == 0
    assert up.engines() == {}

    # What was stopped in order is started again by the next `up`, and nothing is lost.
    up.start()
    assert "hi there" in up.admin("consumeMessage", "-t", "hello", "-g", "another")
    assert up.run("down").returncode == 0


def test_down_without_up_says_that_nothing_is_up(up: Up) -> None:
    done = up.run("down")
    assert done.returncode == 1
    assert "nothing is up" in done.stderr


def test_a_taken_port_is_named_before_anything_starts(up: Up) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", up.port))
        other.listen()
        done = up.run("up")
    assert done.returncode == 1
    assert f"port {up.port} is taken" in done.stderr
    assert "Redis" not in done.stdout
