"""One Spark on this host: started in a session of its own, measured, ended with everything it started.

Spark's Python workers make process groups of their own, so what is ended are all processes that carry the
run's token in their environment, which every child inherits. The lock file of the host is inherited by Java:
as long as it lives, however its agent ended, a second start finds the lock taken.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil

from clusters.provisioning.presence import TOKEN_VARIABLE, boot_id, read_pid_file

_LAUNCHER = Path(__file__).with_name("launcher.py")
_TERM_S = 8.0
_LOCK_S = 15.0
_PAUSE_S = 0.1


class HostBusy(Exception):
    """Another Spark of this host is still there."""


@contextmanager
def only_one(lock: Path, wait_s: float = _LOCK_S) -> Iterator[int]:
    """The handle that Spark is to inherit."""
    lock.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        _take(handle, time.monotonic() + wait_s)
        yield handle
    finally:
        os.close(handle)


def _take(handle: int, deadline: float) -> None:
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise HostBusy("another Spark of this host has not ended") from None
            time.sleep(_PAUSE_S)


class SparkProcess:
    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        log: Path,
        pid_file: Path,
        token: str,
        fence: int,
        niceness: int,
        lock: int,
    ) -> None:
        self.token = token
        about = (os.getpid(), pid_file, token, fence, niceness)
        launched = [sys.executable, "-I", str(_LAUNCHER), *map(str, about)]
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                [*launched, "--", *command],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env={**environment, TOKEN_VARIABLE: token},
                cwd=pid_file.parent,
                start_new_session=True,
                pass_fds=(lock,),
            )

    def exit_code(self) -> int | None:
        """None: it runs. As a shell says it: 128 and the number of the signal that ended it."""
        code = self._process.poll()
        return code if code is None or code >= 0 else 128 - code

    def memory_mb(self) -> int:
        """What its processes hold together; pages that they share are counted once."""
        return sum(_bytes_of(process) for process in members(self._process.pid)) // (1 << 20)

    def end(self) -> None:
        """Asked first, so that it can take away what it has half written. Returns when nothing is left."""
        end_all(self.token)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_TERM_S)


def members(session: int) -> list[psutil.Process]:
    found = []
    for pid in psutil.pids():
        with contextlib.suppress(OSError, psutil.Error):
            if os.getsid(pid) == session and (process := psutil.Process(pid)).status() != "zombie":
                found.append(process)
    return found


def carriers(token: str) -> list[psutil.Process]:
    """Processes that were started with the token, wherever they have gone since."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(OSError, psutil.Error):
            if process.environ().get(TOKEN_VARIABLE) == token and process.status() != "zombie":
                found.append(process)
    return found


def end_all(token: str) -> None:
    """By the token alone: a number of a session may be another's by now."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        left = carriers(token)
        for process in left:
            with contextlib.suppress(psutil.Error):
                process.send_signal(number)
        psutil.wait_procs(left, _TERM_S)
        if not carriers(token):
            return


def end_leftovers(pid_file: Path) -> bool:
    """What an earlier attempt left on this host. Whether there was something."""
    about = read_pid_file(pid_file)
    if about is None or about.boot != boot_id() or not carriers(about.token):
        return False
    end_all(about.token)
    return True


def _bytes_of(process: psutil.Process) -> int:
    try:
        return int(process.memory_full_info().pss)
    except (OSError, psutil.Error, AttributeError):
        return 0
