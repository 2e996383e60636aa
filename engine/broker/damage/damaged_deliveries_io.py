"""A delayed, timed or popped message that is damaged when it is to be delivered must not vanish.

Its repair is waited for, but only shortly: other messages are due behind it. What is not repaired by then
goes on the list of skipped records, as skipped by the delivery to its topic (`%DELIVERY%Orders`) or by the
group that popped it. The list is on disk before the delivery goes on without the message, so nothing that is
noted as delivered was lost, and `redelivery_task` delivers it once it is whole again. Loop thread only."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Executor

from engine.broker.damage.damaged_records import DAMAGE_FILE, DamagedRecords, Repairs
from engine.broker.damage.record_rows import describe
from engine.errors import CorruptRecord
from engine.protocol.bodies.brokers import DELIVERY_PREFIX
from engine.protocol.names import is_valid_topic
from engine.protocol.properties import Property
from engine.protocol.records import Record, decode_record
from engine.store.message_store import MessageStore
from engine.store.reading.record_reads import Place
from engine.store.results import Damage

log = logging.getLogger(__name__)


class DamagedDeliveries:
    def __init__(
        self,
        store: MessageStore,
        records: DamagedRecords,
        repairs: Repairs,
        threads: Executor,
        *,
        saved: Callable[[str], Awaitable[OSError | None]],
        now_ms: Callable[[], int],
    ) -> None:
        self._store = store
        self._records = records
        self._repairs = repairs
        self._threads = threads
        self._saved = saved
        self._now_ms = now_ms

    def is_in_log(self, place: Place) -> bool:
        """Whether what cannot be read there is damaged, and not just gone."""
        start, size = place
        log_start, log_end = self._store.log.min_offset, self._store.log.max_offset
        return size > 0 and log_start <= start and start + size <= log_end

    async def repaired(self, places: Sequence[Place]) -> list[Place]:
        """Those that are worth another look, after all of them were waited for together."""
        damages = [self._store.repairs.damage_at(*place) for place in places]
        looks = await asyncio.gather(*map(self._repairs.wait_for_delivery, damages))
        return [place for place, is_worth_it in zip(places, looks, strict=True) if is_worth_it]

    async def claimed(self, place: Place) -> Record | None:
        """What a damaged record says of itself, where all but its body is sound; None: nothing sensible. Only
        the body has a checksum, so what its properties say is as good as in any other record."""
        part = self._store.repairs.find(*place)
        if part is None:
            return None
        raw = await asyncio.get_running_loop().run_in_executor(self._threads, part.read)
        try:
            record = decode_record(raw, 0, False)
        except CorruptRecord:
            return None
        is_right = (record.commit_log_offset, record.size) == place and len(raw) == record.size
        return record if is_right else None

    async def skip_delivery(self, damage: Damage, way: str) -> bool:
        """The delivery goes on without it. False: the list cannot be written now, try again."""
        record = await self.claimed((damage.commit_log_offset, damage.size))
        topic = None if record is None else record.properties.get(Property.REAL_TOPIC)
        return await self.skip(
            damage, DELIVERY_PREFIX + (topic if topic and is_valid_topic(topic) else ""), way
        )

    async def skip(self, damage: Damage, name: str, way: str) -> bool:
        record = self._repairs.note(damage)
        if self._records.skip(record, name, way, self._now_ms()):
            log.warning("%s skips the %s", name, describe(damage))
        if not self._repairs.is_given_up(record):
            self._repairs.begin(record)
        return await self._saved(DAMAGE_FILE) is None
