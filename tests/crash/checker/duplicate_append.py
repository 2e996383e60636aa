"""Duplicate append: one message lies at two places of the log although its producer sent it once (retries 0).

Reading one place twice is not a duplicate append: delivery is at least once.
"""

from __future__ import annotations

from collections.abc import Iterable

from tests.crash.checker.events import OK, PULL, SEND, Event, Value
from tests.crash.checker.violations import Violation


def check_duplicate_append(events: Iterable[Event]) -> list[Violation]:
    home: dict[Value, Event] = {}
    violations = []
    for event in events:
        if event.op not in (SEND, PULL) or event.status != OK or event.offset < 0 or event.value is None:
            continue
        first = home.setdefault(event.value, event)
        if first.place != event.place:
            text = f"{event.value} is at {first.place} and at {event.place}"
            violations.append(Violation("duplicate-append", text, (first, event)))
    return violations
