"""Brings many small files to the disk: one by one, or their whole file system at once.

A broker with 100,000 topics may have as many queue files to sync. One fdatasync each takes minutes; syncfs
writes them all back together and takes about a second, but it also waits for what other programs have
written to the same file system, so it is used for many files only. Since Linux 5.8 (5.12 for overlayfs) it
reports failed writes, to each descriptor that was open when they failed: hence a descriptor that is kept from
open to close. Because the failed file may be somebody else's, a failure is looked at again, file by file.

Blocking. `run` may be called in any thread, one call at a time.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import stat
from collections.abc import Callable, Collection

MANY_FILES = 128
# Out of descriptors, memory or room is no lost write: nothing was dropped, the next round tries again.
PASSING = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC, errno.EDQUOT)
_FIRST_KERNEL = (5, 12)


class FileSync:
    """`open` before the first write to any of the files, `run` as often as needed, `close`."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._fd = -1

    def open(self) -> None:
        if _syncfs is not None and self._fd < 0:
            self._fd = os.open(self._directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def run(self, paths: Collection[str]) -> None:
        """Raises the OSError of a file that could not be written; files that are gone do not matter."""
        if len(paths) >= MANY_FILES and self._sync_file_system():
            # Others, the index for one, may lie in another file system.
            inside = f"{self._directory}/"
            paths = [path for path in paths if not f"{path}/".startswith(inside)]
        for path in paths:
            _sync_path(path)

    def _sync_file_system(self) -> bool:
        return _syncfs is not None and self._fd >= 0 and _syncfs(self._fd) == 0

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _sync_path(path: str) -> None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return  # deleted since the plan was made
    try:
        sync: Callable[[int], None] = os.fsync if stat.S_ISDIR(os.fstat(fd).st_mode) else os.fdatasync
        sync(fd)
    finally:
        os.close(fd)


def reports_failed_writes(kernel_release: str) -> bool:
    """Whether syncfs of this kernel ("6.1.0-13-amd64") tells of writes that failed."""
    found = re.match(r"([0-9]+)\.([0-9]+)", kernel_release)
    return found is not None and (int(found[1]), int(found[2])) >= _FIRST_KERNEL


def _find_syncfs() -> Callable[[int], int] | None:
    """The C library's function, which Python does not offer; None where it is not good enough."""
    if not reports_failed_writes(os.uname().release):
        return None
    try:
        found: Callable[[int], int] = ctypes.CDLL(None, use_errno=True).syncfs
    except (OSError, AttributeError):
        return None
    return found


_syncfs = _find_syncfs()
