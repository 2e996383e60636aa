"""Lost by offset: a send was acknowledged at an offset, the drain read a higher one of that queue but not
this one.

Needs no complete drain: a hole in a queue is proof by itself.
"""

from __future__ import annotations

from collections.abc import Iterable

from tests.crash.checker.events import DRAIN, OK, PULL, SEND, Event, Place
from tests.crash.checker.violations import Violation


def check_lost_by_offset(events: Iterable[Event]) -> list[Violation]:
    acked: dict[Place, Event] = {}
    seen: set[Place] = set()
    highest: dict[tuple[str, int], int] = {}
    for event in events:
        if event.is_mark(DRAIN):
            seen, highest = set(), {}
        elif event.status != OK or event.offset < 0:
            continue
        elif event.op == SEND:
            acked[event.place] = event
        elif event.op == PULL:
            seen.add(event.place)
            queue = (event.topic, event.queue)
            highest[queue] = max(event.offset, highest.get(queue, -1))
    return [
        Violation("lost-by-offset", f"{place} was acknowledged, passed over by readers up to {top}", (send,))
        for place, send in acked.items()
        if place not in seen and (top := highest.get((place[0], place[1]), -1)) > place[2]
    ]
