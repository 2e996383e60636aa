"""Running totals of what went in and out, by topic and group. Incremented on the hot path, sampled by others.

Plain counters that only grow; rates, days and windows are made by whoever samples them. Loop thread only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.broker.stats.senders import Senders


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
        count = self.sent_back_by_pair.setdefault((topic, group), Count())
        count.messages += 1
        count.size_bytes += size_bytes
        count.requests += 1

    def acked(self, topic: str, group: str, messages: int) -> None:
        count = self.acked_by_pair.setdefault((topic, group), Count())
        count.messages += messages
        count.requests += 1

    def checkpoint(self, topic: str, group: str) -> None:
        count = self.checkpoints_by_pair.setdefault((topic, group), Count())
        count.messages += 1
        count.requests += 1

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
