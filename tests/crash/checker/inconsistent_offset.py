"""Inconsistent offset: one (topic, queue, offset) was shown with two different messages, by any reply or any
pull.
"""

from __future__ import annotations

from collections.abc import Iterable

from tests.crash.checker.events import OK, PULL, SEND, Event, Place
from tests.crash.checker.violations import Violation


def check_inconsistent_offset(events: Iterable[Event]) -> list[Violation]:
    holder: dict[Place, Event] = {}
    violations = []
    for event in events:
        if event.op not in (SEND, PULL) or event.status != OK or event.offset < 0:
            continue
        first = holder.setdefault(event.place, event)
        if first.value != event.value:
            text = f"{event.place} held {first.value} and {event.value}"
            violations.append(Violation("inconsistent-offset", text, (first, event)))
    return violations
