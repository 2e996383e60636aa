"""Front: a message that could be read, and has not expired, is gone from the front of its queue.

A broker deletes whole segments from the oldest on, so what it loses there is below the first offset that it
still shows. A `front` event says what that offset is: of a member that was asked, or of a reader that was
moved forward. An `expire` event allows the messages below its offset to go from then on. Everything else that
was acknowledged or read must stay at or above every front.

Unlike `lost` this needs no drain, and it judges every member that a reader may be sent to, not only the one
that was drained last.
"""

from __future__ import annotations

from collections.abc import Iterable

from tests.crash.checker.events import EXPIRE, FRONT, OK, PULL, SEND, Event
from tests.crash.checker.violations import Violation

Queue = tuple[str, int]


def check_front(events: Iterable[Event]) -> list[Violation]:
    """Each message is reported once, with the first front that has passed it."""
    history = list(events)
    readable = _readable(history)
    expired_below: dict[Queue, int] = {}
    checked_below: dict[Queue, int] = {}
    violations: list[Violation] = []
    for event in history:
        queue = (event.topic, event.queue)
        if event.op == EXPIRE:
            expired_below[queue] = max(event.offset, expired_below.get(queue, 0))
        elif event.op == FRONT:
            first = max(expired_below.get(queue, 0), checked_below.get(queue, 0))
            places = readable.get(queue, {})
            gone = [places[offset] for offset in range(first, event.offset) if offset in places]
            violations += [_gone(proof, event) for proof in gone]
            checked_below[queue] = max(event.offset, checked_below.get(queue, 0))
    return violations


def without_expired(events: Iterable[Event]) -> list[Event]:
    """The same history without the messages that were allowed to go: nobody has to find them any more."""
    history = list(events)
    expired_below: dict[Queue, int] = {}
    for event in history:
        if event.op == EXPIRE:
            queue = (event.topic, event.queue)
            expired_below[queue] = max(event.offset, expired_below.get(queue, 0))
    return [
        event
        for event in history
        if event.op not in (SEND, PULL)
        or event.status != OK
        or event.offset >= expired_below.get((event.topic, event.queue), 0)
    ]


def _readable(history: Iterable[Event]) -> dict[Queue, dict[int, Event]]:
    """One proof for each offset that somebody was told of. The order of the events does not matter: an
    acknowledgement may be written down after the front was asked for."""
    readable: dict[Queue, dict[int, Event]] = {}
    for event in history:
        if event.op in (SEND, PULL) and event.status == OK and event.offset >= 0:
            readable.setdefault((event.topic, event.queue), {}).setdefault(event.offset, event)
    return readable


def _gone(proof: Event, front: Event) -> Violation:
    how = "acknowledged" if proof.op == SEND else "read"
    text = (
        f"{proof.value} at {proof.place} was {how} and has not expired, "
        f"but {front.node or front.proc} shows nothing below {front.offset}"
    )
    return Violation("front", text, (proof, front))
