"""Phantom: something was read that should not exist, or that existed only for a moment.

Three kinds: a value that nobody sent (or a body that nobody made: damage delivered as a message); a value
whose send was refused; a value that was read before a crash and is not in the log after it, which means that
readers were shown what was not yet safe.
"""

from __future__ import annotations

from collections.abc import Iterable

from tests.crash.checker.events import DRAIN, FAIL, OK, PULL, SEND, Event, Value
from tests.crash.checker.violations import Violation

_CHECKER = "phantom"


def check_phantom(events: Iterable[Event]) -> list[Violation]:
    sends: dict[Value, Event] = {}
    first_read: dict[Value, Event] = {}
    read_before: set[Value] = set()
    read_since: set[Value] = set()
    violations = []
    for event in events:
        if event.is_mark(DRAIN):
            read_before |= read_since
            read_since = set()
        elif event.op == SEND and event.value is not None:
            sends[event.value] = event
        elif event.op == PULL and event.status == OK:
            if event.value is None:
                violations.append(Violation(_CHECKER, f"damaged body at {event.place}", (event,)))
            else:
                first_read.setdefault(event.value, event)
                read_since.add(event.value)
    violations.extend(_check_origins(first_read, sends))
    violations.extend(
        Violation(_CHECKER, f"{value} was read, and is not in the log after the crash", (first_read[value],))
        for value in sorted(read_before - read_since)
    )
    return violations


def _check_origins(first_read: dict[Value, Event], sends: dict[Value, Event]) -> list[Violation]:
    violations = []
    for value, read in first_read.items():
        send = sends.get(value)
        if send is None:
            violations.append(Violation(_CHECKER, f"{value} was read and never sent", (read,)))
        elif send.status == FAIL:
            violations.append(Violation(_CHECKER, f"{value} was refused and yet read", (send, read)))
    return violations
