"""Delay: a message that was to wait was delivered early, late, twice, though recalled, or not at all.

Times are milliseconds of the machine's clock, which is the broker's. A message may not be stored in its real
topic before `due_ms`, nor later than `late_ms` behind it; while the broker was down (`outages`), lateness
counts from when it was ready again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tests.crash.checker.events import Value
from tests.crash.checker.violations import Violation


@dataclass(frozen=True, slots=True)
class Waiting:
    """A send for later. `is_sure`: it was acknowledged; `is_recalled`: so was its recall."""

    value: Value
    due_ms: float
    is_sure: bool = True
    is_recalled: bool = False
    is_recall_unsure: bool = False
    is_refused: bool = False
    """The broker was too busy: not stored, and never will be."""


@dataclass(frozen=True, slots=True)
class Delivery:
    value: Value | None
    stored_ms: float


@dataclass(frozen=True, slots=True)
class Outage:
    """From the kill until the broker was ready again."""

    from_ms: float
    until_ms: float


def check_delay(
    waitings: Iterable[Waiting],
    deliveries: Iterable[Delivery],
    outages: Sequence[Outage] = (),
    *,
    late_ms: float,
) -> list[Violation]:
    found: dict[Value | None, list[Delivery]] = {}
    for delivery in deliveries:
        found.setdefault(delivery.value, []).append(delivery)
    violations: list[Violation] = []
    for waiting in waitings:
        copies = found.pop(waiting.value, [])
        violations += _judge(waiting, copies, _latest_ms(waiting.due_ms, outages) + late_ms)
    violations += [_broken(value, "was never sent") for value in found]
    return violations


def _judge(waiting: Waiting, copies: list[Delivery], latest_ms: float) -> list[Violation]:
    value = waiting.value
    if not copies:
        is_lost = waiting.is_sure and not waiting.is_recalled and not waiting.is_recall_unsure
        return [_broken(value, "was acknowledged and never delivered")] if is_lost else []
    broken = []
    if waiting.is_refused:
        broken.append(_broken(value, "was refused and delivered all the same"))
    if waiting.is_recalled:
        broken.append(_broken(value, "was recalled and delivered all the same"))
    if len(copies) > 1:
        broken.append(_broken(value, f"was delivered {len(copies)} times"))
    first_ms = min(copy.stored_ms for copy in copies)
    if first_ms < waiting.due_ms:
        broken.append(_broken(value, f"was delivered {waiting.due_ms - first_ms:.0f} ms early"))
    if first_ms > latest_ms:
        broken.append(_broken(value, f"was delivered {first_ms - latest_ms:.0f} ms later than allowed"))
    return broken


def _latest_ms(due_ms: float, outages: Sequence[Outage]) -> float:
    """When the broker could deliver it at the latest: one outage may run into the next."""
    moment_ms = due_ms
    for outage in sorted(outages, key=lambda each: each.from_ms):
        # What was due just before a kill may not have been delivered yet.
        if outage.from_ms <= moment_ms + _GRACE_MS and moment_ms < outage.until_ms:
            moment_ms = outage.until_ms
    return moment_ms


_GRACE_MS = 2_000


def _broken(value: Value | None, text: str) -> Violation:
    return Violation("delay", f"{value} {text}")
