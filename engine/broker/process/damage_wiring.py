"""Builds the parts that handle damaged records: list, repair, scrub, reads."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import orjson

from engine.broker.damage.damaged_reads_io import DamagedDeliveries, DamagedReads
from engine.broker.damage.damaged_records import DAMAGE_FILE, DamagedRecords, encode_records
from engine.broker.damage.redelivery_task import Redelivery
from engine.broker.damage.repair_task import RepairTask
from engine.broker.damage.scrub_task import SCRUB_FILE, ScrubTask
from engine.broker.damage.skip_exchange import SkipExchange
from engine.broker.failover.member_requests_io import DamageMembers
from engine.broker.process.core import Core, now_ms
from engine.broker.process.waits import BrokerWaits
from engine.broker.replication.metadata import ReplicaFile, ReplicaFiles
from engine.broker.state.state_file_io import StateFile
from engine.broker.state.table_writer_task import TableWriter
from engine.broker.topics.topic_table import TOPICS_FILE
from engine.durable_file import read_durable
from engine.protocol.bodies.clients import MessageModel
from engine.store.index.key_search import KeySearch
from engine.store.reading.record_reads import Place
from engine.store.recovery.record_repair import LogRange

log = logging.getLogger(__name__)
_T = TypeVar("_T")


class DamageControl:
    def __init__(self, core: Core, writer: TableWriter, waits: BrokerWaits) -> None:
        store, role, threads = core.store, core.role, core.runtime.threads
        self._role = role
        self._store = store
        self._threads = threads
        self._consumers = core.clients.consumers
        self._directory = core.runtime.config_directory
        self.members: DamageMembers | None = None
        """The other members of the broker group, set by a broker that is in one."""
        self.records = DamagedRecords()
        self._redelivery = self._new_redelivery(core, writer)
        self.repairs = RepairTask(
            store.log,
            store.repairs,
            self.records,
            threads,
            fetch=self._fetch,
            save=writer.save,
            wake=waits.wake_soon,
            redeliver=self._redelivery.run,
            now_ms=now_ms,
        )
        look = self.repairs.look_soon
        self.exchange = SkipExchange(
            self.records, store.log, store.repairs, role, save=writer.save, look=look
        )
        self.reads = DamagedReads(store.repairs, self.records, self.repairs, role, now_ms=now_ms)
        self.deliveries = DamagedDeliveries(
            store.log, store.repairs, self.records, self.repairs, threads, saved=writer.saved, now_ms=now_ms
        )
        self.scrub = ScrubTask(
            store.log,
            store.queues,
            store.repairs,
            self.repairs,
            core.options.live,
            threads,
            loop_lag_ms=lambda: core.figures.lag.lag_ms,
            save=writer.save,
            now_ms=now_ms,
        )
        self._load()

    def _new_redelivery(self, core: Core, writer: TableWriter) -> Redelivery:
        live = core.options.live
        return Redelivery(
            core.store.log,
            core.store.queues,
            core.store.search,
            core.store.replica,
            self.records,
            core.tables.topics,
            core.tables.groups,
            self._read,
            self._search,
            core.figures.traffic,
            core.role,
            uses_retry_topic_v2=lambda: live.enable_retry_topic_v2,
            is_broadcasting=self._is_broadcasting,
            topics_saved=partial(writer.announced, TOPICS_FILE),
            report_skips=self._report_skips,
            save=writer.save,
            appended=core.log_events.appended,
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
            DAMAGE_FILE: StateFile(self._directory / DAMAGE_FILE, records.snapshot, encode_records),
            SCRUB_FILE: StateFile(self._directory / SCRUB_FILE, scrub.snapshot, bytes),
        }

    def replica_files(self) -> ReplicaFiles:
        return {DAMAGE_FILE: ReplicaFile(self.exchange.take, self.exchange.adopt)}

    def section(self) -> dict[str, object] | None:
        """For the collector's snapshot."""
        return self.records.section(self.exchange.skipped_count())

    def start(self) -> None:
        self.repairs.start()
        self.scrub.start()

    def settle(self) -> None:
        """The log is on disk: note which records were redelivered."""
        self._redelivery.note_kept()

    async def stop(self) -> None:
        await self.scrub.stop()
        await self.repairs.stop()

    async def _read(self, place: Place) -> bytes | None:
        return (await self._in_thread(self._store.log.plan_record_reads([place]).run))[0]

    async def _search(self, search: KeySearch) -> tuple[bytes, ...]:
        return (await self._in_thread(search.run)).records

    async def _in_thread(self, work: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def _fetch(self, place: LogRange) -> tuple[bytes, bool]:
        return (b"", True) if self.members is None else await self.members.fetch(place)

    async def _report_skips(self) -> None:
        rows = self.exchange.unreported() if self._role.is_master_alive else None
        if rows is not None and self.members is not None:
            await self.members.report_skips(rows)

    def _is_broadcasting(self, group: str) -> bool:
        online = self._consumers.group(group)
        return online is not None and online.message_model is MessageModel.BROADCASTING
