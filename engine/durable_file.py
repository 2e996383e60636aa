"""Small files that must survive a crash at any moment: whole old content or whole new content, never a mix.

A write goes to `<name>.tmp`, is synced, the previous file is kept as `<name>.bak`, the new one is renamed
into place, and the directory is synced. A crash leaves either the old file, or no file and a good .bak, or
the new file. On a full disk the .bak becomes the .tmp and is written over: what does not grow can still be
saved, and no block is given back that another writer could take first. A read that finds the file missing,
empty or torn (the caller's `parse` says so) takes the .bak.
Blocking; any thread, but one writer per path.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

_T = TypeVar("_T")


def write_durable(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".tmp")
    backup = path.with_name(path.name + ".bak")
    try:
        _write_synced(temporary, data)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT) or not (path.exists() and backup.exists()):
            raise
        os.replace(backup, temporary)
        _write_synced(temporary, data)
    with contextlib.suppress(FileNotFoundError):
        os.replace(path, backup)
    os.replace(temporary, path)
    sync_directory(path.parent)


def _write_synced(temporary: Path, data: bytes) -> None:
    """Over what is there, if anything: its blocks may be the only ones left."""
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os.ftruncate(descriptor, len(data))
        os.fsync(descriptor)
    except OSError as error:
        raise named(error, descriptor) from None
    finally:
        os.close(descriptor)


def named(error: OSError, descriptor: int) -> OSError:
    """The same error with the file's name: a failed write through a descriptor has none, and whoever makes
    room must know where."""
    if error.filename is None:
        with contextlib.suppress(OSError):
            error.filename = os.readlink(f"/proc/self/fd/{descriptor}")
    return error


def pwrite_all(fd: int, data: bytes | bytearray | memoryview, position: int) -> None:
    """Write all of it or raise; no sync. On a disk that is just full `pwrite` writes what fits and returns
    how much that was: here the rest is tried again, and then the kernel says why not. What was written of it
    lies behind the end that the caller knows, and is overwritten next time."""
    view = memoryview(data)
    while view:
        try:
            written = os.pwrite(fd, view, position)
        except OSError as error:
            raise named(error, fd) from None
        position += written
        view = view[written:]


def read_durable(path: Path, parse: Callable[[bytes], _T]) -> tuple[_T | None, str | None]:
    """(content, what was wrong): (None, None) when neither file exists, (None, text) when both are bad."""
    damage: str | None = None
    for candidate in (path, path.with_name(path.name + ".bak")):
        try:
            data = candidate.read_bytes()
        except FileNotFoundError:
            continue
        try:
            if data:
                return parse(data), damage
            reason = "is empty"
        except ValueError as error:
            reason = f"cannot be read: {error}"
        damage = f"{candidate.name} {reason}" if damage is None else f"{damage}; {candidate.name} {reason}"
    return None, damage


def sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
