"""The checkpoint file: how much of the store was known to be on disk.

One page, drawn in `layouts.checkpoints`. It only spares work: without a believable checkpoint everything
is scanned. It is overwritten in place, because the meaningful bytes lie in one sector of the disk.
"""

from __future__ import annotations

import os
from pathlib import Path

from engine.durable_file import named
from engine.protocol.layouts.checkpoints import (
    CHECKPOINT_FILE_SIZE,
    Checkpoint,
    CheckpointPage,
    DurableOffsets,
    decode_page,
    encode_page,
)


def read_checkpoint(path: Path, now_ms: int) -> CheckpointPage:
    try:
        return decode_page(path.read_bytes(), now_ms)
    except FileNotFoundError:
        return CheckpointPage(None, None)


def write_checkpoint(path: Path, times: Checkpoint, offsets: DurableOffsets) -> None:
    """Overwrite in place and sync: the meaningful bytes lie in one sector."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        os.pwrite(fd, encode_page(times, offsets), 0)
        os.ftruncate(fd, CHECKPOINT_FILE_SIZE)
        os.fdatasync(fd)
    except OSError as error:
        raise named(error, fd) from None
    finally:
        os.close(fd)
