"""A run's log on its host: its end, the reason in it, and how long it may get.

By contract a job that fails says why in its last line, `error: …`. Where there is none (Java did not start,
the kernel killed it), the exit code and the last line must do.
"""

from __future__ import annotations

import os
from pathlib import Path

TAIL_BYTES = 16 * 1024
MOST_BYTES = 16 * 1024 * 1024
_REASON = 1000
_OUT_OF_MEMORY = "java.lang.OutOfMemoryError"


def tail(path: Path, most_bytes: int = TAIL_BYTES) -> str:
    """From the beginning of a line on; without characters that databases and terminals choke on."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - most_bytes))
            found = file.read(most_bytes)
    except FileNotFoundError:
        return ""
    if size > most_bytes:
        found = found.partition(b"\n")[2]
    return printable(found.decode(errors="replace"))


def printable(text: str) -> str:
    return "".join(char if char in "\n\t" or char.isprintable() else "�" for char in text)


def reason_of(text: str, exit_code: int, heap_mb: int) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    said = [line for line in lines if line.startswith("error: ")]
    if said:
        return said[-1].removeprefix("error: ")[:_REASON]
    if _OUT_OF_MEMORY in text:
        return f"Java ran out of its {heap_mb} MB of memory (SIGNALBOX_SPARK_MEMORY_MB)"
    if exit_code > 128:
        return f"Spark was ended by signal {exit_code - 128}"
    last = lines[-1] if lines else "it printed nothing"
    return f"Spark ended with exit code {exit_code}: {last}"[:_REASON]


def keep_short(path: Path) -> None:
    """Whoever writes appends, so it goes on at the new end."""
    if path.stat().st_size <= MOST_BYTES:
        return
    kept = tail(path)
    with path.open("r+b") as file:
        file.truncate(0)
    with path.open("ab") as file:
        file.write(f"… a log of more than {MOST_BYTES >> 20} MB was cut here …\n{kept}".encode())
