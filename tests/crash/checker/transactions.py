"""Transactions: what was committed is in the log exactly once, what was rolled back never, and none vanishes.

A `tx` event is one half message: `value` is whose, `key` what its application has decided (its own durable
word, whatever the broker heard of it), `status` whether the half message was acknowledged. Reads count after
the last drain, when every transaction that the broker knows of has had its questions answered. An
acknowledged half message of an application that never decides must be in the topic of those given up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tests.crash.checker.events import DRAIN, FAIL, OK, PULL, Event, Value
from tests.crash.checker.violations import Violation

TX = "tx"
COMMITTED, ROLLED_BACK, UNDECIDED = "commit", "rollback", "undecided"
GIVEN_UP_TOPIC = "TRANS_CHECK_MAX_TIME_TOPIC"

_CHECKER = "tx"


def check_transactions(events: Iterable[Event]) -> list[Violation]:
    halves: dict[Value, Event] = {}
    shown: Counter[Value] = Counter()
    given_up: set[Value] = set()
    for event in events:
        if event.is_mark(DRAIN):
            shown, given_up = Counter(), set()
        elif event.op == TX and event.value is not None:
            halves[event.value] = event
        elif event.op == PULL and event.status == OK and event.value is not None:
            if event.topic == GIVEN_UP_TOPIC:
                given_up.add(event.value)
            else:
                shown[event.value] += 1
    violations = []
    for value, half in halves.items():
        fault = _fault(half, shown[value], value in given_up)
        if fault is not None:
            violations.append(Violation(_CHECKER, f"{value} {fault}", (half,)))
    return violations


def _fault(half: Event, times_shown: int, is_given_up: bool) -> str | None:
    if times_shown > 1:
        return f"is in the log {times_shown} times"
    if half.status == FAIL and (times_shown or is_given_up):
        return "was refused and is in the log"
    if half.key == COMMITTED:
        return "was committed and is missing" if half.status == OK and not times_shown else None
    if times_shown:
        return f"is shown, and its application's word is {half.key}"
    if half.key == UNDECIDED and half.status == OK and not is_given_up:
        return "was never decided and has vanished"
    return None
