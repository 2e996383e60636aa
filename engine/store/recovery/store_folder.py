"""The store's root folder: whose it is, how it was left, and whether we can read it at all.

    lock    "lock", its first byte locked while a process has the store
    abort   the process id; there while running, so its presence at open means that nobody closed the store

The lock is an open-file-description lock: it also keeps out a second store of this very process, and the
plain POSIX locks of other engines.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import struct
from collections.abc import Iterator
from pathlib import Path

import orjson

from engine.errors import StoreLocked, UnsupportedStore

_FLOCK = "hhqqi4x"


class StoreFolder:
    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock_fd = -1
        self.was_closed = True

    @property
    def checkpoint_path(self) -> Path:
        return self._root / "checkpoint"

    @property
    def _abort_path(self) -> Path:
        return self._root / "abort"

    def open(self, commit_log_dir: Path) -> None:
        """Lock, look, and note how the last owner left. Nothing is changed when the store is refused."""
        self._root.mkdir(parents=True, exist_ok=True)
        self._lock()
        try:
            refuse_unsupported(self._root, commit_log_dir)
        except UnsupportedStore:
            self.unlock()
            raise
        self.was_closed = not self._abort_path.exists()

    def _lock(self) -> None:
        fd = os.open(self._root / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.fcntl(fd, fcntl.F_OFD_SETLK, struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0))
        except OSError as error:
            os.close(fd)
            raise StoreLocked(f"another process uses the store in {self._root}") from error
        with _full_disk_suppressed():
            os.pwrite(fd, b"lock", 0)
        self._lock_fd = fd

    def mark_running(self) -> None:
        """Written over the old content, whose block may be the last one of a full disk. Only the file's
        presence counts, so a new one may stay empty there."""
        process_id = str(os.getpid()).encode()
        fd = os.open(self._abort_path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        try:
            with _full_disk_suppressed():
                os.pwrite(fd, process_id, 0)
                os.ftruncate(fd, len(process_id))
        finally:
            os.close(fd)
        self._sync()

    def mark_closed(self) -> None:
        self._abort_path.unlink(missing_ok=True)
        self._sync()

    def _sync(self) -> None:
        fd = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def unlock(self) -> None:
        if self._lock_fd >= 0:
            os.close(self._lock_fd)
            self._lock_fd = -1


@contextlib.contextmanager
def _full_disk_suppressed() -> Iterator[None]:
    """For files of which only the presence, or a lock on them, counts."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise


def refuse_unsupported(root: Path, commit_log_dir: Path) -> None:
    """Stores that other engines or options wrote, and of which we would show only a part."""
    found = _unsupported(root, commit_log_dir)
    if found is not None:
        raise UnsupportedStore(f"{root}: {found}; Signalbox does not open such stores")


def _unsupported(root: Path, commit_log_dir: Path) -> str | None:
    if "," in str(commit_log_dir):
        return "the commit log is spread over several paths (storePathCommitLog has a comma)"
    if _has_entries(root / "consumequeue_r") or _rocksdb_config(root / "config"):
        return "queues or configuration are kept in RocksDB"
    if any(root.glob("dledger-*")) or any(commit_log_dir.parent.glob("dledger-*")):
        return "the commit log is a DLedger log"
    if any(root.glob("[tT]iered*")) or (root / "config" / "tieredStoreMetadata.json").exists():
        return "messages are in tiered storage"
    if _has_files(root / "batchconsumequeue"):
        return "there are BatchCQ topics (batchconsumequeue)"
    if _has_static_topics(root / "config" / "topicQueueMapping.json"):
        return "there are static topics (topicQueueMapping.json)"
    return None


def _has_entries(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())


def _has_files(folder: Path) -> bool:
    return folder.is_dir() and any(entry.is_file() for entry in folder.rglob("*"))


def _rocksdb_config(folder: Path) -> bool:
    """RocksDB keeps a file CURRENT in each of its folders."""
    return folder.is_dir() and any(folder.glob("*/CURRENT"))


def _has_static_topics(path: Path) -> bool:
    with contextlib.suppress(FileNotFoundError, orjson.JSONDecodeError):
        mapping = orjson.loads(path.read_bytes())
        return isinstance(mapping, dict) and bool(mapping.get("topicQueueMappingInfoMap"))
    return False
