"""A write that is whole or raises.

On a disk that is just full `pwrite` takes what fits and says how much that was: whoever does not look counts
bytes that were never written. Here the rest is tried again, and then the kernel says why not. What was
written of it lies behind the end that the caller knows, and is overwritten next time. Any thread.
"""

from __future__ import annotations

import os

from engine.durable_file import named


def pwrite_all(fd: int, data: bytes | bytearray | memoryview, position: int) -> None:
    view = memoryview(data)
    while view:
        try:
            written = os.pwrite(fd, view, position)
        except OSError as error:
            raise named(error, fd) from None
        position += written
        view = view[written:]
