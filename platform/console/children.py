"""The parts of the console as children of `manage.py up`: started, watched, restarted, stopped in order.

They lead sessions of their own, so that a Ctrl-C reaches `up` alone and the order of stopping stays ours; the
kernel ends them should `up` itself be killed. Their lines go to console/logs/<name>.log below the data root.
Engine processes are not among them: those belong to the agent and outlive it.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_STOP_S = 20.0
_MOST_ENDS = 5
_ENDS_WITHIN_S = 60.0
_LOG_LIMIT = 16 * 1024 * 1024


class ChildFailed(Exception):
    """A part of the console does not stay up."""


class Child:
    def __init__(self, name: str, command: Sequence[str], logs: Path, environment: Mapping[str, str]) -> None:
        self.name = name
        self._command, self._environment = list(command), dict(environment)
        self._log = logs / f"{name}.log"
        self._ends: list[float] = []
        self.process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        if self._log.exists() and self._log.stat().st_size > _LOG_LIMIT:
            self._log.replace(self._log.with_suffix(".log.1"))
        with self._log.open("ab") as log:
            return subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._environment,
                start_new_session=True,
                preexec_fn=_die_with_parent,
            )

    def keep_up(self, now: float) -> bool:
        """Whether it had to be started again."""
        code = self.process.poll()
        if code is None:
            return False
        self._ends = [*(at for at in self._ends if now - at < _ENDS_WITHIN_S), now]
        if len(self._ends) >= _MOST_ENDS:
            raise ChildFailed(
                f"the {self.name} ended {_MOST_ENDS} times (exit code {code}): {self.last_words()}"
            )
        self.process = self._start()
        return True

    def refuse_ended(self) -> None:
        code = self.process.poll()
        if code is not None:
            raise ChildFailed(f"the {self.name} ended with exit code {code}: {self.last_words()}")

    def last_words(self) -> str:
        lines = self._log.read_text(errors="replace").strip().splitlines()
        return f"{lines[-1][-300:] if lines else 'it printed nothing'} ({self._log})"

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() == 1:
        # It was killed between the fork and here.
        os._exit(1)


def clock() -> float:
    return time.monotonic()
