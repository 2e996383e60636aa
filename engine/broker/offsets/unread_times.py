"""When the oldest unread message of each group and queue was stored.

These messages lie anywhere in the log, so a thread reads them; until then a time is not known. One round
reads a bounded number, those that were asked for first; the others wait for the next. Loop thread only, but
for the plan that `take_wanted` returns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from engine.store.message_store import MessageStore
from engine.store.reading.store_times import StoreTimes

MAX_READS = 2_000
"""Of one round: some tens of milliseconds, nearly all of it in system calls."""
MAX_KNOWN_OF_TOPIC = 1_000

Pair = tuple[str, str]
"""(topic, group)"""
QueuePlace = tuple[int, int]
"""Queue id and queue offset."""
_NOTHING: dict[QueuePlace, int] = {}


class UnreadTimes:
    def __init__(self, store: MessageStore) -> None:
        self._store = store
        self._known: dict[str, dict[QueuePlace, int]] = {}
        self._wanted: dict[Pair, list[QueuePlace]] = {}
        self._wanted_count = 0
        self._unfinished: dict[Pair, None] = {}
        """Found no room among the wanted; the first comes first."""

    def known_of(self, topic: str) -> Mapping[QueuePlace, int]:
        """Store times by place; negative: it could not be read."""
        return self._known.get(topic, _NOTHING)

    def forget(self, topic: str) -> None:
        self._known.pop(topic, None)

    @property
    def is_full(self) -> bool:
        return self._wanted_count >= MAX_READS

    def postpone(self, pairs: Iterable[Pair]) -> None:
        """To be looked at again in a later round."""
        self._unfinished.update(dict.fromkeys(pairs))

    def want(self, pair: Pair, places: list[QueuePlace]) -> None:
        """What is missing for this pair now; what was wanted for it before is not any more."""
        if self._wanted_count >= MAX_READS:
            self.postpone((pair,))
        else:
            self._wanted_count += len(places) - len(self._wanted.get(pair, ()))
            self._wanted[pair] = places

    def take_unfinished(self) -> list[Pair]:
        """Pairs to be looked at again, because more was missing than one round reads."""
        return [self._unfinished.popitem()[0] for _ in range(min(len(self._unfinished), MAX_READS // 2))]

    def take_wanted(self) -> tuple[StoreTimes, set[Pair]] | None:
        """What to read next, in any thread, and the pairs that it is for; None: nothing is missing."""
        if not self._wanted:
            return None
        wanted, self._wanted, self._wanted_count = self._wanted, {}, 0
        places = dict.fromkeys((pair[0], *place) for pair, missing in wanted.items() for place in missing)
        return self._store.plan_store_times(list(places)), set(wanted)

    def note(self, read: StoreTimes, times_ms: list[int]) -> None:
        """What was read; negative: it could not be."""
        for (topic, queue_id, queue_offset), time_ms in zip(read.places, times_ms, strict=True):
            known = self._known.get(topic)
            if known is None or len(known) >= MAX_KNOWN_OF_TOPIC:
                # Read again, should anybody still stand there.
                known = self._known[topic] = {}
            known[queue_id, queue_offset] = time_ms
