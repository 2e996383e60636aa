"""Puts together what deals with damaged records: list, repair, scrub, reads. No logic of its own."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from pathlib import Path

import orjson

from engine.broker.clients.consumer_table import ConsumerTable
from engine.broker.damage.damaged_reads import DamagedReads
from engine.broker.damage.damaged_records import DAMAGE_FILE, DamagedRecords, encode_records
from engine.broker.damage.redelivery_task import Redelivery
from engine.broker.damage.repair_task import Fetch, RepairTask, fetch_nothing
from engine.broker.damage.scrub_task import SCRUB_FILE, ScrubTask
from engine.broker.failover.role import Role
from engine.broker.process.duty_parts import DutyParts
from engine.broker.state.table_writer_task import TOPICS_FILE, StateFile
from engine.durable_file import read_durable
from engine.net.connection import Connection
from engine.net.flow import LoopLag
from engine.protocol.bodies.heartbeats import MessageModel
from engine.store.reading.record_reads import Place
from engine.store.recovery.record_repair import LogRange

log = logging.getLogger(__name__)


class DamageControl:
    def __init__(
        self,
        directory: Path,
        parts: DutyParts,
        consumers: ConsumerTable[Connection],
        role: Role,
        lag: LoopLag,
    ) -> None:
        self._parts = parts
        self._consumers = consumers
        self._role = role
        self._directory = directory
        self.fetch: Fetch = fetch_nothing
        """Set by a broker that is in a group."""
        self.records = DamagedRecords()
        store, now_ms, save = parts.store, parts.now_ms, self._save
        self._redelivery = self._new_redelivery()
        self.repairs = RepairTask(
            store,
            self.records,
            parts.threads,
            fetch=self._fetch,
            save=save,
            wake=parts.waits.wake_soon,
            redeliver=self._redelivery.run,
            now_ms=now_ms,
        )
        self.reads = DamagedReads(store, self.records, self.repairs, role, now_ms=now_ms)
        self.scrub = ScrubTask(
            store,
            self.repairs,
            parts.options.live,
            parts.threads,
            loop_lag_ms=lambda: lag.lag_ms,
            save=save,
            now_ms=now_ms,
        )
        self._load()

    def _new_redelivery(self) -> Redelivery:
        parts = self._parts
        tables, live, now_ms = parts.tables, parts.options.live, parts.now_ms
        return Redelivery(
            parts.store,
            self.records,
            tables.topics,
            tables.groups,
            self._read,
            parts.traffic,
            self._role,
            uses_retry_topic_v2=lambda: live.enable_retry_topic_v2,
            is_broadcasting=self._is_broadcasting,
            topics_saved=self._topics_saved,
            save=self._save,
            appended=parts.appended,
            now_ms=now_ms,
        )

    def _load(self) -> None:
        for name, adopt in ((DAMAGE_FILE, self.records.load), (SCRUB_FILE, self.scrub.load)):
            content, damage = read_durable(self._directory / name, orjson.loads)
            if damage is not None:
                log.warning("%s: %s", name, damage)
            adopt(content)

    def files(self) -> dict[str, StateFile]:
        records, scrub = self.records, self.scrub
        return {
            DAMAGE_FILE: StateFile(
                self._directory / DAMAGE_FILE, records.snapshot, encode_records, _kept, _nothing
            ),
            SCRUB_FILE: StateFile(self._directory / SCRUB_FILE, scrub.snapshot, bytes, _kept, _nothing),
        }

    def start(self) -> None:
        self.repairs.start()
        self.scrub.start()

    async def stop(self) -> None:
        await self.scrub.stop()
        await self.repairs.stop()

    async def _read(self, place: Place) -> bytes | None:
        reads = self._parts.store.plan_record_reads([place])
        found = await asyncio.get_running_loop().run_in_executor(self._parts.threads, reads.run)
        return found[0]

    async def _fetch(self, place: LogRange) -> tuple[bytes, bool]:
        return await self.fetch(place)

    def _save(self, file: str) -> None:
        self._parts.when_saved(file, _ignore)

    def _is_broadcasting(self, group: str) -> bool:
        online = self._consumers.group(group)
        return online is not None and online.message_model is MessageModel.BROADCASTING

    def _topics_saved(self) -> Awaitable[None]:
        saved: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._parts.when_saved(TOPICS_FILE, lambda error: saved.set_result(None))
        return saved


def _kept(snapshot: object) -> None:
    """Nothing waits for this file."""


def _nothing() -> None:
    """The table itself is the truth; the next change writes it again."""


def _ignore(error: OSError | None) -> None:
    """The failure is in the log already."""
