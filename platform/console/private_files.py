"""Files of the data root are for their owner alone: folders 0700, files and sockets 0600.

A umask does that for everything that is made from now on, in this process and in all that it starts (children
of `up`, agents, engines, Spark). What an older release made is put right at the start: bits of the group and
of others are taken away, an owner's own bits stay, so that programs below releases/ still run. Stores and
releases are left out: stores have been private since the first release and may hold millions of files, and a
release is installed by an operator.

Nothing here imports Django: it runs before the settings are read.
"""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterator
from pathlib import Path

PRIVATE_UMASK = 0o077
_LEFT_OUT = frozenset(("store", "releases"))

log = logging.getLogger(__name__)


def keep_files_private() -> None:
    os.umask(PRIVATE_UMASK)


def make_private(root: Path) -> list[Path]:
    """What was open to others and is not any more. What cannot be changed is named in the log."""
    changed = []
    for path in (root, *_below(root)):
        try:
            mode = path.lstat().st_mode
            if stat.S_ISLNK(mode) or not mode & PRIVATE_UMASK:
                continue
            path.chmod(stat.S_IMODE(mode) & ~PRIVATE_UMASK)
            changed.append(path)
        except FileNotFoundError:
            # Others are at work here: what has gone since needs no care.
            continue
        except OSError as error:
            log.warning("others may read %s, and that cannot be changed: %s", path, error.strerror)
    return changed


def _below(root: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in _LEFT_OUT]
        yield from (Path(folder, name) for name in (*folders, *files))
