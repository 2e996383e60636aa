"""Lost: a send was acknowledged and the final drain does not bring it.

Split per producer by where the missing ones lie among those that were read: before the first (`prefix`),
between (`middle`, a certain bug) or after the last (`postfix`, which a drain that stopped early would also
show).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tests.crash.checker.events import DRAIN, OK, PULL, SEND, Event, Value
from tests.crash.checker.violations import Violation

PREFIX, MIDDLE, POSTFIX = "prefix", "middle", "postfix"


@dataclass(frozen=True, slots=True)
class Loss:
    send: Event
    where: str


def find_losses(events: Iterable[Event]) -> list[Loss]:
    acked: dict[str, dict[int, Event]] = {}
    read: dict[str, set[int]] = {}
    for event in events:
        if event.is_mark(DRAIN):
            read = {}
        elif event.value is None or event.status != OK:
            continue
        elif event.op == SEND:
            acked.setdefault(event.value[0], {})[event.value[1]] = event
        elif event.op == PULL:
            read.setdefault(event.value[0], set()).add(event.value[1])
    return [
        loss for producer, sends in acked.items() for loss in _losses_of(sends, read.get(producer, set()))
    ]


def _losses_of(sends: dict[int, Event], read: set[int]) -> list[Loss]:
    missing = sends.keys() - read
    if not missing:
        return []
    first, last = (min(read), max(read)) if read else (0, -1)

    def where(seq: int) -> str:
        if seq > last:
            return POSTFIX
        return PREFIX if seq < first else MIDDLE

    return [Loss(sends[seq], where(seq)) for seq in sorted(missing)]


def check_lost(events: Iterable[Event]) -> list[Violation]:
    return [
        Violation(
            "lost", f"acknowledged {loss.send.value} was not in the final drain ({loss.where})", (loss.send,)
        )
        for loss in find_losses(events)
    ]


def loss_window_s(events: Iterable[Event]) -> float:
    """How far before the newest acknowledgement the newest kept message was acknowledged (ASYNC_FLUSH, power
    loss).
    """
    history = list(events)
    lost = {loss.send.value for loss in find_losses(history)}
    acks = [event for event in history if event.op == SEND and event.status == OK]
    if not lost or not acks:
        return 0.0
    newest = max(event.t_done for event in acks)
    kept = [event.t_done for event in acks if event.value not in lost]
    return newest - max(kept, default=min(event.t_invoke for event in acks))


def without_lost(events: Iterable[Event]) -> list[Event]:
    """The same history without the messages that did not survive: the rest must still keep every promise.

    For faults where losing a tail is allowed; its offsets may then be given to others.
    """
    history = list(events)
    survivors: set[Value | None] = {None}
    for event in history:
        if event.is_mark(DRAIN):
            survivors = {None}
        elif event.op == PULL:
            survivors.add(event.value)
    return [event for event in history if event.status != OK or event.value in survivors]
