"""Decides when the log is synced; the sync itself runs in a thread.

SYNC_FLUSH is group commit: all waiting sends share the next sync; while one runs, later appends gather for
the next. ASYNC_FLUSH begins a sync every flushIntervalCommitLog, however long the last one took: a power
cut takes at most the messages of that interval and of one sync (a trickle of fewer than
flushCommitLogLeastPages waits for flushCommitLogThoroughInterval, as in RocketMQ). Queues, index and
checkpoint follow the log.
A failed sync fences the store for good (`finish_flush`), and all waiting sends are answered "not known".
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Executor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol

from engine.broker.settings.options import LiveOptions
from engine.broker.storage.log_events import LogEvents
from engine.daemon.running import start_task, stop_tasks
from engine.store.flushing.flush import StoreFlush
from engine.store.log.message_log import MessageLog

log = logging.getLogger(__name__)


class _Plan(Protocol):
    def run(self) -> None: ...


@dataclass(eq=False, repr=False)
class Flusher:
    loop: asyncio.AbstractEventLoop
    log: MessageLog
    flush: StoreFlush
    live: LiveOptions
    threads: Executor
    events: LogEvents
    is_sync: bool
    commit_interval_ms: int | None
    now_ms: Callable[[], int]
    _wanted: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _log_turn: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    _queue_turn: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    _tasks: list[asyncio.Task[None]] = field(default_factory=list, init=False)

    def start(self) -> None:
        self._tasks = [
            start_task(self._flush_log_forever(), "flush the log"),
            start_task(self._flush_queues_forever(), "flush the queues"),
        ]
        if self.commit_interval_ms is not None:
            commits = self._commit_forever(self.commit_interval_ms)
            self._tasks.append(start_task(commits, "commit the transient pool"))

    async def stop(self) -> None:
        """Wait for a running sync, so that its outcome is known."""
        async with self._log_turn, self._queue_turn:
            await stop_tasks(*self._tasks)

    @asynccontextmanager
    async def pause(self) -> AsyncIterator[None]:
        """No sync runs inside this context."""
        async with self._log_turn, self._queue_turn:
            yield

    def want(self) -> None:
        self._wanted.set()

    async def _flush_log_forever(self) -> None:
        begun = self.loop.time()
        while True:
            if self.is_sync:
                await self._wanted.wait()
                self._wanted.clear()
            else:
                due = begun + self.live.flush_interval_commit_log / 1000
                await asyncio.sleep(max(0.0, due - self.loop.time()))
            begun = self.loop.time()
            await self.flush_log(force=self.is_sync)

    async def flush_log(self, *, force: bool) -> None:
        async with self._log_turn:
            plan = self.flush.plan_log(self.now_ms(), force=force)
            if plan is None:
                return
            error = await self._run(plan)
            self.flush.finish(plan, error)
        self._report(error)
        if error is None:
            self.events.flushed(self.log.flushed_offset)

    async def bring_to_disk(self) -> bool:
        """Whether everything that was appended before this call is on disk now."""
        end = self.log.max_offset
        if self.log.flushed_offset < end:
            self.flush.commit_transient()
            await self.flush_log(force=True)
        return self.log.flushed_offset >= end

    async def _flush_queues_forever(self) -> None:
        while True:
            await asyncio.sleep(self.live.flush_interval_consume_queue / 1000)
            await self.flush_queues()

    async def flush_queues(self) -> None:
        async with self._queue_turn:
            plan = self.flush.plan_queues()
            if plan is None:
                return
            error = await self._run(plan)
            self.flush.finish(plan, error)
        self._report(error)

    async def _commit_forever(self, interval_ms: int) -> None:
        """With the transient pool: bytes that lie in memory alone reach their file, and may be read then."""
        while True:
            await asyncio.sleep(interval_ms / 1000)
            self.flush.commit_transient()
            self.events.flushed(self.log.flushed_offset)

    async def _run(self, plan: _Plan) -> OSError | None:
        try:
            await self.loop.run_in_executor(self.threads, plan.run)
        except OSError as error:
            return error
        return None

    def _report(self, error: OSError | None) -> None:
        if error is not None:
            log.error("a sync of the store failed: %s", error)
        if self.log.is_fenced:
            log.critical("the store is fenced: nothing is acknowledged until the broker is restarted")
            self.events.fenced()
