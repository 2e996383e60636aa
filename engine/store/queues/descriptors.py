"""A bounded set of open queue files: whatever the number of queues, at most `capacity` descriptors.

Least recently used goes first. A file closed while it still has unsynced bytes loses nothing: a later sync
opens it again, and what a consume queue could lose is rebuilt from the commit log. One thread only.
"""

from __future__ import annotations

import os
from collections import OrderedDict

_FLAGS = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC


class Descriptors:
    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._open: OrderedDict[str, int] = OrderedDict()

    def __len__(self) -> int:
        return len(self._open)

    def get(self, path: str) -> int:
        """A descriptor of an existing file, good until the next call."""
        fd = self._open.get(path)
        if fd is not None:
            self._open.move_to_end(path)
            return fd
        return self._keep(path, os.open(path, _FLAGS))

    def create(self, path: str, size: int) -> int:
        """The same for a file that may not exist yet; a new one is sparse and has its full length."""
        fd = os.open(path, _FLAGS | os.O_CREAT, 0o600)
        try:
            if os.fstat(fd).st_size != size:
                os.ftruncate(fd, size)
        except OSError:
            os.close(fd)
            raise
        self.forget(path)
        return self._keep(path, fd)

    def _keep(self, path: str, fd: int) -> int:
        if len(self._open) >= self._capacity:
            os.close(self._open.popitem(last=False)[1])
        self._open[path] = fd
        return fd

    def forget(self, path: str) -> None:
        fd = self._open.pop(path, None)
        if fd is not None:
            os.close(fd)

    def close(self) -> None:
        for fd in self._open.values():
            os.close(fd)
        self._open.clear()
