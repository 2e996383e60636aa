"""What happens when a client or a delivery reads a damaged record: wait for its repair, or skip it.

Clients: PULL_RETRY_IMMEDIATELY with the next offset is an ordinary answer to them (a filter passed over
messages). Before a group skips, the skip is in the list on disk. A slave whose master is alive skips
nothing: it sends the group to the master.

Deliveries of delayed, timed and popped messages wait for the repair only shortly: other messages are due
behind it. A message that is not repaired by then is listed as skipped by the delivery to its topic
(`%DELIVERY%Orders`) or by the group that popped it. The list is on disk before the delivery goes on, so
nothing is lost, and `redelivery_task` delivers the message once it is repaired. Loop thread only.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

from engine.broker.damage.damaged_records import (
    DAMAGE_FILE,
    WAIT_MS,
    DamagedRecords,
    Repairs,
    describe,
    wait_key,
)
from engine.broker.failover.role import Role, RoleKind
from engine.errors import CorruptRecord
from engine.net.outcomes import Hold, Later, Outcome, Persist
from engine.protocol.bodies.brokers import DELIVERY_PREFIX
from engine.protocol.names import is_valid_topic
from engine.protocol.properties import Property
from engine.protocol.records import Record, decode_record
from engine.store.log.message_log import MessageLog
from engine.store.reading.record_reads import Place
from engine.store.recovery.record_repair import RecordRepair
from engine.store.results import Damage

log = logging.getLogger(__name__)


def may_not_skip(role: Role) -> bool:
    """A slave sends the group to its master, and a seeking broker waits for its master. Pure."""
    return not role.is_master and (role.is_master_alive or role.kind is RoleKind.SEEKING)


@dataclass(eq=False, repr=False)
class DamagedReads:
    record_repair: RecordRepair
    records: DamagedRecords
    repairs: Repairs
    role: Role
    now_ms: Callable[[], int]

    def answer(
        self,
        damage: Damage,
        group: str,
        way: str,
        *,
        again: Callable[[], Outcome] | None,
        later: Callable[[], Outcome],
        skip: Callable[[], Outcome],
    ) -> Outcome:
        """`again` reads once more (None: this is the second time), `later` asks the client to come back with
        the same offset, `skip` goes on behind the record."""
        if self.record_repair.mend_queue(damage.topic, damage.queue_id, damage.queue_offset) and again:
            return again()
        record = self.repairs.note(damage)
        if not self.repairs.is_given_up(record):
            self.repairs.begin(record)
            if again is None:
                return later()
            return Hold(Later(again, (wait_key(damage),)), WAIT_MS)
        if may_not_skip(self.role):
            return later()
        if not self.records.skip(record, group, way, self.now_ms()):
            return skip()
        where = damage.commit_log_offset, damage.file, damage.queue_offset, damage.topic, damage.queue_id
        log.warning(
            "group %s skips the damaged record at commit-log offset %d in %s: queue offset %d of %s@%d, "
            "which no member has",
            group,
            *where,
        )
        return Persist(DAMAGE_FILE, resume=skip)


def skip_remark(damage: Damage) -> str:
    return (
        f"MESSAGE_DAMAGED: the message at queue offset {damage.queue_offset} (commit-log offset "
        f"{damage.commit_log_offset}) is damaged and was skipped"
    )


def wait_remark(damage: Damage) -> str:
    return (
        f"MESSAGE_DAMAGED: the message at queue offset {damage.queue_offset} (commit-log offset "
        f"{damage.commit_log_offset}) is damaged and is being repaired"
    )


@dataclass(eq=False, repr=False)
class DamagedDeliveries:
    log: MessageLog
    record_repair: RecordRepair
    records: DamagedRecords
    repairs: Repairs
    threads: Executor
    saved: Callable[[str], Awaitable[OSError | None]]
    now_ms: Callable[[], int]

    def is_in_log(self, place: Place) -> bool:
        """Whether an unreadable record there is damaged, and not just expired."""
        start, size = place
        log_start, log_end = self.log.min_offset, self.log.max_offset
        return size > 0 and log_start <= start and start + size <= log_end

    async def repaired(self, places: Sequence[Place]) -> list[Place]:
        """The places to read again, after waiting for all of them together."""
        damages = [self.record_repair.damage_at(*place) for place in places]
        looks = await asyncio.gather(*map(self.repairs.wait_for_delivery, damages))
        return [place for place, is_worth_it in zip(places, looks, strict=True) if is_worth_it]

    async def claimed(self, place: Place) -> Record | None:
        """A damaged record whose header and properties can be read; None: they cannot. Only the body has a
        checksum, so its properties are as reliable as those of any other record."""
        part = self.record_repair.find(*place)
        if part is None:
            return None
        raw = await asyncio.get_running_loop().run_in_executor(self.threads, part.read)
        try:
            record = decode_record(raw, 0, False)
        except CorruptRecord:
            return None
        is_right = (record.commit_log_offset, record.size) == place and len(raw) == record.size
        return record if is_right else None

    async def skip_delivery(self, damage: Damage, way: str) -> bool:
        """The delivery continues without it. False: the list cannot be written now, try again."""
        claimed = await self.claimed((damage.commit_log_offset, damage.size))
        topic = None if claimed is None else claimed.properties.get(Property.REAL_TOPIC)
        name = DELIVERY_PREFIX + (topic if topic and is_valid_topic(topic) else "")
        # It is delivered once, also when its topic could not be read before, and can be now.
        known = (skip for skip in self.repairs.note(damage).skips if skip.startswith(DELIVERY_PREFIX))
        return await self.skip(damage, next(known, name), way)

    async def skip(self, damage: Damage, name: str, way: str) -> bool:
        record = self.repairs.note(damage)
        if self.records.skip(record, name, way, self.now_ms()):
            log.warning("%s skips the %s", name, describe(damage))
        if not self.repairs.is_given_up(record):
            self.repairs.begin(record)
        return await self.saved(DAMAGE_FILE) is None
