"""A disk of its own for one broker, as full as a test wants it: the control file of shims/small_disk.c.

Nothing is mounted, so it works for every user and in every container. Levels are those at which a broker
changes what it does (engine/store/retention.py); the disk is so large that no deletion of a test's few
megabytes brings it below the level again, which is how a broker on a disk that others fill sees it.
"""

from __future__ import annotations

import os
from pathlib import Path

from tests.crash.shims.build import shim

MB = 1 << 20
TOTAL_BYTES = 4096 * MB
EXPIRE_EARLY, FORCE, REFUSE, BRIM = "expire early", "force", "refuse", "brim"
LEVELS = (FORCE, REFUSE, BRIM)
_USED = {EXPIRE_EARLY: 0.80, FORCE: 0.875, REFUSE: 0.93}


class SmallDisk:
    def __init__(self, control: Path, root: Path) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self._control = control
        self._root = root.resolve()
        self._tell(0)
        self.environment = {
            "LD_PRELOAD": str(shim("small_disk")),
            "DISK_FILE": str(control),
            "DISK_ROOT": str(self._root),
        }

    def fill(self, level: str) -> None:
        """Others take so much that the disk is at this level; at the brim not another file fits."""
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
