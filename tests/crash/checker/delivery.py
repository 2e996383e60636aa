"""Delivery: what popping consumers were given and acknowledged, against what a broker promises them.

A message that was stored is given until somebody's acknowledgement of it was answered in time, and never
afterwards; and while it is hidden for one consumer no other gets it. Each time it comes back it is one try
older and lies at one new place: the same try at two places are twins, which no kill explains. Times are
milliseconds of the machine's clock, which is the broker's. An acknowledgement whose answer did not come, or
came when the message was not hidden any more, may count or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tests.crash.checker.events import Value
from tests.crash.checker.violations import Violation

Place = tuple[str, int, int]
"""(the mark of the topic or of its retry topic, queue id, queue offset)"""


@dataclass(frozen=True, slots=True)
class Given:
    """One message of one pop, hidden until `hidden_until_ms`; changed times and acknowledgements follow."""

    value: Value | None
    popped_ms: int
    hidden_until_ms: int
    asked_ms: float
    """When the pop was asked for."""
    tries: int
    """How often it came back before this."""
    place: Place
    acked_ms: float | None = None
    """When an acknowledgement was answered with success."""
    is_unsure: bool = False
    """An acknowledgement or a change was under way when the broker died."""

    @property
    def is_done(self) -> bool:
        return self.acked_ms is not None and self.acked_ms < self.hidden_until_ms

    @property
    def may_be_done(self) -> bool:
        return self.acked_ms is not None or self.is_unsure


def check_delivery(sent: Iterable[Value], given: Sequence[Given]) -> list[Violation]:
    """`given` goes on until everything that comes back was acknowledged."""
    by_value: dict[Value | None, list[Given]] = {}
    for one in sorted(given, key=lambda each: each.popped_ms):
        by_value.setdefault(one.value, []).append(one)
    violations: list[Violation] = []
    for value in sent:
        copies = by_value.pop(value, [])
        if not any(copy.may_be_done for copy in copies):
            how_often = f"given {len(copies)} times" if copies else "never given"
            violations.append(_broken(value, f"was {how_often} and is gone without an acknowledgement"))
        violations += _judge(value, copies)
    violations += [_broken(value, "was never sent") for value in by_value if value is None]
    return violations


def _judge(value: Value, copies: list[Given]) -> list[Violation]:
    broken = _twins(value, copies)
    for earlier, later in pairwise(copies):
        if earlier.is_done and earlier.acked_ms is not None and later.asked_ms > earlier.acked_ms:
            broken.append(_broken(value, "was given again though its acknowledgement had been answered"))
        if later.popped_ms < earlier.hidden_until_ms and not earlier.is_unsure:
            early_ms = earlier.hidden_until_ms - later.popped_ms
            broken.append(_broken(value, f"was given again {early_ms} ms before its time"))
    return broken


def _twins(value: Value, copies: list[Given]) -> list[Violation]:
    places: dict[int, set[Place]] = {}
    for copy in copies:
        places.setdefault(copy.tries, set()).add(copy.place)
    return [
        _broken(value, f"came {len(at)} times as try {tries}: it lies at {sorted(at)}")
        for tries, at in places.items()
        if len(at) > 1
    ]


def _broken(value: Value | None, text: str) -> Violation:
    return Violation("delivery", f"{value} {text}")
