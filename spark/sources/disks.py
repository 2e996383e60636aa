"""The disks that stores lie on: how large they are and what is free, as far as this machine can say.

A store that is a URI, or lies on another machine, has no disk here: then nothing is known, and nothing is
made up. Stores on one file system share its room, so they share its name, which is where it is mounted.
"""

from __future__ import annotations

import os
from typing import Any

from spark.sources.files import is_local
from spark.sources.stores import Store

__all__ = ["disk_row"]


def disk_row(store: Store) -> dict[str, Any]:
    """As `spark.transforms.disks.DISKS`."""
    unknown = {"store": store.place, "disk": None, "total_bytes": None, "free_bytes": None}
    if not is_local(store.place):
        return unknown
    try:
        disk, found = _mount_point(os.path.realpath(store.place)), os.statvfs(store.place)
    except OSError:
        return unknown
    # What only root may use is not room for a broker.
    used = (found.f_blocks - found.f_bfree) * found.f_frsize
    free = found.f_bavail * found.f_frsize
    return {"store": store.place, "disk": disk, "total_bytes": used + free, "free_bytes": free}


def _mount_point(path: str) -> str:
    while not os.path.ismount(path):
        path = os.path.dirname(path)
    return path
