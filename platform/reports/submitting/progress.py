"""How far a job is, from the file that it appends to: a JSON line a second at most.

    {"at", "phase": "reading", "stages_done", "stages_total", "tasks_done", "tasks_total", "rows"}

Read as it grows, from where the last look ended; a line that is not whole yet waits for the next one. What is
not understood is passed over: progress is for people, nothing depends on it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

_MOST = 1 << 20
_COUNTS = ("stages_done", "stages_total", "tasks_done", "tasks_total")


class ProgressFile:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0

    def newest(self) -> dict[str, Any] | None:
        """The last whole line that came since the last look."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                text = file.read(_MOST)
        except FileNotFoundError:
            return None
        whole, newline, _ = text.rpartition(b"\n")
        self._offset += len(whole) + len(newline)
        return next(filter(None, map(understood, reversed(whole.splitlines()))), None)


def understood(line: bytes) -> dict[str, Any] | None:
    try:
        said = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(said, dict):
        return None
    found: dict[str, Any] = {name: said[name] for name in _COUNTS if _is_count(said.get(name))}
    if _is_count(said.get("rows")):
        # May pass what browsers count exactly.
        found["rows"] = str(said["rows"])
    for name in ("phase", "at"):
        if isinstance(said.get(name), str):
            found[name] = said[name][:40]
    return found or None


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
