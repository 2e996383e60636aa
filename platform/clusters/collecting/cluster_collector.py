"""Collecting one cluster, for as long as the lease is held.

    every second   what somebody watches: brokers are asked, watched rows are written and told
    every ten      everything: all that changed is written, points go into the history

Asking is on the loop; working out and writing are in a thread, one round after the other. If a write fails,
the state in memory is thrown away and read again: rows are the truth.
"""

from __future__ import annotations

import asyncio
import logging
import random
import threading
from collections.abc import Callable
from concurrent.futures import Executor
from datetime import datetime
from typing import TypeVar

from django.db import DatabaseError, close_old_connections
from redis.asyncio import Redis
from redis.exceptions import RedisError

from clusters.collecting.answers import Answer, Watched
from clusters.collecting.asking import Asking
from clusters.collecting.cluster_state import ClusterState
from clusters.collecting.findings import Findings
from clusters.collecting.restoring import restore_book, restore_state
from clusters.collecting.series_book import SeriesBook
from clusters.collecting.telling import Telling
from clusters.collecting.totals import whole_points
from clusters.collecting.writing import LeaseLost, expire, finish_round, store
from clusters.gateway.addressing import ClusterAddress, address_of
from clusters.models import Broker, Cluster
from console.core import watching
from console.core.problems import Problem

log = logging.getLogger(__name__)
R = TypeVar("R")

QUICK_S = 1.0
FULL_S = 10.0
_PHASES_S = (1.0, 7.0)
"""Where in the ten seconds a cluster has its turn: not all at once, and one in every slot of the history."""
QUICK_DEADLINE_S = 0.8
FULL_DEADLINE_S = 3.0
_EXPIRE_EVERY_S = 600.0


class ClusterCollector:
    def __init__(
        self,
        cluster_id: int,
        fence: int,
        redis: Redis,
        executor: Executor,
        clock: Callable[[], datetime],
    ) -> None:
        self.cluster_id = cluster_id
        self.fence = fence
        self._redis = redis
        self._executor = executor
        self._clock = clock
        self._asking: Asking | None = None
        self._state: ClusterState | None = None
        self._book = SeriesBook()
        self._telling = Telling("", f"{cluster_id}.{fence}")
        self._expired_s = 0.0
        self._working = threading.Lock()
        """A cancelled round may still be at work in its thread when the last points are stored."""

    async def run(self) -> None:
        """Until cancelled, or until the lease went to somebody else."""
        loop = asyncio.get_running_loop()
        phase_s = random.uniform(*_PHASES_S)
        next_full_s = 0.0
        try:
            while True:
                began, now_s = loop.time(), self._clock().timestamp()
                is_full = now_s >= next_full_s
                if is_full:
                    next_full_s = now_s - now_s % FULL_S + FULL_S + phase_s
                try:
                    await self._round(is_full)
                except DatabaseError:
                    log.exception("a round of cluster %s was not written", self.cluster_id)
                    self._state = None
                    if self._asking is not None:
                        self._asking.start_anew()
                await asyncio.sleep(max(0.05, began + QUICK_S - loop.time()))
        except LeaseLost:
            log.warning("another collector took over cluster %s", self.cluster_id)
        finally:
            await self._end()

    async def _round(self, is_full: bool) -> None:
        if is_full or self._asking is None:
            await self._prepare()
        if self._asking is None or self._state is None:
            return
        watched = await self._watched()
        if not is_full and not watched:
            return
        if not is_full and watched.is_cluster:
            # Somebody looks at its brokers: one that was removed must not be told of again.
            await self._prepare()
            if self._asking is None or self._state is None:
                return
        if is_full:
            await self._asking.refresh_members(FULL_DEADLINE_S)
        deadline_s = FULL_DEADLINE_S if is_full else QUICK_DEADLINE_S
        answers = await self._asking.round(deadline_s, watched.groups, is_full=is_full)
        found = await self._in_thread(self._work, answers, None if is_full else watched)
        await self._telling.tell(self._state, found, watched, self._clock(), is_full=is_full)

    async def _prepare(self) -> None:
        address, registered = await self._in_thread(self._read_address)
        if self._asking is not None and (address is None or address != self._asking.address):
            await self._asking.close()
            self._asking = None
        if address is not None and self._asking is None:
            self._asking = Asking(address, registered, self._clock)
            self._telling.cluster = address.name
            await self._asking.start()
        if address is not None and self._state is None:
            await self._in_thread(self._restore, address.broker_cluster_name)

    async def _watched(self) -> Watched:
        now_s = self._clock().timestamp()
        try:
            objects = await watching.read(self._redis, self._telling.cluster, now_s)
        except (RedisError, OSError) as error:
            log.warning("Redis does not say what is watched: %s", error)
            return Watched()
        return Watched(
            topics=frozenset(name for kind, name in objects if kind == watching.TOPIC),
            groups=frozenset(name for kind, name in objects if kind == watching.GROUP)
            | self._telling.top_names(objects),
            is_cluster=any(kind == watching.CLUSTER for kind, _ in objects),
        )

    async def _end(self) -> None:
        if self._asking is not None:
            await self._asking.close()

    # -- in a thread ----------------------------------------------------------------------------------------

    async def _in_thread(self, function: Callable[..., R], *arguments: object) -> R:
        return await asyncio.get_running_loop().run_in_executor(self._executor, _closing, function, arguments)

    def _read_address(self) -> tuple[ClusterAddress | None, dict[str, tuple[str, int]]]:
        """And which broker is where, of a managed cluster: one that never answered has a name, too."""
        cluster = Cluster.objects.filter(pk=self.cluster_id, deleted_at=None).first()
        if cluster is None:
            return None, {}
        rows = Broker.objects.filter(group__cluster=cluster).select_related("group", "host")
        registered = {row.address: (row.group.name, row.member) for row in rows}
        try:
            return address_of(cluster), registered
        except Problem as problem:
            finish_round(self.cluster_id, self.fence, self._clock(), problem.detail)
            return None, registered

    def _restore(self, broker_cluster_name: str) -> None:
        self._state = restore_state(self.cluster_id, broker_cluster_name)
        self._book = restore_book(self.cluster_id, self._clock())

    def _work(self, answers: list[Answer], only: Watched | None) -> Findings:
        with self._working:
            return self._work_alone(answers, only)

    def _work_alone(self, answers: list[Answer], only: Watched | None) -> Findings:
        assert self._state is not None and self._asking is not None
        now = self._clock()
        self._state.keep_brokers(self._asking.targets())
        for answer in answers:
            self._state.take(answer)
        found = self._state.work_out(now, only)
        if only is None:
            self._note(found, now)
        chunks = self._book.take_due(int(now.timestamp())) if only is None else []
        store(self.cluster_id, self.fence, found, chunks)
        if only is None:
            finish_round(self.cluster_id, self.fence, now, self._asking.error)
            self._expire(now)
        return found

    def _note(self, found: Findings, now: datetime) -> None:
        assert self._state is not None
        now_s = int(now.timestamp())
        self._book.advance(now_s)
        self._book.note(now_s, found.points)
        self._book.note(now_s, whole_points(self._state, now))

    def _expire(self, now: datetime) -> None:
        if now.timestamp() - self._expired_s >= _EXPIRE_EVERY_S and expire(self.cluster_id, now):
            self._expired_s = now.timestamp()

    def store_rest(self) -> None:
        """Before a planned end: points that were to be stored later."""
        with self._working:
            chunks = self._book.take_due(int(self._clock().timestamp()), is_last=True)
            store(self.cluster_id, self.fence, Findings(), chunks)


def _closing(function: Callable[..., R], arguments: tuple[object, ...]) -> R:
    close_old_connections()
    return function(*arguments)
