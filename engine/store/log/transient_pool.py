"""The write buffer of `transientStorePoolEnable`: puts go to anonymous memory and reach the file later.

Puts then never touch the page cache, so writeback cannot stall them. The price is a loss window: what is not
yet committed dies with the process, also on kill -9: at most `commit_interval_ms` (200 ms) of messages when
the broker calls `commit` on time. Nothing uncommitted is readable, so no consumer sees what a crash takes
back.

One buffer serves all segments: a segment is committed in full before the next one begins.
"""

from __future__ import annotations

import mmap
import os

from engine.store.log.mapped_file import MappedFile


class TransientPool:
    def __init__(self, file_size: int) -> None:
        self.buffer = mmap.mmap(-1, file_size)
        self.committed_offset = 0

    def commit(self, file: MappedFile, end_offset: int) -> None:
        """Write what lies between the committed offset and `end_offset` (of this segment) into its file."""
        pos = self.committed_offset - file.base_offset
        end = end_offset - file.base_offset
        while pos < end:
            pos += os.pwrite(file.fd, self.buffer[pos:end], pos)
        self.committed_offset = max(self.committed_offset, end_offset)

    def close(self) -> None:
        self.buffer.close()
