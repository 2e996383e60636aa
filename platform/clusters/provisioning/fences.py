"""Only one acts on a process's folder at a time, and never one who was replaced.

`fence` in the folder holds the highest number that acted; whoever acts holds it locked and writes its own.
Numbers come from the process's row, raised by whoever has the step or looks after the host (`inventory.py`),
so a worker that slept through the end of its lease finds a higher number here and does nothing. The kernel
releases the lock of a killed worker.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Outdated(Exception):
    """Somebody with a higher fence has acted on this process since."""


class Busy(Exception):
    """Somebody acts on this process at this moment."""


@contextmanager
def hold(path: Path, fence: int, *, waits: bool) -> Iterator[None]:
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        _lock(handle, waits)
        highest = int(os.pread(handle, 32, 0) or b"0")
        if fence < highest:
            raise Outdated(f"fence {fence} is over: {highest} has acted on {path.parent.name}")
        # In place: numbers only grow, and on a full disk a file that was emptied first would stay empty.
        os.pwrite(handle, str(fence).encode(), 0)
        os.fsync(handle)
        yield
    finally:
        os.close(handle)


def _lock(handle: int, waits: bool) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX if waits else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise Busy("another worker acts on this process") from None
