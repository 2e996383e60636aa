"""Which producer groups send to which topics, as their sends say: heartbeats name no topics.

A group counts for ten minutes after its last message. Names come from clients, so their length and how many
are kept of a topic are bounded; beyond that a topic's list is cut, not wrong. Incremented on the hot path:
two look-ups for each send. Pure, loop thread only.
"""

from __future__ import annotations

KEPT_MS = 600_000
LOOK_EVERY_MS = 30_000
MOST_GROUPS = 64
MOST_NAME = 255


class Senders:
    def __init__(self) -> None:
        self._last_ms: dict[str, dict[str, int]] = {}
        """By topic and group."""
        self._changed: set[str] = set()
        self._looked_ms = 0

    def note(self, topic: str, group: str, now_ms: int) -> None:
        groups = self._last_ms.get(topic)
        if groups is None:
            groups = self._last_ms[topic] = {}
        if group not in groups:
            if not group or len(group) > MOST_NAME or len(groups) >= MOST_GROUPS:
                return
            self._changed.add(topic)
        groups[group] = now_ms

    def names(self, topic: str) -> list[str]:
        groups = self._last_ms.get(topic)
        return sorted(groups) if groups else []

    def forget_topic(self, topic: str) -> None:
        self._last_ms.pop(topic, None)

    def take_changed(self, now_ms: int) -> set[str]:
        """Topics that got a new sender, or lost one."""
        if now_ms - self._looked_ms >= LOOK_EVERY_MS:
            self._looked_ms = now_ms
            self._expire(now_ms - KEPT_MS)
        changed, self._changed = self._changed, set()
        return changed

    def _expire(self, before_ms: int) -> None:
        for topic, groups in list(self._last_ms.items()):
            for group in [group for group, last_ms in groups.items() if last_ms < before_ms]:
                del groups[group]
                self._changed.add(topic)
            if not groups:
                del self._last_ms[topic]
