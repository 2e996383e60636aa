"""Puts together what deals with damaged records: list, repair, scrub, reads. No logic of its own."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol, TypeVar

import orjson

from engine.broker.clients.consumer_table import ConsumerTable
from engine.broker.damage.damaged_deliveries_io import DamagedDeliveries
from engine.broker.damage.damaged_reads import DamagedReads
from engine.broker.damage.damaged_records import DAMAGE_FILE, DamagedRecords, encode_records
from engine.broker.damage.redelivery_task import Redelivery
from engine.broker.damage.repair_task import RepairTask
from engine.broker.damage.scrub_task import SCRUB_FILE, ScrubTask
from engine.broker.damage.skip_exchange import SkipExchange
from engine.broker.failover.role import Role
from engine.broker.process.duty_parts import DutyParts
from engine.broker.replication.replica_files import ReplicaFile, ReplicaFiles
from engine.broker.state.state_file_io import StateFile
from engine.broker.state.table_files import TOPICS_FILE
from engine.durable_file import read_durable
from engine.net.connection import Connection
from engine.net.flow import LoopLag
from engine.protocol.bodies.clients import MessageModel
from engine.store.index.key_search import KeySearch
from engine.store.reading.record_reads import Place
from engine.store.recovery.record_repair import LogRange

log = logging.getLogger(__name__)
_T = TypeVar("_T")


class Members(Protocol):
    """The others of the broker group."""

    async def fetch(self, place: LogRange) -> tuple[bytes, bool]: ...

    async def tell_skips(self, rows: bytes) -> None: ...


class NoMembers:
    """Of a broker without a group."""

    async def fetch(self, place: LogRange) -> tuple[bytes, bool]:
        return b"", True

    async def tell_skips(self, rows: bytes) -> None:
        """There is nobody."""


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
        self.members: Members = NoMembers()
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
        self.exchange = SkipExchange(self.records, store, role, save=save, look=self.repairs.look_soon)
        self.reads = DamagedReads(store, self.records, self.repairs, role, now_ms=now_ms)
        self.deliveries = DamagedDeliveries(
            store, self.records, self.repairs, parts.threads, saved=self._saved, now_ms=now_ms
        )
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
            self._search,
            parts.traffic,
            self._role,
            uses_retry_topic_v2=lambda: live.enable_retry_topic_v2,
            is_broadcasting=self._is_broadcasting,
            topics_saved=self._topics_announced,
            tell_master=self._tell_master,
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

    def replica_files(self) -> ReplicaFiles:
        return {DAMAGE_FILE: ReplicaFile(self.exchange.take, self.exchange.adopt)}

    def section(self) -> dict[str, object] | None:
        """For the collector's snapshot."""
        return self.records.section(self.exchange.skipped_count())

    def start(self) -> None:
        self.repairs.start()
        self.scrub.start()

    def settle(self) -> None:
        """The log is on disk: what was redelivered is noted."""
        self._redelivery.note_kept()

    async def stop(self) -> None:
        await self.scrub.stop()
        await self.repairs.stop()

    async def _read(self, place: Place) -> bytes | None:
        return (await self._in_thread(self._parts.store.plan_record_reads([place]).run))[0]

    async def _search(self, search: KeySearch) -> tuple[bytes, ...]:
        return (await self._in_thread(search.run)).records

    async def _in_thread(self, work: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._parts.threads, work)

    async def _fetch(self, place: LogRange) -> tuple[bytes, bool]:
        return await self.members.fetch(place)

    async def _tell_master(self) -> None:
        rows = self.exchange.untold() if self._role.is_master_alive else None
        if rows is not None:
            await self.members.tell_skips(rows)

    def _save(self, file: str) -> None:
        self._parts.when_saved(file, _ignore)

    def _is_broadcasting(self, group: str) -> bool:
        online = self._consumers.group(group)
        return online is not None and online.message_model is MessageModel.BROADCASTING

    async def _topics_announced(self) -> None:
        announced: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._parts.when_announced(
            TOPICS_FILE, lambda error: None if announced.done() else announced.set_result(None)
        )
        await announced

    def _saved(self, file: str) -> Awaitable[OSError | None]:
        saved: asyncio.Future[OSError | None] = asyncio.get_running_loop().create_future()
        self._parts.when_saved(file, lambda error: None if saved.done() else saved.set_result(error))
        return saved


def _kept(snapshot: object) -> None:
    """Nothing waits for this file."""


def _nothing() -> None:
    """The table itself is the truth; the next change writes it again."""


def _ignore(error: OSError | None) -> None:
    """The failure is in the log already."""
