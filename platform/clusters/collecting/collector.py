"""The process: takes leases, runs one collector per cluster, gives leases back when it ends.

Several may run (one per console, say): each cluster is collected by one of them, and by another one as soon
as the lease of the first is over.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import TypeVar

from django.conf import settings
from django.db import DatabaseError, connections
from redis.asyncio import Redis

from clusters.collecting.cluster_collector import ClusterCollector
from clusters.collecting.leases import RENEW_EVERY_S, release_leases, renew_leases, take_leases
from clusters.collecting.writing import LeaseLost
from console.garbage import set_aside_tables

log = logging.getLogger(__name__)
R = TypeVar("R")

_THREADS = 3
_LOOK_AT_ALL_EVERY = timedelta(days=1)


def holder_name() -> str:
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"


class Collector:
    def __init__(self, holder: str, clock: Callable[[], datetime]) -> None:
        self._holder = holder
        self._clock = clock
        self._executor = ThreadPoolExecutor(_THREADS, "collector")
        self._redis = Redis.from_url(settings.REDIS_URL, **settings.REDIS_LIMITS)
        self._running: dict[int, tuple[ClusterCollector, asyncio.Task[None]]] = {}
        self._looked_at_all = clock()

    async def run(self, stop: asyncio.Event) -> None:
        log.info("collector %s begins", self._holder)
        try:
            while not stop.is_set():
                try:
                    await self._look_after()
                except DatabaseError:
                    log.exception("leases could not be looked after")
                self._tidy()
                await _wait(stop, RENEW_EVERY_S)
        finally:
            await self._end()

    def _tidy(self) -> None:
        looks_at_all = self._clock() - self._looked_at_all >= _LOOK_AT_ALL_EVERY
        if looks_at_all:
            self._looked_at_all = self._clock()
        set_aside_tables(looks_at_all=looks_at_all)

    async def _look_after(self) -> None:
        held = {cluster_id: one.fence for cluster_id, (one, _) in self._running.items()}
        kept = await self._in_thread(renew_leases, held, self._clock())
        for cluster_id, (_, task) in list(self._running.items()):
            if cluster_id not in kept or task.done():
                await self._stop_one(cluster_id)
        taken = await self._in_thread(take_leases, self._holder, self._clock())
        for cluster_id, fence in taken.items():
            await self._stop_one(cluster_id)
            one = ClusterCollector(cluster_id, fence, self._redis, self._executor, self._clock)
            self._running[cluster_id] = (one, asyncio.ensure_future(one.run()))

    async def _stop_one(self, cluster_id: int) -> None:
        running = self._running.pop(cluster_id, None)
        if running is not None:
            running[1].cancel()
            [outcome] = await asyncio.gather(running[1], return_exceptions=True)
            if isinstance(outcome, Exception):
                log.error("collecting cluster %s failed", cluster_id, exc_info=outcome)

    async def _end(self) -> None:
        """In order: nobody collects, the last points are stored, leases are free for others at once."""
        held = {cluster_id: one.fence for cluster_id, (one, _) in self._running.items()}
        collectors = [one for one, _ in self._running.values()]
        for cluster_id in list(self._running):
            await self._stop_one(cluster_id)
        for one in collectors:
            try:
                await self._in_thread(one.store_rest)
            except (LeaseLost, DatabaseError) as error:
                log.warning("the last points were not stored: %r", error)
        await self._in_thread(release_leases, held, self._clock())
        await self._redis.aclose()
        for _ in range(_THREADS):
            self._executor.submit(connections.close_all)
        self._executor.shutdown(wait=True)

    async def _in_thread(self, function: Callable[..., R], *arguments: object) -> R:
        return await asyncio.get_running_loop().run_in_executor(self._executor, function, *arguments)


async def _wait(stop: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await stop.wait()
    except TimeoutError:
        pass
