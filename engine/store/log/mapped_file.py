"""One segment of the commit log: a file of fixed size, mapped into memory.

`posix_fallocate` gives it all its blocks before the first byte is written, because a write through a map onto
a full disk kills the process (SIGBUS) instead of failing. A Python map keeps a descriptor of its own; ours is
needed for syncs only, and is closed once the segment is full and synced. Old segments may be unmapped: reads
then open the file for the moment.

Not thread safe, except that `allocate` touches nothing shared.
"""

from __future__ import annotations

import mmap
import os
from pathlib import Path

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_WRITE = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
_TOUCH_SLICE = bytes(1 << 20)
_AHEAD_SLICE = 128 << 10
"""As much as the kernel reads ahead in one call, by default."""


class MappedFile:
    __slots__ = ("base_offset", "fd", "map", "path", "size")

    def __init__(self, path: Path, base_offset: int, size: int) -> None:
        self.path = path
        self.base_offset = base_offset
        self.size = size
        self.fd = -1
        self.map: mmap.mmap | None = None

    @classmethod
    def allocate(cls, path: Path, size: int, pretouch_bytes: int = 0) -> MappedFile:
        """A new file with all its blocks, or OSError and no file. It has no place in the log yet."""
        file = cls(path, -1, size)
        file.fd = os.open(path, _WRITE | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.posix_fallocate(file.fd, 0, size)
            for pos in range(0, min(pretouch_bytes, size), len(_TOUCH_SLICE)):
                os.pwrite(file.fd, _TOUCH_SLICE[: size - pos], pos)
            file.map = mmap.mmap(file.fd, size)
        except OSError as error:
            file.delete()
            error.filename = str(path)
            raise
        return file

    @property
    def end_offset(self) -> int:
        return self.base_offset + self.size

    def open(self) -> mmap.mmap:
        """Map for writing, with a descriptor for syncs."""
        if self.fd < 0:
            self.fd = os.open(self.path, _WRITE)
        if self.map is None:
            self.map = mmap.mmap(self.fd, self.size)
        return self.map

    def map_only(self) -> mmap.mmap:
        """Map without keeping a descriptor for syncs."""
        if self.map is None:
            fd = os.open(self.path, _WRITE)
            try:
                self.map = mmap.mmap(fd, self.size)
            finally:
                os.close(fd)
        return self.map

    def move_to(self, path: Path, base_offset: int) -> None:
        os.rename(self.path, path)
        self.path = path
        self.base_offset = base_offset

    def read(self, pos: int, size: int) -> bytes:
        if self.map is not None:
            return self.map[pos : pos + size]
        fd = os.open(self.path, _READ)
        try:
            return os.pread(fd, size, pos)
        finally:
            os.close(fd)

    def read_ahead(self, pos: int, end: int) -> None:
        """Bring pages into memory before they are written to; any thread. A page that is missing then costs
        the writer a fault, and with it whatever the device calls read-ahead (8 MiB of zeros, on some)."""
        try:
            fd = os.open(self.path, _READ)
        except OSError:
            return  # it is only advice
        try:
            while pos < end:
                os.posix_fadvise(fd, pos, min(_AHEAD_SLICE, end - pos), os.POSIX_FADV_WILLNEED)
                pos += _AHEAD_SLICE
        finally:
            os.close(fd)

    def zero_from(self, pos: int) -> None:
        """Make everything behind `pos` zeros: what a crash left there must never come back to life.

        Only extents that hold data are looked at, and only slices that are not zero yet are written: a fresh
        segment of 1 GiB costs nothing, and no block is ever freed.
        """
        self.open()
        os.posix_fadvise(self.fd, 0, 0, os.POSIX_FADV_RANDOM)
        for start, end in self._written_extents(pos):
            while start < end:
                piece = os.pread(self.fd, min(len(_TOUCH_SLICE), end - start), start)
                if piece != _TOUCH_SLICE[: len(piece)]:
                    os.pwrite(self.fd, _TOUCH_SLICE[: len(piece)], start)
                start += len(piece)

    def _written_extents(self, pos: int) -> list[tuple[int, int]]:
        """Where there may be anything but zeros. All of them before any is read: pages that read-ahead brings
        in look like data too, and would be read in turn, to the end of the file."""
        extents = []
        while pos < self.size:
            try:
                start = max(pos, os.lseek(self.fd, pos, os.SEEK_DATA))
                pos = os.lseek(self.fd, start, os.SEEK_HOLE)
            except OSError:  # ENXIO: no data from here on
                break
            extents.append((start, pos))
        return extents

    def unmap(self) -> None:
        if self.map is not None:
            self.map.close()
            self.map = None

    def close_descriptor(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def close(self) -> None:
        self.unmap()
        self.close_descriptor()

    def delete(self) -> None:
        self.close()
        self.path.unlink(missing_ok=True)
