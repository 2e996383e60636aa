"""Power cuts: two ways to take away from a broker everything that it did not sync.

`Platter` needs no rights: a shim copies what is synced (see shims/platter.c), and after kill -9 the store is
put together from those copies. `Ext4Disk` is the real thing, for root: a loop device whose file system is
shut down without flushing its journal.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import struct
import subprocess
from pathlib import Path

from tests.crash.cluster import Broker
from tests.crash.shims.build import shim

_EXT4_IOC_SHUTDOWN = 0x8004587D
_NO_LOG_FLUSH = struct.pack("I", 2)


class Platter:
    """Watches one store of one broker; after each cut the broker goes on with a new store."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._cuts = 0
        self.store = folder / "store-0"
        self.store.mkdir(parents=True)
        self._clear()

    @property
    def tree(self) -> Path:
        return self._folder / f"platter-{self._cuts}"

    @property
    def environment(self) -> dict[str, str]:
        return {
            "LD_PRELOAD": str(shim("platter")),
            "PLATTER_STORE": str(self.store),
            "PLATTER_TREE": str(self.tree),
        }

    def cut(self, broker: Broker) -> None:
        """kill -9, then only what was synced is left."""
        broker.kill()
        survived, old_store = self.tree, self.store
        self._cuts += 1
        self.store = self._folder / f"store-{self._cuts}"
        (survived / "tree").rename(self.store)
        shutil.rmtree(survived)
        shutil.rmtree(old_store)
        self._clear()
        self._remember_survivors()
        broker.use_store(self.store)
        broker.use_environment(**self.environment)

    def _clear(self) -> None:
        for name in ("ino", "tree", "tmp"):
            (self.tree / name).mkdir(parents=True)

    def _remember_survivors(self) -> None:
        """What one cut left is on the platter for the next one, too."""
        for path in self.store.rglob("*"):
            if not path.is_file():
                continue
            inode = self.tree / "ino" / str(path.stat().st_ino)
            subprocess.run(["cp", "--sparse=always", "--", str(path), str(inode)], check=True)
            name = self.tree / "tree" / path.relative_to(self.store)
            name.parent.mkdir(parents=True, exist_ok=True)
            os.link(inode, name)


class Ext4Disk:
    """A file system of its own in a file; `cut` is a power failure of the whole disk.

    It is mounted in a shared room. A process that enters another namespace (`ip netns exec` of a test beside
    this one) takes along a copy of every mount; of a private one it would keep its copy, so that the file
    system stayed alive after the unmount, and the next mount would be of the dead one: EIO.
    """

    def __init__(self, folder: Path, size_mb: int = 256) -> None:
        self._image = folder / "disk.img"
        self._room = folder / "room"
        self.mount_point = self._room / "disk"
        self.mount_point.mkdir(parents=True)
        subprocess.run(["mount", "--bind", str(self._room), str(self._room)], check=True)
        subprocess.run(["mount", "--make-shared", str(self._room)], check=True)
        with self._image.open("wb") as image:
            image.truncate(size_mb << 20)
        subprocess.run(["mkfs.ext4", "-q", "-F", str(self._image)], check=True, capture_output=True)
        self._mount()

    @property
    def store(self) -> Path:
        return self.mount_point / "store"

    def shut_down(self) -> None:
        """From now on every write and every sync of this disk fails with EIO."""
        folder = os.open(self.mount_point, os.O_RDONLY)
        try:
            fcntl.ioctl(folder, _EXT4_IOC_SHUTDOWN, _NO_LOG_FLUSH)
        finally:
            os.close(folder)

    def cut(self, broker: Broker) -> None:
        broker.freeze()  # a machine without power does not live to see its disk fail
        self.shut_down()
        broker.kill()
        self.remount()

    def remount(self) -> None:
        """What comes back is what reached the disk."""
        subprocess.run(["umount", str(self.mount_point)], check=True)
        self._mount()

    def close(self) -> None:
        for mounted in (self.mount_point, self._room):
            subprocess.run(["umount", str(mounted)], check=True)

    def _mount(self) -> None:
        subprocess.run(["mount", "-o", "loop", str(self._image), str(self.mount_point)], check=True)
