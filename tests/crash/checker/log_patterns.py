"""Log patterns: what no healthy process writes, whatever is done to it from outside."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tests.crash.checker.violations import Violation

_BAD = re.compile(
    r"Traceback \(most recent call last\)|Task exception was never retrieved|Exception in callback|"
    r"Exception ignored in|Fatal Python error|Segmentation fault|Bus error|was never awaited|"
    r"MemoryError|RecursionError|ResourceWarning"
)


def check_log(lines: Iterable[str], *, expected: str | None = None) -> list[Violation]:
    """`expected` is a pattern of lines that the fault itself explains."""
    excused = re.compile(expected) if expected else None
    return [
        Violation("log-pattern", f"line {number}: {line.rstrip()}")
        for number, line in enumerate(lines, 1)
        if _BAD.search(line) and not (excused and excused.search(line))
    ]
