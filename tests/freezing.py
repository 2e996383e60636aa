"""A process that stands still: SIGSTOP works only once one of its threads has been given a processor."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

_STOPPED = frozenset("Tt")
_PATIENCE_S = 30.0


def freeze(pid: int) -> None:
    """Returns when no thread of it runs any more: on a busy machine others go on until then."""
    os.kill(pid, signal.SIGSTOP)
    deadline = time.monotonic() + _PATIENCE_S
    while not _stands_still(pid):
        assert time.monotonic() < deadline, f"process {pid} does not stop"
        time.sleep(0.001)


def thaw(pid: int) -> None:
    os.kill(pid, signal.SIGCONT)


def _stands_still(pid: int) -> bool:
    for stat in Path(f"/proc/{pid}/task").glob("*/stat"):
        try:
            # The name, in brackets, may hold anything.
            state = stat.read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if state not in _STOPPED:
            return False
    return True
