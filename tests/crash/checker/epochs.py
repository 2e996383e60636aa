"""Master and epoch: in a broker group at most one master acknowledges, and epochs only rise.

Bad: a crown whose epoch is not higher than all before it; one epoch with acknowledgements of two nodes; an
acknowledgement of an epoch that came after the first one of a newer epoch. An answer may lie in a socket for
a moment before its client reads it, hence the slack. Histories without epochs (0) say nothing here.
"""

from __future__ import annotations

from collections.abc import Iterable

from tests.crash.checker.events import CROWN, OK, SEND, Event
from tests.crash.checker.violations import Violation

SLACK_S = 0.5
_CHECKER = "epoch"


def check_epochs(events: Iterable[Event]) -> list[Violation]:
    history = list(events)
    acks = [event for event in history if event.op == SEND and event.status == OK and event.epoch]
    return [*_check_crowns(history), *_check_nodes(acks), *_check_stale(acks)]


def _check_crowns(history: list[Event]) -> list[Violation]:
    violations = []
    last: Event | None = None
    for crown in (event for event in history if event.op == CROWN):
        if last is not None and crown.epoch <= last.epoch:
            text = f"epoch {crown.epoch} of {crown.node} follows epoch {last.epoch} of {last.node}"
            violations.append(Violation(_CHECKER, text, (last, crown)))
        last = crown if last is None or crown.epoch > last.epoch else last
    return violations


def _check_nodes(acks: list[Event]) -> list[Violation]:
    first: dict[int, Event] = {}
    violations = []
    for ack in acks:
        if first.setdefault(ack.epoch, ack).node != ack.node:
            text = f"{first[ack.epoch].node} and {ack.node} both acknowledged in epoch {ack.epoch}"
            violations.append(Violation(_CHECKER, text, (first[ack.epoch], ack)))
    return violations


def _check_stale(acks: list[Event]) -> list[Violation]:
    first_of: dict[int, float] = {}
    for ack in acks:
        first_of[ack.epoch] = min(ack.t_done, first_of.get(ack.epoch, ack.t_done))
    return [
        Violation(
            _CHECKER, f"epoch {ack.epoch} acknowledged {ack.value} after a newer epoch had begun", (ack,)
        )
        for ack in acks
        if any(epoch > ack.epoch and ack.t_done > at + SLACK_S for epoch, at in first_of.items())
    ]
