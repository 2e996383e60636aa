"""Everything that delivers messages later, put together: delay levels and timers. No logic of its own.

Stopping has an order: first nothing is delivered any more, then (once the log is on disk) what was delivered
is noted.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Executor

from engine.broker.delivery.delay_levels import DelayOffsets
from engine.broker.delivery.delay_task import DelayDelivery
from engine.broker.delivery.deliverer_io import Deliverer
from engine.broker.delivery.timed_messages import TimerCounts
from engine.broker.delivery.timer_task import TIMER_KEYS, TimerDelivery, TimerRules
from engine.broker.settings.options import BrokerOptions
from engine.protocol.names import TIMER_TOPIC
from engine.store.message_store import MessageStore
from engine.store.timers.timer_store import TimerStore
from engine.store.timers.timer_wheel import PRECISION_MS

log = logging.getLogger(__name__)


class WaitingMessages:
    def __init__(
        self,
        store: MessageStore,
        options: BrokerOptions,
        delays: DelayOffsets,
        counts: TimerCounts,
        deliverer: Deliverer,
        threads: Executor,
        *,
        now_ms: Callable[[], int],
        save_delays: Callable[[], None],
    ) -> None:
        self._store = store
        self.delays = DelayDelivery(
            store,
            delays,
            store.options.delay_level_ms,
            deliverer,
            flush_interval_s=options.flush_delay_offset_interval / 1000,
            now_ms=now_ms,
            save=save_delays,
        )
        self.timer_store = TimerStore(store.options.root, options.mapped_file_size_timer_log)
        self.timer_store.open(now_ms(), was_closed=store.was_closed)
        rules = TimerRules(options.timer_roll_window_slot * PRECISION_MS)
        self.timers = TimerDelivery(store, self.timer_store, deliverer, counts, threads, rules, now_ms=now_ms)
        self._has_timers = options.timer_wheel_enable

    def start(self) -> None:
        self.delays.start()
        if self._has_timers:
            self.timers.start()

    async def stop(self) -> None:
        await self.delays.stop()
        await self.timers.stop()

    def start_over(self, now_ms: int) -> None:
        """The log is another master's from now on."""
        self.delays.start_over()
        self.timer_store.start_over(now_ms)

    def log_was_cut(self, now_ms: int) -> None:
        """What is on the wheel of what was cut must go: its places in the log are others' now."""
        if self.timer_store.queue_offset > self._store.max_offset(TIMER_TOPIC, 0):
            self.start_over(now_ms)

    async def settle(self) -> None:
        """All that was delivered is on disk by now: note it."""
        self.delays.settle()
        try:
            # An older state may still be waiting for its turn; the newest comes behind it.
            await self.timers.sync()
            await self.timers.sync()
        except OSError as error:
            log.error("timers could not be synced: %s", error)

    def close(self) -> None:
        self.timer_store.close()

    def progress(self) -> dict[str, str]:
        timers = self.timers.progress() if self._has_timers else dict.fromkeys(TIMER_KEYS, "0")
        return {**self.delays.progress(), **timers}
