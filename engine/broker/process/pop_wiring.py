"""POP consumption put together: its tables, its tasks and its handlers. No logic of its own."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

from engine.broker.damage.damaged_reads import DamagedReads
from engine.broker.delivery.deliverer_io import Deliverer
from engine.broker.pop.admission import PopAdmission
from engine.broker.pop.checkpoints import Checkpoints
from engine.broker.pop.handlers import PopHandlers
from engine.broker.pop.handlers_acks import PopAckHandlers
from engine.broker.pop.handlers_peek import PopLookHandlers
from engine.broker.pop.last_step import LastStep
from engine.broker.pop.orders import ORDER_FILE
from engine.broker.pop.queue_reads import QueueReads
from engine.broker.pop.revive_log import ReviveLog
from engine.broker.pop.revive_task import Revival
from engine.broker.process.admin_wiring import RouteSource
from engine.broker.process.waits import BrokerWaits
from engine.broker.settings.options import BrokerOptions
from engine.broker.state.table_files import TOPICS_FILE, Done
from engine.broker.state.tables import Tables
from engine.broker.stats.traffic import Traffic
from engine.daemon.background_tasks import start_task, stop_tasks
from engine.protocol.names import revive_topic
from engine.store.message_store import MessageStore


class Pops:
    """`load` before anybody is served, then `start`; `stop` while the log can still be flushed."""

    def __init__(
        self,
        options: BrokerOptions,
        tables: Tables,
        store: MessageStore,
        deliverer: Deliverer,
        waits: BrokerWaits,
        traffic: Traffic,
        *,
        now_ms: Callable[[], int],
        appended: Callable[[], None],
        when_saved: Callable[[str, Done], None],
        when_announced: Callable[[str, Done], None],
    ) -> None:
        self._options = options
        self._tables = tables
        self._store = store
        self._waits = waits
        self._traffic = traffic
        self._now_ms = now_ms
        self._when_saved = when_saved
        self._when_announced = when_announced
        self.checkpoints = Checkpoints()
        topic, name = revive_topic(options.broker_cluster_name), options.broker_name
        self.log = ReviveLog(store, topic, name, self.checkpoints, tables.offsets, appended=appended)
        self._last_step = LastStep(store, topic, self.checkpoints, self.log, options.live)
        self.revival = Revival(
            store,
            tables.topics,
            tables.groups,
            self.checkpoints,
            self.log,
            deliverer,
            options.live,
            now_ms=now_ms,
            appended=appended,
            save=self._save,
            topics_saved=self._topics_announced,
        )
        self._saving: asyncio.Task[None] | None = None

    def load(self) -> None:
        self.log.load()
        self._last_step.finish(self._now_ms())

    def start(self) -> None:
        self.revival.start()
        self._saving = start_task(self._save_forever(), "save pop orders")

    async def stop(self) -> None:
        await stop_tasks(self._saving)
        await self.revival.stop()

    def settle(self) -> None:
        """The log is on disk: note how far the revive log is done with."""
        self.log.catch_up(self._now_ms())
        for _ in range(2):
            self.log.commit_offsets()

    async def _save_forever(self) -> None:
        while True:
            await asyncio.sleep(self._options.live.flush_consumer_offset_interval / 1000)
            if self._tables.orders.is_dirty:
                self._save(ORDER_FILE)

    def _save(self, file: str) -> None:
        self._when_saved(file, _ignore)

    async def _topics_announced(self) -> None:
        saved: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._when_announced(TOPICS_FILE, lambda error: saved.set_result(None))
        await saved

    def handlers(self, damaged: DamagedReads) -> list[RouteSource]:
        options, tables, store = self._options, self._tables, self._store
        name, live, now_ms = options.broker_name, options.live, self._now_ms
        holds, can_park, wake = self._waits.holds, self._waits.can_park, self._waits.wake_soon
        admission = PopAdmission(tables.topics, tables.groups, live, now_ms=now_ms, save=self._save)
        reads = QueueReads(store, tables.offsets, tables.orders)
        return [
            PopHandlers(
                name,
                admission,
                tables.topics,
                store,
                reads,
                tables.orders,
                self.log,
                holds,
                live,
                self._traffic,
                damaged,
                is_sync_flush=options.is_sync_flush,
                allows_sql=options.enable_property_filter,
                now_ms=now_ms,
                draw=random.randrange,
                can_park=can_park,
                wake=wake,
            ),
            PopAckHandlers(
                name,
                tables.topics,
                tables.offsets,
                store,
                tables.orders,
                self.log,
                live,
                self._traffic,
                is_sync_flush=options.is_sync_flush,
                now_ms=now_ms,
                wake=wake,
            ),
            PopLookHandlers(
                admission,
                tables.topics,
                store,
                reads,
                tables.orders,
                holds,
                live,
                now_ms=now_ms,
                draw=random.randrange,
                can_park=can_park,
            ),
        ]


def _ignore(error: OSError | None) -> None:
    """The failure is in the log, and the table stays to be saved."""
