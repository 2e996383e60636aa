"""Where a backup's pass phrase comes from: a file or the environment, never an argument that `ps` shows."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

VARIABLE = "SIGNALBOX_BACKUP_PASSPHRASE"


def read_passphrase(file: str | None, environment: Mapping[str, str] = os.environ) -> str | None:
    if file is not None:
        return Path(file).read_text().strip() or None
    return environment.get(VARIABLE) or None
