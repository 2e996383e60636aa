"""What only a master does by itself: deliver later, bring back, ask about transactions. No logic of its own.

`load` reads from the log where all of it stands, before anybody is served; `start` lets it run; `stop` ends
it while the log can still be flushed, and `settle` notes how far it came once the log is on disk. All of it
may happen again and again: a slave that becomes master loads anew. Loop thread only.
"""

from __future__ import annotations

import asyncio

from engine.broker.delivery.deferred_task import WaitingMessages
from engine.broker.delivery.delay_levels import DELAY_OFFSETS_FILE
from engine.broker.delivery.deliverer_io import Deliverer
from engine.broker.process.damage_wiring import DamageControl
from engine.broker.process.duty_parts import DutyParts
from engine.broker.process.pop_wiring import Pops
from engine.broker.transactions.check_task import TransactionChecks
from engine.broker.transactions.transaction_log_io import TransactionLog
from engine.broker.transactions.transaction_table import TransactionTable


class Duties:
    def __init__(self, loop: asyncio.AbstractEventLoop, parts: DutyParts, damage: DamageControl) -> None:
        self._parts = parts
        self._damage = damage
        self._is_running = False
        self._is_unsettled = False
        tables, store, now_ms, appended = parts.tables, parts.store, parts.now_ms, parts.appended
        self._deliverer = deliverer = Deliverer(
            store, parts.traffic, parts.threads, parts.booted_ms, appended=appended, damaged=damage.deliveries
        )
        self.waiting = WaitingMessages(
            store,
            parts.options,
            tables.delays,
            tables.timer_counts,
            deliverer,
            parts.threads,
            now_ms=now_ms,
            save_delays=lambda: self._save(DELAY_OFFSETS_FILE),
        )
        self.pops = Pops(
            parts.options,
            tables,
            store,
            deliverer,
            parts.waits,
            parts.traffic,
            now_ms=now_ms,
            appended=appended,
            when_saved=parts.when_saved,
            when_announced=parts.when_announced,
        )
        self.transactions = TransactionLog(
            loop, store, TransactionTable(), tables.offsets, now_ms=now_ms, appended=appended
        )
        self.transaction_checks = TransactionChecks(
            store,
            self.transactions,
            parts.producers,
            tables.topics,
            parts.options.live,
            parts.disk,
            now_ms=now_ms,
            appended=appended,
            announce=self._announce,
            repair=damage.repairs.wait,
        )

    def _save(self, file: str) -> None:
        self._parts.when_saved(file, _ignore)

    def _announce(self, file: str) -> None:
        self._parts.when_announced(file, _ignore)

    def load(self) -> None:
        self._deliverer.begin(self._parts.now_ms())
        self.transactions.load()
        self.pops.load()

    def start(self) -> None:
        self._is_running = self._is_unsettled = True
        self.waiting.start()
        self.pops.start()
        self.transaction_checks.start()
        self._damage.repairs.redeliver_soon()

    async def stop(self) -> None:
        if not self._is_running:
            return
        self._is_running = False
        await self.waiting.stop()
        await self.pops.stop()
        await self.transaction_checks.stop()

    async def settle(self) -> None:
        """All that was done is on disk by now: note it."""
        if not self._is_unsettled:
            return
        self._is_unsettled = False
        await self.waiting.settle()
        self._damage.settle()
        self.transactions.commit_offsets()
        self.pops.settle()

    async def drop(self) -> None:
        """Another is master: end everything and note nothing, for it was perhaps taken back."""
        if self._is_unsettled:
            await self.stop()
            self._is_unsettled = False
            self.waiting.start_over(self._parts.now_ms())

    def close(self) -> None:
        self.waiting.close()


def _ignore(error: OSError | None) -> None:
    """The failure is in the log already."""
