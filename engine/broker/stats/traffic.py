"""Running totals of what went in and out, by topic and group. Incremented on the hot path, sampled by others.

Plain counters that only grow; `broker_stats` makes rates, days and windows of them. Pure. Loop thread only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

KEPT_MS = 600_000
LOOK_EVERY_MS = 30_000
MOST_GROUPS = 64
MOST_NAME = 255


class Senders:
    """Which producer groups send to which topics, by their sends: heartbeats name no topics.

    A group counts for ten minutes after its last message. Names come from clients, so their length and their
    number per topic are bounded; beyond that a topic's list is cut, not wrong. On the hot path: two look-ups
    for each send.
    """

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


@dataclass(slots=True)
class Count:
    """How many requests, messages and bytes."""

    messages: int = 0
    size_bytes: int = 0
    requests: int = 0


class Traffic:
    def __init__(self) -> None:
        self.put_by_topic: dict[str, Count] = {}
        self.senders = Senders()
        self.got_by_pair: dict[tuple[str, str], Count] = {}
        """(topic, group)"""
        self.sent_back_by_pair: dict[tuple[str, str], Count] = {}
        """(first topic, group)"""
        self.acked_by_pair: dict[tuple[str, str], Count] = {}
        self.checkpoints_by_pair: dict[tuple[str, str], Count] = {}
        """What pops left in the revive log, one for each queue that they took from."""
        self.put_failed = 0
        self.pulls_found = 0
        self.pulls_missed = 0

    def put(self, topic: str, messages: int, size_bytes: int) -> None:
        count = self.put_by_topic.get(topic)
        if count is None:
            count = self.put_by_topic[topic] = Count()
        count.messages += messages
        count.size_bytes += size_bytes
        count.requests += 1

    def got(self, topic: str, group: str, messages: int, size_bytes: int) -> None:
        count = self.got_by_pair.get((topic, group))
        if count is None:
            count = self.got_by_pair[topic, group] = Count()
        count.messages += messages
        count.size_bytes += size_bytes
        count.requests += 1
        self.pulls_found += 1

    def sent_back(self, topic: str, group: str, size_bytes: int) -> None:
        _add(self.sent_back_by_pair, (topic, group), 1, size_bytes)

    def acked(self, topic: str, group: str, messages: int) -> None:
        _add(self.acked_by_pair, (topic, group), messages)

    def checkpoint(self, topic: str, group: str) -> None:
        _add(self.checkpoints_by_pair, (topic, group), 1)

    def forget_topic(self, topic: str) -> None:
        self.put_by_topic.pop(topic, None)
        self.senders.forget_topic(topic)
        self._forget_pairs(lambda pair: pair[0] == topic)

    def forget_group(self, group: str) -> None:
        self._forget_pairs(lambda pair: pair[1] == group)

    def _forget_pairs(self, is_gone: Callable[[tuple[str, str]], bool]) -> None:
        for counts in (
            self.got_by_pair,
            self.sent_back_by_pair,
            self.acked_by_pair,
            self.checkpoints_by_pair,
        ):
            for pair in list(filter(is_gone, counts)):
                del counts[pair]


def _add(
    counts: dict[tuple[str, str], Count], pair: tuple[str, str], messages: int, size_bytes: int = 0
) -> None:
    count = counts.setdefault(pair, Count())
    count.messages += messages
    count.size_bytes += size_bytes
    count.requests += 1
