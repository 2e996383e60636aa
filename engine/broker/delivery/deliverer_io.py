"""Reads waiting messages and appends them to their real topics: for delay levels and for timers.

Cold reads go to a thread; appends happen on the loop. Messages appended in the seconds before a crash, whose
delivery was not saved yet, are found through the index and not appended again. Damaged messages are not lost:
see `damaged_deliveries`. Loop thread only.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

from engine.broker.damage.damaged_reads_io import DamagedDeliveries
from engine.broker.delivery.parked_messages import was_delivered
from engine.broker.stats.traffic import Traffic
from engine.protocol.properties import Property, find_property
from engine.store.log.message_log import MessageLog
from engine.store.reading.message_search import MessageSearch
from engine.store.reading.record_reads import Place
from engine.store.results import MessageDraft, PutStatus

log = logging.getLogger(__name__)

_NEVER = (PutStatus.MESSAGE_ILLEGAL, PutStatus.PROPERTIES_SIZE_EXCEEDED)
_INDEX_SLACK_MS = 2_000
_MAX_FOUND = 64


@dataclass(eq=False, repr=False)
class Deliverer:
    log: MessageLog
    search: MessageSearch
    traffic: Traffic
    threads: Executor
    since_ms: int
    appended: Callable[[], None]
    damaged: DamagedDeliveries

    def begin(self, now_ms: int) -> None:
        """Messages due until now may have been delivered by an earlier process or another master."""
        self.since_ms = now_ms

    async def read(self, places: Sequence[Place]) -> list[bytes | None]:
        """The records at these places; None for a missing or damaged one. Damage is repaired first, if
        another member has the record."""
        records = dict(zip(places, await self._read(places), strict=True))
        missing = [place for place, record in records.items() if record is None]
        damaged = [place for place in missing if self.damaged.is_in_log(place)]
        if damaged:
            again = await self.damaged.repaired(damaged)
            records |= zip(again, await self._read(again), strict=True)
        return [records[place] for place in places]

    async def _read(self, places: Sequence[Place]) -> list[bytes | None]:
        reads = self.log.plan_record_reads(places)
        if reads.is_hot:
            return reads.run()
        return await asyncio.get_running_loop().run_in_executor(self.threads, reads.run)

    def deliver(self, draft: MessageDraft, due_ms: int, now_ms: int) -> bool:
        """True: it is in the log, or can never be. False: the store accepts nothing now; retry later."""
        if due_ms <= self.since_ms and self._was_appended(draft, due_ms, now_ms):
            return True
        result = self.log.put(draft, now_ms)
        if result.status is PutStatus.PUT_OK:
            self.traffic.put(draft.topic, 1, result.size)
            self.appended()
            return True
        if result.status in _NEVER:
            log.error("a message for %s can never be delivered: %s", draft.topic, result.remark)
            return True
        return False

    def _was_appended(self, draft: MessageDraft, due_ms: int, now_ms: int) -> bool:
        unique_key = find_property(draft.properties.decode("utf-8", "replace"), Property.UNIQ_KEY)
        if unique_key is None:
            return False
        found = self.search.query(draft.topic, unique_key, _MAX_FOUND, due_ms - _INDEX_SLACK_MS, now_ms)
        return was_delivered(found.records, draft, due_ms)
