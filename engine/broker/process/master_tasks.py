"""What only a master runs: delayed delivery, revival of pops, checks of transactions.

`load` reads the open work from the log, before any request is served; `start` runs it; `stop` ends it while
the log can still be flushed, and `settle` saves its progress once the log is on disk. A broker may go through
this many times: a slave that becomes master loads again. Loop thread only.
"""

from __future__ import annotations

from functools import partial

from engine.broker.delivery.delay_levels import DELAY_OFFSETS_FILE
from engine.broker.delivery.delay_task import WaitingMessages
from engine.broker.delivery.deliverer_io import Deliverer
from engine.broker.groups.group_table import GroupAdmission
from engine.broker.pop.checkpoints import Checkpoints
from engine.broker.pop.revive_log import ReviveLog, UnfinishedPop
from engine.broker.pop.revive_task import Revival
from engine.broker.process.core import Core, now_ms
from engine.broker.process.damage_wiring import DamageControl
from engine.broker.state.table_writer_task import TableWriter
from engine.broker.topics.topic_table import TOPICS_FILE
from engine.broker.transactions.check_task import TransactionChecks
from engine.broker.transactions.half_messages import TransactionTable
from engine.broker.transactions.transaction_log_io import TransactionLog
from engine.protocol.names import revive_topic


class PopTasks:
    """The revive log and what brings popped messages back."""

    def __init__(self, core: Core, writer: TableWriter, deliverer: Deliverer) -> None:
        options, tables, store = core.options, core.tables, core.store
        self.checkpoints = Checkpoints()
        topic, name = revive_topic(options.broker_cluster_name), options.broker_name
        appended = core.log_events.appended
        self.log = ReviveLog(
            store.log,
            store.queues,
            store.replica,
            topic,
            name,
            self.checkpoints,
            tables.offsets,
            appended=appended,
        )
        self._unfinished = UnfinishedPop(
            store.log, store.queues, topic, self.checkpoints, self.log, options.live
        )
        self.revival = Revival(
            store.log,
            store.queues,
            store.repairs,
            tables.topics,
            GroupAdmission(tables.groups, options.live, writer.save),
            self.checkpoints,
            self.log,
            deliverer,
            options.live,
            now_ms=now_ms,
            appended=appended,
            topics_saved=partial(writer.announced, TOPICS_FILE),
        )

    def load(self) -> None:
        self.log.load()
        self._unfinished.finish(now_ms())

    def settle(self) -> None:
        """The log is on disk: note how far the revive log is done with."""
        self.log.catch_up(now_ms())
        for _ in range(2):
            self.log.commit_offsets()


class MasterTasks:
    def __init__(self, core: Core, writer: TableWriter, damage: DamageControl) -> None:
        runtime, tables, store = core.runtime, core.tables, core.store
        appended = core.log_events.appended
        self._damage = damage
        self._is_running = False
        self._is_unsettled = False
        self._deliverer = Deliverer(
            store.log,
            store.search,
            core.figures.traffic,
            runtime.threads,
            runtime.booted_ms,
            appended=appended,
            damaged=damage.deliveries,
        )
        self.waiting = WaitingMessages(
            store,
            core.options,
            tables.delays,
            tables.timer_counts,
            self._deliverer,
            runtime.threads,
            now_ms=now_ms,
            save_delays=partial(writer.save, DELAY_OFFSETS_FILE),
        )
        self.pops = PopTasks(core, writer, self._deliverer)
        self.transactions = TransactionLog(
            runtime.loop,
            store.log,
            store.queues,
            store.replica,
            TransactionTable(),
            tables.offsets,
            now_ms=now_ms,
            appended=appended,
        )
        self.transaction_checks = TransactionChecks(
            store.log,
            store.queues,
            self.transactions,
            core.clients.producers,
            tables.topics,
            core.options.live,
            core.figures.disk,
            now_ms=now_ms,
            appended=appended,
            announce=writer.announce,
            repair=damage.repairs.wait,
        )

    def load(self) -> None:
        self._deliverer.begin(now_ms())
        self.transactions.load()
        self.pops.load()

    def start(self) -> None:
        self._is_running = self._is_unsettled = True
        self.waiting.start()
        self.pops.revival.start()
        self.transaction_checks.start()
        self._damage.repairs.redeliver_soon()

    async def stop(self) -> None:
        if not self._is_running:
            return
        self._is_running = False
        await self.waiting.stop()
        await self.pops.revival.stop()
        await self.transaction_checks.stop()

    async def settle(self) -> None:
        """Everything that was done is on disk by now: note it."""
        if not self._is_unsettled:
            return
        self._is_unsettled = False
        await self.waiting.settle()
        self._damage.settle()
        self.transactions.commit_offsets()
        self.pops.settle()

    async def drop(self) -> None:
        """Another broker is master: end everything and note nothing, because it may have been taken back."""
        if self._is_unsettled:
            await self.stop()
            self._is_unsettled = False
            self.waiting.start_over(now_ms())

    def close(self) -> None:
        self.waiting.close()
