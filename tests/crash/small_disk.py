"""A disk of its own for one broker, as full as a test wants it: pretended or mounted.

`SmallDisk` is the control file of shims/small_disk.c. Nothing is mounted, so it works for every user and in
every container, and it is so large that no deletion of a test's few megabytes brings it below a level again,
which is how a broker on a disk that others fill sees it. `MountedDisk` is a small file system in memory, for
whoever may mount: there a page that was never allocated cannot be written, either.

Levels are those at which a broker changes what it does (engine/store/retention.py).
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from tests.crash.shims.build import shim

MB = 1 << 20
TOTAL_BYTES = 4096 * MB
EXPIRE_EARLY, FORCE, REFUSE, BRIM = "expire early", "force", "refuse", "brim"
LEVELS = (FORCE, REFUSE, BRIM)
_USED = {EXPIRE_EARLY: 0.80, FORCE: 0.875, REFUSE: 0.93}


class Disk(Protocol):
    environment: Mapping[str, str]

    def fill(self, level: str) -> None:
        """Others take so much that the disk is at this level; at the brim not another file fits."""

    def free(self) -> None: ...


class SmallDisk:
    def __init__(self, control: Path, root: Path) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self._control = control
        self._root = root.resolve()
        self._tell(0)
        self.environment: Mapping[str, str] = {
            "LD_PRELOAD": str(shim("small_disk")),
            "DISK_FILE": str(control),
            "DISK_ROOT": str(self._root),
        }

    def fill(self, level: str) -> None:
        if level == BRIM:
            self._tell(TOTAL_BYTES - occupied_bytes(self._root))
        else:
            self._tell(int(TOTAL_BYTES * _USED[level]))

    def free(self) -> None:
        self._tell(0)

    def _tell(self, others_bytes: int) -> None:
        spare = self._control.with_suffix(".new")
        spare.write_text(f"{TOTAL_BYTES} {others_bytes}\n")
        spare.rename(self._control)


class MountedDisk:
    def __init__(self, mount_point: Path, size_bytes: int = 96 * MB) -> None:
        mount_point.mkdir(parents=True)
        options = f"size={size_bytes}"
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", str(mount_point)], check=True)
        self.mount_point = mount_point
        self.environment: Mapping[str, str] = {}
        self._ballast = mount_point / "ballast"

    def close(self) -> None:
        subprocess.run(["umount", str(self.mount_point)], check=True)

    def fill(self, level: str) -> None:
        self.free()
        room = os.statvfs(self.mount_point)
        kept_bytes = 0 if level == BRIM else int(room.f_blocks * room.f_frsize * (1 - _USED[level]))
        with self._ballast.open("wb") as ballast:
            take_room(ballast.fileno(), leave_bytes=kept_bytes)

    def free(self) -> None:
        self._ballast.unlink(missing_ok=True)


def take_room(fd: int, leave_bytes: int) -> None:
    """Makes this file so large that only so much is left. Again when a broker was quicker than us."""
    while True:
        os.ftruncate(fd, 0)
        room = os.fstatvfs(fd)
        size = room.f_bavail * room.f_bsize - leave_bytes
        if size <= 0:
            return
        with contextlib.suppress(OSError):
            os.posix_fallocate(fd, 0, size)
            return


def occupied_bytes(folder: Path) -> int:
    """As `du` counts; files may go meanwhile."""
    found = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                found += os.lstat(Path(parent) / name).st_blocks * 512
            except FileNotFoundError:
                continue
    return found
