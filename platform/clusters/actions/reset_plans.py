"""Where every queue of a group is to go, and what that replays or skips. Pure: preview and apply share it.

A wish that lies outside of what a queue still holds is moved to its nearest end, and the plan says so; an
exact offset outside is refused instead, for somebody meant that very message.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from clusters.gateway.offsets import Position
from console.core.problems import Problem

KINDS = ("earliest", "latest", "time", "shift", "exact", "copy")


@dataclass(frozen=True, slots=True)
class Target:
    to: str
    topics: tuple[str, ...] = ()
    at_ms: int | None = None
    by: int = 0
    queues: dict[tuple[str, str, int], int] = field(default_factory=dict)
    """Of `exact`: (topic, broker, queue) → offset."""
    source_group: str = ""

    def as_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {"to": self.to, "topics": list(self.topics)}
        if self.to == "time":
            body["at_ms"] = str(self.at_ms)
        if self.to == "shift":
            body["by"] = str(self.by)
        if self.to == "copy":
            body["source_group"] = self.source_group
        if self.to == "exact":
            body["queues"] = [[*place, str(offset)] for place, offset in sorted(self.queues.items())]
        return body


@dataclass(frozen=True, slots=True)
class QueueMove:
    """`to` None: it stays, and `detail` says why. `replayed` counts messages that come again, `skipped` those
    that never come; both None where nothing was committed before."""

    topic: str
    broker: str
    queue: int
    committed: int | None
    minimum: int | None
    maximum: int | None
    to: int | None
    replayed: int | None
    skipped: int | None
    detail: str = ""

    @property
    def place(self) -> tuple[str, str, int]:
        return self.topic, self.broker, self.queue

    def as_json(self) -> dict[str, Any]:
        return {
            "topic": self.topic,
            "broker": self.broker,
            "queue": self.queue,
            "committed": self.committed,
            "min": self.minimum,
            "max": self.maximum,
            "to": self.to,
            "replayed": self.replayed,
            "skipped": self.skipped,
            "detail": self.detail,
        }


def plan_reset(positions: Iterable[Position], target: Target) -> list[QueueMove]:
    positions = list(positions)
    if target.to == "exact":
        _refuse_unknown_places(positions, target)
        positions = [one for one in positions if (one.topic, one.broker, one.queue) in target.queues]
    return [_move(one, target) for one in positions]


def _refuse_unknown_places(positions: list[Position], target: Target) -> None:
    known = {(one.topic, one.broker, one.queue): one for one in positions}
    for place, offset in sorted(target.queues.items()):
        found = known.get(place)
        where = f"queue {place[2]} of {place[0]} on {place[1]}"
        if found is None:
            raise Problem("unknown_queue", f"there is no {where}", 400, field="queues")
        if found.error:
            raise Problem("unreachable", f"{where}: {found.error}", 503, field="queues")
        if not (found.minimum or 0) <= offset <= (found.maximum or 0):
            text = f"{offset} is outside of {found.minimum} to {found.maximum} of {where}"
            raise Problem("out_of_range", text, 400, field="queues")


def _move(one: Position, target: Target) -> QueueMove:
    if one.error:
        return _stays(one, one.error)
    wanted = _wanted(one, target)
    if wanted is None:
        return _stays(one, _WHY_NOT[target.to])
    return moved_to(one, wanted)


_WHY_NOT = {
    "shift": "nothing is committed, so there is nothing to shift from",
    "copy": "the other group has nothing committed here",
    "time": "the broker did not say where that time is",
}


def _wanted(one: Position, target: Target) -> int | None:
    if target.to == "earliest":
        return one.minimum
    if target.to == "latest":
        return one.maximum
    if target.to == "time":
        return one.at_time
    if target.to == "shift":
        return None if one.committed is None else one.committed + target.by
    if target.to == "exact":
        return target.queues[one.topic, one.broker, one.queue]
    return one.source


def moved_to(one: Position, wanted: int) -> QueueMove:
    to = min(max(wanted, one.minimum or 0), one.maximum or 0)
    detail = ""
    if to != wanted:
        detail = f"{wanted} is outside of {one.minimum} to {one.maximum}: the nearest end is taken"
    replayed = skipped = None
    if one.committed is not None:
        # Messages that are gone can be neither replayed nor skipped.
        before = max(one.committed, one.minimum or 0)
        replayed, skipped = max(0, before - to), max(0, to - before)
    return QueueMove(
        one.topic,
        one.broker,
        one.queue,
        one.committed,
        one.minimum,
        one.maximum,
        to,
        replayed,
        skipped,
        detail,
    )


def _stays(one: Position, why: str) -> QueueMove:
    return QueueMove(
        one.topic, one.broker, one.queue, one.committed, one.minimum, one.maximum, None, None, None, why
    )


def plan_undo(
    positions: Iterable[Position], before: Iterable[dict[str, Any]]
) -> list[tuple[QueueMove, int | None]]:
    """Back to the stored offsets, each with how far the group has read since the reset."""
    now = {(one.topic, one.broker, one.queue): one for one in positions}
    planned = []
    for row in before:
        if row["to"] is None or not row.get("ok", False):
            continue
        place = (row["topic"], row["broker"], row["queue"])
        one = now.get(place) or Position(*place, error="the broker does not tell of this queue")
        planned.append((_undone(one, row), _consumed_meanwhile(one, row)))
    return planned


def _undone(one: Position, row: dict[str, Any]) -> QueueMove:
    if one.error:
        return _stays(one, one.error)
    if row["committed"] is None:
        return _stays(one, "nothing was committed before the reset, and that cannot be put back")
    return moved_to(one, row["committed"])


def _consumed_meanwhile(one: Position, row: dict[str, Any]) -> int | None:
    if one.committed is None:
        return None
    return max(0, one.committed - row["to"])
