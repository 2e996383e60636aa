"""What an operator is told when a process does not start because its disk is full."""

from __future__ import annotations

import errno
import os
from pathlib import Path

LITTLE_BYTES = 4 << 20
"""With less, a process that ended may have found no room even for its last words."""
WHAT_TO_DO = "free space there, and it starts by itself"


def is_full(error: OSError) -> bool:
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


def full_disk(label: str, error: OSError) -> str:
    where = error.filename or "a file"
    return f"the disk of {label} is full: {WHAT_TO_DO} ({where}: {error.strerror})"


def little_room(folder: Path) -> str:
    """Behind the reason why a process ended; nothing where there is room."""
    room = os.statvfs(folder)
    left = room.f_bavail * room.f_frsize
    return "" if left > LITTLE_BYTES else f"; its disk has {left // 1024} KB left: {WHAT_TO_DO}"
