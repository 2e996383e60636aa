"""Resources: memory, descriptors and threads of a process must not creep under fault."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.crash.checker.violations import Violation


@dataclass(frozen=True, slots=True)
class Sample:
    """One look at a process; only anonymous memory counts: mapped files are the kernel's to drop."""

    anonymous_bytes: int
    descriptors: int
    threads: int


@dataclass(frozen=True, slots=True)
class Allowance:
    anonymous_bytes: int
    descriptors: int = 0
    threads: int = 0


def check_resources(samples: Sequence[Sample], allowance: Allowance) -> list[Violation]:
    """The last sample against the first: the growth that is allowed is given by the fault."""
    if len(samples) < 2:
        return []
    violations = []
    for name in ("anonymous_bytes", "descriptors", "threads"):
        grown = getattr(samples[-1], name) - getattr(samples[0], name)
        allowed = getattr(allowance, name)
        if grown > allowed:
            violations.append(Violation("resources", f"{name} grew by {grown}, allowed {allowed}"))
    return violations
