"""Offset commit: after a restart a group's offset is neither ahead of what was committed nor back by more
than allowed.

Ahead would skip messages unread. Back is allowed by the interval at which offsets are persisted, and not at
all after a clean stop. What was asked for before the process was gone, it answered, whenever the answer was
read: such a commit belongs to the time before the crash, also when it is written down after it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.crash.checker.events import CLEAN_STOP, COMMIT, CRASH, FAIL, FETCH, NEMESIS, OK, Event
from tests.crash.checker.violations import Violation

_CHECKER = "offset-commit"
_Key = tuple[str, str, int]


@dataclass(slots=True)
class _Progress:
    highest_tried: int = -1
    acked: list[Event] = field(default_factory=list)
    floor: Event | None = None

    def raise_floor(self, safe_before: float) -> None:
        """What was acknowledged before `safe_before` must survive; the rest may be gone: forget it. The last
        commit counts, also one that set the group back, and also one that may not have been saved."""
        for event in self.acked:
            is_lower = self.floor is not None and event.offset < self.floor.offset
            if event.t_done <= safe_before or is_lower:
                self.floor = event
        self.acked = []


def check_offset_commit(events: Iterable[Event], *, persist_interval_s: float) -> list[Violation]:
    table: dict[_Key, _Progress] = {}
    violations = []
    gone_at = float("-inf")
    for event in events:
        if event.op == NEMESIS and event.key in (CRASH, CLEAN_STOP):
            grace_s = persist_interval_s if event.key == CRASH else 0.0
            for progress in table.values():
                progress.raise_floor(event.t_invoke - grace_s)
            gone_at = event.t_done if event.key == CRASH else gone_at
        elif event.op in (COMMIT, FETCH):
            progress = table.setdefault((event.key, event.topic, event.queue), _Progress())
            if event.op == FETCH:
                violations.extend(_check_fetch(event, progress))
            elif event.status != FAIL:
                progress.highest_tried = max(progress.highest_tried, event.offset)
                if event.status == OK and event.t_invoke > gone_at:
                    progress.acked.append(event)
    return violations


def _check_fetch(event: Event, progress: _Progress) -> list[Violation]:
    if event.status != OK:
        return []
    if event.offset > progress.highest_tried:
        text = f"group {event.key} stands at {event.offset}, ahead of all commits ({progress.highest_tried})"
        return [Violation(_CHECKER, text, (event,))]
    if progress.floor is not None and event.offset < progress.floor.offset:
        text = f"group {event.key} stands at {event.offset}, back from {progress.floor.offset}"
        return [Violation(_CHECKER, text, (progress.floor, event))]
    return []
