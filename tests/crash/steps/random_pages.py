"""The broker with segments whose pages the kernel writes one by one: no read-ahead, no large folios.

Only then does a sync of chosen pages persist these and no others, as a power cut does with a disk's cache.
`FALLOCATED=1` leaves out the zeros that are written into a segment in advance.
"""

from __future__ import annotations

import mmap
import os
import sys
from pathlib import Path

from engine.broker.main import main
from engine.store.log.mapped_file import MappedFile

_allocate = MappedFile.allocate
_open = MappedFile.open


def _allocate_random(path: Path, size: int, pretouch_bytes: int = 0) -> MappedFile:
    file = _allocate(path, size, 0 if os.environ.get("FALLOCATED") else pretouch_bytes)
    # The zeros came in large folios, which would be written back whole: only small pages come again.
    os.fsync(file.fd)
    os.posix_fadvise(file.fd, 0, 0, os.POSIX_FADV_DONTNEED)
    assert file.map is not None
    file.map.madvise(mmap.MADV_RANDOM)
    return file


def _open_random(file: MappedFile) -> mmap.mmap:
    mapped = _open(file)
    mapped.madvise(mmap.MADV_RANDOM)
    return mapped


if __name__ == "__main__":
    MappedFile.allocate = _allocate_random  # type: ignore[method-assign,assignment]
    MappedFile.open = _open_random  # type: ignore[method-assign]
    sys.exit(main())
