"""How many timed messages wait, by the topic that they are for: config/timermetrics and the answer to 61.

A figure for people: after a crash it may be off by what was on its way. Pure. Loop thread only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.protocol.bodies.basics import DataVersion

TIMER_METRICS_FILE = "timermetrics"


class TimerCounts:
    def __init__(self, counts: Mapping[str, int] | None = None, version: DataVersion | None = None) -> None:
        self._counts = {topic: count for topic, count in (counts or {}).items() if count > 0}
        self._changed_ms: dict[str, int] = {}
        self.version = version or DataVersion()

    def adopt(self, table: Mapping[str, Any]) -> bool:
        """A slave takes its master's figures (61); whether they were news."""
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
        """What a slave is told (61)."""
        table = {
            topic: {"count": count, "timeStamp": self._changed_ms.get(topic, 0)}
            for topic, count in sorted(self._counts.items())
            if topic
        }
        return {"dataVersion": self.version.to_json(), "timingCount": table}
