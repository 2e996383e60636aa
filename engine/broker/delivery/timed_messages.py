"""Timed messages: the time they ask for, the wheel second they wait under, recalls, and counts.

A message is put under the last whole second before its time, and that second is read once it has passed: so
nothing is ever early, and all are out within a second of their time. What lies further ahead than the roll
window is put at the window's end and from there on the wheel again, in a fresh record of the log.

`TimerSecond` is the second that is passing: its messages are delivered one by one in the order of their exact
times. The timer log keeps the millisecond in a field that RocketMQ leaves empty; where it is empty, the
message waits for the end of its second, as in RocketMQ. `TimerCounts` counts the waiting messages by topic
(config/timermetrics and the answer to 61); after a crash it may be off by what was in flight. Pure. Loop
thread only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from heapq import heappop, heappush
from typing import Any

from engine.broker.sending.admission import illegal
from engine.protocol.bodies.basics import DataVersion
from engine.protocol.layouts.timer_files import TIMER_DEFAULT, TIMER_DELETE, TIMER_ROLL, TimerLogUnit
from engine.protocol.message_ids import RecallHandle, encode_recall_handle
from engine.protocol.names import TIMER_TOPIC
from engine.protocol.properties import Property
from engine.store.results import MessageDraft
from engine.store.timers.timer_wheel import PRECISION_MS

RECALL_TAG = "_RECALL_TAG_"
_MAX_DIGITS = 18


def asked_time_ms(properties: Mapping[str, str], now_ms: int) -> int | None:
    """The delivery time that a message asks for; None without one. A delay takes precedence over a time."""
    if Property.TIMER_OUT_MS in properties:
        return None
    for name, unit_ms in ((Property.TIMER_DELAY_SEC, 1000), (Property.TIMER_DELAY_MS, 1)):
        if name in properties:
            return now_ms + _number(name, properties[name]) * unit_ms
    if Property.TIMER_DELIVER_MS in properties:
        return _number(Property.TIMER_DELIVER_MS, properties[Property.TIMER_DELIVER_MS])
    return None


def _number(name: str, text: str) -> int:
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _MAX_DIGITS):
        raise illegal(f"{name}={text:.40} is not a number")
    return int(text)


def floored(deliver_ms: int) -> int:
    """TIMER_OUT_MS: the second whose passing is the earliest moment not before the time asked for."""
    return deliver_ms - (deliver_ms % PRECISION_MS or PRECISION_MS)


def park_timed(
    draft: MessageDraft, properties: Mapping[str, str], deliver_ms: int, now_ms: int, max_delay_s: int
) -> tuple[str, int, dict[str, str]] | None:
    """Topic, queue and properties under which it waits; None: it is due already and an ordinary message."""
    if deliver_ms - now_ms > max_delay_s * 1000:
        raise illegal(
            f"the time of delivery is {(deliver_ms - now_ms) // 1000} s ahead, timerMaxDelaySec={max_delay_s}"
        )
    if deliver_ms <= now_ms:
        if Property.TIMER_DEL_UNIQKEY in properties:
            raise illegal("the message to recall has been delivered")
        return None
    kept = {name: value for name, value in properties.items() if name != Property.DELAY}
    kept[Property.TIMER_OUT_MS] = str(floored(deliver_ms))
    kept[Property.REAL_TOPIC] = draft.topic
    kept[Property.REAL_QID] = str(draft.queue_id)
    return TIMER_TOPIC, 0, kept


def recall_handle(properties: Mapping[str, str], broker_name: str) -> str | None:
    """What the producer of a waiting message recalls it by; one more than its second, so that flooring finds
    the same one."""
    out, topic = properties.get(Property.TIMER_OUT_MS), properties.get(Property.REAL_TOPIC)
    unique_key = properties.get(Property.UNIQ_KEY)
    if out is None or topic is None or unique_key is None:
        return None
    return encode_recall_handle(RecallHandle(topic, broker_name, int(out) + 1, unique_key))


def out_time_ms(properties: Mapping[str, str]) -> int | None:
    """The second that a stored message waits for; None when it is no timed message."""
    text = properties.get(Property.TIMER_OUT_MS, "")
    if not (text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS):
        return None
    return int(text) - int(text) % PRECISION_MS


def wheel_time(properties: Mapping[str, str], out_ms: int, now_ms: int, window_ms: int) -> tuple[int, int]:
    """The second of the wheel, and the magic of the unit."""
    magic = TIMER_DELETE if Property.TIMER_DEL_UNIQKEY in properties else 0
    if out_ms - now_ms < window_ms:
        return out_ms, magic | TIMER_DEFAULT
    end_ms = now_ms + window_ms
    return end_ms - end_ms % PRECISION_MS, magic | TIMER_DEFAULT | TIMER_ROLL


def delete_key(topic: str, unique_key: str) -> str:
    return f"{topic}+{unique_key}"


def delete_keys(properties: Mapping[str, str]) -> tuple[str, ...]:
    """The keys that a recall of this message may have: RocketMQ 5.1 wrote the unique key alone."""
    topic, unique_key = properties.get(Property.REAL_TOPIC), properties.get(Property.UNIQ_KEY)
    if topic is None or unique_key is None:
        return ()
    return delete_key(topic, unique_key), unique_key


def rolled(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties of the fresh record that a message gets at the end of a window."""
    times = properties.get(Property.TIMER_ROLL_TIMES, "0")
    return {
        **properties,
        Property.TIMER_ROLL_TIMES: str(int(times) + 1 if times.isdecimal() else 1),
    }


Entry = tuple[int, int, TimerLogUnit]
"""(due time, sequence number, message)"""


def exact_time_ms(properties: Mapping[str, str], out_ms: int, store_timestamp: int) -> int:
    """The millisecond of a message that waits under `out_ms`; a delay counts from when it was stored."""
    asked = {name: value for name, value in properties.items() if name != Property.TIMER_OUT_MS}
    deliver_ms = asked_time_ms(asked, store_timestamp)
    end_ms = out_ms + PRECISION_MS
    return end_ms if deliver_ms is None or not out_ms < deliver_ms < end_ms else deliver_ms


def due_ms(unit: TimerLogUnit, time_ms: int) -> int:
    end_ms = time_ms + PRECISION_MS
    return unit.reserved if time_ms < unit.reserved < end_ms and not unit.magic & TIMER_ROLL else end_ms


class TimerSecond:
    def __init__(self, time_ms: int) -> None:
        self.time_ms = time_ms
        self.taken = 0
        self._sequence = 0
        self.recalled: set[str] = set()
        self._waiting: list[Entry] = []

    @property
    def has_waiting(self) -> bool:
        return bool(self._waiting)

    def take(self, units: Iterable[TimerLogUnit], count: int) -> None:
        """Add messages, oldest first, until all `count` units of the slot are taken. A unit that could not be
        read is not retried, or its neighbours would be delivered twice."""
        for unit in units:
            heappush(self._waiting, (due_ms(unit, self.time_ms), self._sequence, unit))
            self._sequence += 1
        self.taken = count

    def due(self, now_ms: int, limit: int) -> list[Entry]:
        """Removes and returns at most `limit` due entries; `put_back` those that failed."""
        found: list[Entry] = []
        while self._waiting and len(found) < limit and self._waiting[0][0] <= now_ms:
            found.append(heappop(self._waiting))
        return found

    def put_back(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            heappush(self._waiting, entry)


TIMER_METRICS_FILE = "timermetrics"


class TimerCounts:
    def __init__(self, counts: Mapping[str, int] | None = None, version: DataVersion | None = None) -> None:
        self._counts = {topic: count for topic, count in (counts or {}).items() if count > 0}
        self._changed_ms: dict[str, int] = {}
        self.version = version or DataVersion()

    def adopt(self, table: Mapping[str, Any]) -> bool:
        """A slave takes its master's counts (61); returns whether they differed."""
        version, rows = table.get("dataVersion"), table.get("timingCount")
        if not isinstance(version, dict) or not isinstance(rows, dict):
            return False
        given = DataVersion.from_json(version)
        if given == self.version:
            return False
        self.version = given
        self._counts = {
            topic: row["count"]
            for topic, row in rows.items()
            if isinstance(row, dict) and isinstance(row.get("count"), int) and row["count"] > 0
        }
        return True

    def add(self, topic: str, change: int, now_ms: int) -> None:
        self._counts[topic] = max(0, self._counts.get(topic, 0) + change)
        self._changed_ms[topic] = now_ms

    def total(self) -> int:
        return sum(self._counts.values())

    def snapshot(self, now_ms: int) -> dict[str, Any]:
        """What timermetrics holds."""
        self.version = self.version.next_version(now_ms)
        return self.table()

    def table(self) -> dict[str, Any]:
        """The answer to GET_TIMER_METRICS (61)."""
        table = {
            topic: {"count": count, "timeStamp": self._changed_ms.get(topic, 0)}
            for topic, count in sorted(self._counts.items())
            if topic
        }
        return {"dataVersion": self.version.to_json(), "timingCount": table}
