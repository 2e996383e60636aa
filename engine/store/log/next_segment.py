"""The commit log's next segment, made ready by a thread before a put needs it.

Allocating and zeroing take long, so `prepare` does them without the lock; the lock covers only the hand-over.
A put that finds nothing ready allocates in line. A prepared file has no place in the log until it is taken:
it lies beside the log's folder (in it, if that is a disk of its own), because other engines take every file
in there for a segment. A crash leaves at most such a `prepared-N.tmp`, which the next open removes.
"""

from __future__ import annotations

import itertools
import threading
from pathlib import Path

from engine.store.log.mapped_file import MappedFile
from engine.store.log.mapped_files import PREPARED_SUFFIX

_NAME = "prepared-"


class NextSegment:
    """`prepare` may run in any thread; the rest belongs to the writer."""

    def __init__(self, directory: Path, file_size: int, pretouch_bytes: int) -> None:
        self._log_directory = directory
        self._file_size = file_size
        self._pretouch_bytes = pretouch_bytes
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._ready: MappedFile | None = None
        self._is_closed = False

    @property
    def is_ready(self) -> bool:
        return self._ready is not None

    def prepare(self) -> bool:
        """Make one ready. OSError (no room, no descriptor) leaves things as they were."""
        if self._ready is not None or self._is_closed:
            return False
        file = MappedFile.allocate(self._fresh_path(), self._file_size, self._pretouch_bytes)
        with self._lock:
            if self._ready is None and not self._is_closed:
                self._ready = file
                return True
        file.delete()
        return False

    def take(self) -> MappedFile:
        """The prepared segment, or one made now; OSError when there is no room for it."""
        with self._lock:
            file, self._ready = self._ready, None
        return file or MappedFile.allocate(self._fresh_path(), self._file_size)

    def sweep(self) -> None:
        """Remove what a crash left."""
        for path in self._nursery().glob(f"{_NAME}*{PREPARED_SUFFIX}"):
            path.unlink()

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            file, self._ready = self._ready, None
        if file is not None:
            file.delete()

    def _fresh_path(self) -> Path:
        return self._nursery() / f"{_NAME}{next(self._numbers)}{PREPARED_SUFFIX}"

    def _nursery(self) -> Path:
        """The log's folder or the one above: a prepared file is later renamed, which needs one filesystem."""
        folder, above = self._log_directory, self._log_directory.parent
        return above if above.stat().st_dev == folder.stat().st_dev else folder
