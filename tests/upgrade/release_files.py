"""What release 0.1.0 left behind (tests/upgrade/release_0_1_0, made by make_release.py), unpacked for a test.

Segments keep the modification times of the release, so tests give brokers a long `fileReservedTime`: they are
older than the default of three days.
"""

from __future__ import annotations

import json
import lzma
import sqlite3
import tarfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "release_0_1_0"
COMMIT = "ba74e74"
"""The tree that counts as release 0.1.0."""
MADE_IN = "/var/lib/signalbox/data"
"""The data root of the fixtures, as it stands in their files and rows."""
KEEP = {"fileReservedTime": "87600"}


def expected(part: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / "expected.json").read_text())[part]
    return found


def unpack(name: str, target: Path) -> Path:
    """Files of our own making, so every member is trusted."""
    target.mkdir(parents=True, exist_ok=True)
    with tarfile.open(FOLDER / f"{name}.tar.xz") as archive:
        archive.extractall(target)
    return target


def postgresql_dump() -> str:
    """Without the lines that are for psql alone."""
    text = lzma.decompress((FOLDER / "postgresql.sql.xz").read_bytes()).decode()
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith("\\"))


def move(data_root: Path) -> None:
    """Puts the folder where it lies now into the settings of its processes and into the host's row."""
    for file in data_root.rglob("*.conf"):
        file.write_text(file.read_text().replace(MADE_IN, str(data_root)))
    with sqlite3.connect(data_root / "console/db.sqlite3") as database:
        database.execute(
            "UPDATE clusters_host SET data_root = replace(data_root, ?, ?)", (MADE_IN, str(data_root))
        )
    database.close()
