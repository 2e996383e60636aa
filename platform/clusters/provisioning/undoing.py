"""What a roll-back does and in which order, from the steps that were planned. Pure: steps in, positions out.

Most steps are undone in reverse order. Those that restart or promote brokers come after all others, because
a restart reads what the others put back (release, settings, the list of name servers): undone in its turn it
would start a broker with what is being taken back. Among themselves they are reversed too, so that a master
hands over before it is restarted, and behind each is the gate that was behind it on the way there, reached
or not: the next broker is touched when its group is whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Enum

from clusters.models import Step


class Undone(Enum):
    """When a kind of step is undone."""

    IN_TURN = "in turn"
    LAST = "last"
    BEHIND = "behind"
    """Not by itself: behind a step that is undone last."""


def undo_order(steps: Iterable[Step], undoable: Mapping[str, Undone]) -> list[list[Step]]:
    """One list per position, the first to be undone first."""
    positions: dict[int, list[Step]] = {}
    for step in steps:
        positions.setdefault(step.position, []).append(step)
    backwards = sorted(positions, reverse=True)

    def chosen(position: int, when: Undone, wanted: Callable[[Step], bool]) -> list[Step]:
        listed = positions.get(position, [])
        return [step for step in listed if undoable.get(step.kind) is when and wanted(step)]

    order: list[list[Step]] = [chosen(position, Undone.IN_TURN, was_begun) for position in backwards]
    for position in backwards:
        if rolled := chosen(position, Undone.LAST, was_begun):
            order += [rolled, chosen(position + 1, Undone.BEHIND, lambda _: True)]
    return [listed for listed in order if listed]


def was_begun(step: Step) -> bool:
    return step.state in (Step.State.DONE, Step.State.FAILED) or step.started_at is not None


def undo_rows(steps: Iterable[Step], undoable: Mapping[str, Undone], first_position: int) -> list[Step]:
    """Rows that are not saved yet."""
    order = undo_order(steps, undoable)
    return [
        Step(
            operation=step.operation,
            position=first_position + number,
            kind=step.kind,
            summary=_summary(step, undoable[step.kind]),
            host=step.host,
            arguments=step.arguments | {"undoes": step.pk},
            is_undo=True,
        )
        for number, listed in enumerate(order)
        for step in listed
    ]


def _summary(step: Step, undone: Undone) -> str:
    return step.summary if undone is Undone.BEHIND else f"Undo: {step.summary}"[:255]
