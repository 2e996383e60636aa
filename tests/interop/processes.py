"""Child processes of the harness: servers with a log file, and shells that are spoken to line by line.

Every child is in ``_LIVE`` until it has been reaped, and whatever is left when Python ends is killed: a
failing test must not leave a JVM behind.
"""

from __future__ import annotations

import atexit
import contextlib
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.ports import free_port

_LIVE: set[subprocess.Popen[str]] = set()
STOP_TIMEOUT_S = 30
START_TIMEOUT_S = 180
"""Apache's servers take 10 s on a machine of two cores that is quiet, and over a minute on a busy one."""
# Quick to start and small: two cores are shared by everything.
JVM_FLAGS = (
    "-Xmx384m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:MaxDirectMemorySize=512m",
    "-Djava.net.preferIPv4Stack=true",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
)


class DiedEarly(RuntimeError):
    """A server ended, or was not ready in time; the text is the end of its log."""


class Server:
    """A background process that writes into one log file."""

    def __init__(
        self,
        command: Sequence[str],
        log_path: Path,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> None:
        self.log_path = log_path
        with log_path.open("ab") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=env, cwd=cwd, text=True
            )
        _LIVE.add(self._process)

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_until(self, is_ready: Callable[[], bool], timeout_s: float = START_TIMEOUT_S) -> None:
        deadline = time.monotonic() + timeout_s
        while not is_ready():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise DiedEarly(f"exit {self._process.poll()}: {self.log_path.read_text()[-4000:]}")
            time.sleep(0.1)

    def stop(self) -> int:
        """SIGTERM, and wait for the process's own clean end."""
        return self._end(signal.SIGTERM)

    def kill(self) -> int:
        """SIGKILL: what a crash of the process leaves behind."""
        return self._end(signal.SIGKILL)

    def _end(self, number: signal.Signals) -> int:
        if self._process.poll() is None:
            self._process.send_signal(number)
        try:
            return self._process.wait(STOP_TIMEOUT_S)
        finally:
            if self._process.poll() is None:
                self._process.kill()
                self._process.wait()
            _LIVE.discard(self._process)


class Shell:
    """A process that answers on standard output what it is told on standard input."""

    def __init__(self, command: Sequence[str], log_path: Path, env: Mapping[str, str] | None = None) -> None:
        self._log_path = log_path
        with log_path.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=env,
                cwd=log_path.parent,  # some commands of mqadmin leave files where they stand
                text=True,
                encoding="utf-8",
            )
        _LIVE.add(self._process)

    def tell(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def hear(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise DiedEarly(f"exit {self._process.wait()}: {self._log_path.read_text()[-4000:]}")
        return line.rstrip("\n")

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()
        _LIVE.discard(self._process)

    def close(self) -> None:
        """End of input ends the shell."""
        with contextlib.suppress(BrokenPipeError):
            self._process.communicate(timeout=STOP_TIMEOUT_S)
        _LIVE.discard(self._process)


def free_port_base() -> int:
    """A port p with p-2 (VIP), p and p+1 (HA) free."""
    return free_port(-2, 1)


@atexit.register
def _kill_what_is_left() -> None:
    for process in list(_LIVE):
        process.kill()
