"""Where this store's log started when it was last open, so that an open can tell what is gone.

    signalboxStore    one page: {"logStart":0}, padded with blanks to 4096 bytes

`logStart` is the commit-log offset at which the log starts. It is noted before segments are deleted, so a log
that starts later has lost segments that nobody deleted (or another engine did). The file is overwritten in
place: a full disk, on which segments must be deleted, has room for it. A page that cannot be read counts as
no page.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import orjson

from engine.errors import StoreError
from engine.protocol.layouts.store_files import segment_name
from engine.store.log.mapped_files import MappedFiles

LOG_START_FILE = "signalboxStore"
_PAGE_BYTES = 4096


def missing_segments(known_start: int | None, log_start: int, file_size: int) -> str | None:
    """A text that names what is gone when a log that started at `known_start` starts at `log_start`. Pure."""
    if known_start is None or log_start <= known_start:
        return None
    count = (log_start - known_start) // file_size
    are = "segments are" if count != 1 else "segment is"
    return (
        f"the commit log starts with {segment_name(log_start)}, but started with {segment_name(known_start)} "
        f"before: {count} {are} gone that this broker did not delete, with their messages"
    )


class LogStart:
    def __init__(self, root: Path, files: MappedFiles) -> None:
        self._path = root / LOG_START_FILE
        self._files = files
        self._log_start: int | None = None
        """None: nothing is known."""

    def check(self, *, is_strict: bool) -> str | None:
        """A text about what the log has lost at its front; StoreError instead if `is_strict`."""
        self._log_start = self._read()
        files = self._files
        if not files.files:
            return None
        missing = missing_segments(self._log_start, files.min_offset, files.file_size)
        if missing is not None and is_strict:
            raise StoreError(f"{missing}. Restore the files, or start without --strict")
        self.note()
        return missing

    def _read(self) -> int | None:
        with contextlib.suppress(FileNotFoundError, orjson.JSONDecodeError):
            match orjson.loads(self._path.read_bytes()):
                case {"logStart": int(log_start)} if log_start >= 0:
                    return log_start
        return None

    def note(self) -> None:
        """Where the log starts now. An empty one may still begin anywhere."""
        if self._files.files:
            self.note_start(self._files.min_offset)

    def note_start(self, log_start: int) -> None:
        """Durable when it returns. A failed write is ignored: it costs only a later warning."""
        if log_start == self._log_start:
            return
        self._log_start = log_start
        with contextlib.suppress(OSError):
            self._write(orjson.dumps({"logStart": log_start}).ljust(_PAGE_BYTES))

    def _write(self, page: bytes) -> None:
        fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            os.pwrite(fd, page, 0)
            os.fdatasync(fd)
        finally:
            os.close(fd)
