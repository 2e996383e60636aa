"""What of a data root is not for its owner alone."""

from __future__ import annotations

import contextlib
import stat
from pathlib import Path


def open_to_others(root: Path) -> list[str]:
    """Folders that are not 0700 and files that are not 0600, with their modes."""
    found = []
    for path in (root, *root.rglob("*")):
        with contextlib.suppress(FileNotFoundError):
            mode = stat.S_IMODE(path.lstat().st_mode)
            if mode != (0o700 if path.is_dir() else 0o600):
                found.append(f"{mode:o} {path.relative_to(root)}")
    return found
