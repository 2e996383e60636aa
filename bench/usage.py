"""What a process has used, from /proc: processor seconds of all its threads, memory that is its own."""

from __future__ import annotations

import os
import platform
from pathlib import Path

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_USER_TICKS, _SYSTEM_TICKS = 11, 12


def cpu_seconds(pid: int) -> float:
    """User and system time so far, in steps of a clock tick (10 ms)."""
    # The second field, the name in brackets, may contain spaces.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[_USER_TICKS]) + int(fields[_SYSTEM_TICKS])) / _TICKS_PER_S


def anonymous_bytes(pid: int) -> int:
    """Resident memory that no file backs: mapped stores and jars are not counted."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Anonymous:"):
            return int(line.split()[1]) * 1024
    raise ValueError(f"/proc/{pid}/smaps_rollup says nothing of anonymous memory")


def machine() -> str:
    """Processor, cores and memory of this machine, for the table's heading."""
    model = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        "unknown processor",
    )
    memory_gib = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / (1 << 30)
    cores = len(os.sched_getaffinity(0))
    python = f"Python {platform.python_version()}"
    return f"{model}, {cores} cores, {memory_gib:.0f} GiB, Linux {os.uname().release}, {python}"
