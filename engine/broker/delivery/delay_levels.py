"""Delay levels: which there are, which one a message asks for, and how far each level has been delivered.

A delayed message waits in SCHEDULE_TOPIC_XXXX, one queue per level; all of one level wait equally long, so a
queue is in the order of delivery. `DelayOffsets` is delayOffset.json: it never runs ahead of the log on disk,
because a delivery that a power cut undoes must be repeated.
Pure: `now_ms` is passed in. Loop thread only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.errors import BadInput
from engine.protocol.bodies.basics import DataVersion
from engine.protocol.bodies.offsets import DelayOffsetSerializeWrapper
from engine.protocol.names import SCHEDULE_TOPIC
from engine.protocol.properties import Property
from engine.store.queues.consume_queue import BLANK_UNIT_SIZE
from engine.store.results import MessageDraft, QueueUnit

DELAY_OFFSETS_FILE = "delayOffset.json"
DEFAULT_LEVELS = "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h"
LEVELS_PATTERN = r"\s*[0-9]{1,9}[smhd](\s+[0-9]{1,9}[smhd])*\s*"

_UNITS_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
TIMER_REQUESTS = (Property.TIMER_DELAY_SEC, Property.TIMER_DELAY_MS, Property.TIMER_DELIVER_MS)


def parse_levels(text: str) -> tuple[int, ...]:
    """Milliseconds of each level of a messageDelayLevel, level 1 first."""
    if re.fullmatch(LEVELS_PATTERN, text) is None:
        raise BadInput(f"messageDelayLevel={text:.200} is not a list like 1s 5s 10m 2h")
    return tuple(int(word[:-1]) * _UNITS_MS[word[-1]] for word in text.split())


def level_of(properties: Mapping[str, str], level_count: int) -> int:
    """The level asked for, at most the last; 0: none (also for what is not a number, as in the log)."""
    text = properties.get(Property.DELAY, "")
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        return 0
    return min(int(text), level_count)


def park_delayed(
    draft: MessageDraft, properties: Mapping[str, str], level: int
) -> tuple[str, int, dict[str, str]]:
    """Topic, queue and properties under which the message waits. A level wins over a timer."""
    kept = {name: value for name, value in properties.items() if name not in TIMER_REQUESTS}
    kept[Property.DELAY] = str(level)
    kept[Property.REAL_TOPIC] = draft.topic
    kept[Property.REAL_QID] = str(draft.queue_id)
    return SCHEDULE_TOPIC, level - 1, kept


@dataclass(frozen=True, slots=True)
class DueUnits:
    """Units to deliver now, the level's next offset after them, and when that one is due."""

    units: tuple[QueueUnit, ...]
    next_offset: int
    next_due_ms: int | None


def due_units(units: Sequence[QueueUnit], head_due_ms: int | None, delay_ms: int, now_ms: int) -> DueUnits:
    """The due units at the head of a level. `head_due_ms`: the time computed for the first one before.

    A time further away than the whole delay means that the clock was set back (or the levels were changed):
    the message then waits its delay from now on, once.
    """
    due: list[QueueUnit] = []
    for unit in units:
        if unit.size == BLANK_UNIT_SIZE:
            continue
        due_ms = min(unit.tags_code, now_ms + delay_ms)
        if unit is units[0] and head_due_ms is not None:
            due_ms = min(due_ms, head_due_ms)
        if due_ms > now_ms:
            return DueUnits(tuple(due), unit.queue_offset, due_ms)
        due.append(unit)
    return DueUnits(tuple(due), units[-1].queue_offset + 1, None)


class DelayOffsets:
    """Per level the queue offset up to which all is delivered; `settle` decides how much may be saved."""

    def __init__(self, stored: DelayOffsetSerializeWrapper | None = None) -> None:
        stored = stored or DelayOffsetSerializeWrapper()
        self._delivered = {level: offset for level, offset in stored.offset_table.items() if offset >= 0}
        self._settled = dict(self._delivered)
        self._candidate: tuple[dict[int, int], int] | None = None
        self.version = stored.data_version or DataVersion()
        self.is_dirty = False

    def get(self, level: int) -> int:
        return self._delivered.get(level, 0)

    def set(self, level: int, queue_offset: int) -> None:
        self._delivered[level] = queue_offset

    def adopt(self, stored: DelayOffsetSerializeWrapper) -> bool:
        """A slave takes its master's offsets; returns whether they differed."""
        given = {level: offset for level, offset in stored.offset_table.items() if offset >= 0}
        if given == self._delivered == self._settled:
            return False
        self._delivered, self._settled, self._candidate = given, dict(given), None
        self.version = stored.data_version or self.version
        return True

    def settle(self, log_end: int, kept_end: int) -> None:
        """Called repeatedly. Offsets may be saved once the log end at their delivery is final: on disk and,
        in a group, confirmed."""
        if self._candidate is not None and kept_end >= self._candidate[1]:
            self._settled, self._candidate = self._candidate[0], None
            self.is_dirty = True
        if self._candidate is None and self._delivered != self._settled:
            self._candidate = dict(self._delivered), log_end

    def start_over(self) -> None:
        """The log may be truncated after a change of master; deliveries since the last save are repeated."""
        self._delivered, self._candidate = dict(self._settled), None

    def wrapper(self) -> DelayOffsetSerializeWrapper:
        """The answer to GET_ALL_DELAY_OFFSET (45)."""
        return DelayOffsetSerializeWrapper(dict(sorted(self._delivered.items())), self.version)

    def snapshot(self, now_ms: int) -> DelayOffsetSerializeWrapper:
        """What delayOffset.json holds."""
        if self.is_dirty:
            self.version = self.version.next_version(now_ms)
        self.is_dirty = False
        return DelayOffsetSerializeWrapper(dict(sorted(self._settled.items())), self.version)

    def mark_dirty(self) -> None:
        self.is_dirty = True
