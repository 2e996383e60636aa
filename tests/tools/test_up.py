"""`make up` as its user meets it: real processes, free ports, the lines that it prints."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ports import free_port

ROOT = Path(__file__).parents[2]


class Up:
    def __init__(self, data: Path) -> None:
        self.namesrv_port, self.broker_port = free_port(), free_port(-2)
        self.arguments = ["--namesrv-port", str(self.namesrv_port), "--broker-port", str(self.broker_port)]
        self.arguments += ["--data", str(data)]
        self._process: subprocess.Popen[str] | None = None

    def run(self, *more: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "tools.up", *self.arguments, *more]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)

    def start(self) -> str:
        """What it prints until it is up."""
        command = [sys.executable, "-m", "tools.up", *self.arguments]
        self._process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        printed = ""
        for line in self._process.stdout:
            printed += line
            if "stops both" in line:
                return printed
        raise AssertionError(f"it never came up:\n{printed}")

    def admin(self, *arguments: str) -> str:
        command = [sys.executable, "-m", "engine.admin", *arguments, "-n", f"127.0.0.1:{self.namesrv_port}"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def interrupt(self) -> int:
        assert self._process is not None
        self._process.send_signal(signal.SIGINT)
        self._process.communicate(timeout=60)
        return self._process.returncode

    def wait(self) -> int:
        assert self._process is not None
        return self._process.wait(timeout=60)

    def close(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.communicate(timeout=60)


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Up]:
    launcher = Up(tmp_path / "data")
    yield launcher
    launcher.close()


def _is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_the_lines_it_prints_send_and_receive_a_first_message(up: Up) -> None:
    printed = up.start()
    assert f'engine.admin sendMessage -n 127.0.0.1:{up.namesrv_port} -t hello -p "hi"' in printed
    up.admin("sendMessage", "-t", "hello", "-p", "hi there")
    assert "hi there" in up.admin("consumeMessage", "-t", "hello")
    assert up.interrupt() == 0
    assert not _is_listening(up.namesrv_port)
    assert not _is_listening(up.broker_port)


def test_down_stops_it_and_says_so(up: Up) -> None:
    up.start()
    assert up.run("--stop").stdout == "stopped\n"
    assert up.wait() == 0


def test_down_without_up_says_that_nothing_is_up(up: Up) -> None:
    done = up.run("--stop")
    assert done.returncode == 1
    assert "nothing is up" in done.stderr


def test_a_taken_port_is_named_before_anything_starts(up: Up) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", up.broker_port))
        other.listen()
        done = up.run()
    assert done.returncode == 1
    assert f"port {up.broker_port} is taken" in done.stderr
    assert "ready on" not in done.stdout
