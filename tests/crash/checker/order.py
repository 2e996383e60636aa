"""Order: what one producer sent to one queue lies there in the order of sending, and a reader walks without
jumps.

Two rules. In the log: over rising offsets of a queue, each producer's sequence numbers rise. In one reader's
assignment (since its last `assign` of that queue): each poll continues where the one before ended, neither
skipping nor going back.
"""

from __future__ import annotations

from collections.abc import Iterable

from tests.crash.checker.events import ASSIGN, OK, PULL, SEND, Event
from tests.crash.checker.violations import Violation

Queue = tuple[str, int]


def check_order(events: Iterable[Event]) -> list[Violation]:
    log: dict[Queue, dict[int, Event]] = {}
    expected: dict[tuple[str, str, int], int] = {}
    violations = []
    for event in events:
        if event.status != OK or event.offset < 0:
            continue
        reader = (event.proc, event.topic, event.queue)
        if event.op == ASSIGN:
            expected[reader] = event.offset
        elif event.op == PULL:
            violations.extend(_check_step(event, expected.get(reader)))
            expected[reader] = event.offset + 1
        if event.op in (SEND, PULL) and event.value is not None:
            log.setdefault((event.topic, event.queue), {}).setdefault(event.offset, event)
    for queue in log.values():
        violations.extend(_check_queue(queue))
    return violations


def _check_step(event: Event, expected: int | None) -> list[Violation]:
    if expected is None or event.offset == expected:
        return []
    kind = "skipped" if event.offset > expected else "went back"
    return [
        Violation("order", f"{event.proc} {kind}: expected offset {expected}, read {event.offset}", (event,))
    ]


def _check_queue(queue: dict[int, Event]) -> list[Violation]:
    """Histories come nearly sorted, so this sort is a linear walk in practice."""
    newest: dict[str, Event] = {}
    violations = []
    for offset in sorted(queue):
        event = queue[offset]
        assert event.value is not None
        producer, seq = event.value
        before = newest.get(producer)
        if before is not None and before.value is not None and before.value[1] > seq:
            text = f"{before.value} lies before {event.value} in queue {event.queue} of {event.topic}"
            violations.append(Violation("order", text, (before, event)))
        newest[producer] = event
    return violations
