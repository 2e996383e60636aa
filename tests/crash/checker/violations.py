"""A broken promise: which checker says so, in words, with the events that prove it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tests.crash.checker.events import Event

_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Violation:
    checker: str
    text: str
    evidence: tuple[Event, ...] = ()


def describe(violations: Iterable[Violation]) -> str:
    """A short text for a failing test: counts by checker, then the first few with their evidence."""
    found = list(violations)
    counts: dict[str, int] = {}
    for violation in found:
        counts[violation.checker] = counts.get(violation.checker, 0) + 1
    lines = [", ".join(f"{name}: {count}" for name, count in sorted(counts.items()))]
    for violation in found[:_SHOWN]:
        lines.append(f"- [{violation.checker}] {violation.text}")
        lines.extend(f"    {event}" for event in violation.evidence)
    return "\n".join(lines)
