"""Asking all brokers of a cluster at once, each at its own pace, under one deadline per round.

Every broker has at most one question under way. A round waits for those that answered the last time, until
its deadline; whoever is late keeps its question and is heard in the round in which its answer comes. So one
broker that hangs costs the others nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Collection
from datetime import datetime

from clusters.collecting.answers import Answer
from clusters.gateway.addressing import ClusterAddress
from clusters.gateway.apache_sampling import ApacheMemory, sample_apache_broker
from clusters.gateway.connections import open_admin
from clusters.gateway.sampling import Sample, broker_members, sample_broker
from engine.errors import EngineError

log = logging.getLogger(__name__)

LATE_S = 5.0
"""A broker that says nothing for this long has not answered."""


class Asking:
    def __init__(
        self, address: ClusterAddress, registered: dict[str, tuple[str, int]], clock: Callable[[], datetime]
    ) -> None:
        """`registered`: names and numbers of brokers that the database knows by itself."""
        self.address = address
        self._clock = clock
        self._admin = open_admin(address)
        self._since: dict[str, str | None] = {}
        self._apache: dict[str, ApacheMemory] = {}
        self._registered = registered
        self._members = registered
        self._under_way: dict[str, asyncio.Task[Answer]] = {}
        self._late: set[str] = set()
        self.error = ""
        """Why the name servers could not be asked."""

    async def start(self) -> None:
        await self._admin.start()

    async def close(self) -> None:
        for task in self._under_way.values():
            task.cancel()
        await asyncio.gather(*self._under_way.values(), return_exceptions=True)
        await self._admin.close()

    def targets(self) -> set[str]:
        """Registered brokers; those that only a name server names are never dialled."""
        return set(self.address.brokers)

    def start_anew(self) -> None:
        """The next answers are full ones: what was made of the last ones was not kept."""
        self._since.clear()

    async def refresh_members(self, deadline_s: float) -> None:
        try:
            async with asyncio.timeout(deadline_s):
                self._members = await broker_members(self._admin) | self._registered
            self.error = ""
        except TimeoutError:
            self.error = "no name server answered in time"
        except EngineError as error:
            self.error = error.text

    async def round(self, deadline_s: float, watched: Collection[str], *, is_full: bool) -> list[Answer]:
        """`is_full`: Apache's brokers too, which are asked seldom."""
        for broker in self.targets() - self._under_way.keys():
            if is_full or broker not in self._apache:
                question = self._ask(broker, watched, is_full)
                self._under_way[broker] = asyncio.ensure_future(question)
        prompt = [task for broker, task in self._under_way.items() if broker not in self._late]
        with contextlib.suppress(ValueError):
            await asyncio.wait(prompt, timeout=deadline_s)
        return self._collect()

    def _collect(self) -> list[Answer]:
        answers = []
        for broker, task in list(self._under_way.items()):
            if task.done():
                del self._under_way[broker]
                answers.append(task.result())
                if not answers[-1].error:
                    self._late.discard(broker)
            else:
                self._late.add(broker)
        return answers

    async def _ask(self, broker: str, watched: Collection[str], is_full: bool) -> Answer:
        name, member = self._members.get(broker, ("", None))
        try:
            async with asyncio.timeout(LATE_S):
                sample = await self._sample(broker, name, member or 0, watched, is_full)
        except TimeoutError:
            self._late.add(broker)
            return self._failed(broker, f"no answer within {LATE_S:g} s", name, member)
        except EngineError as error:
            return self._failed(broker, error.text or type(error).__name__, name, member)
        self._since[broker] = sample.since
        return Answer(
            broker,
            self._clock(),
            is_full=sample.is_full,
            sections=sample.sections,
            version=sample.version,
            broker_name=name,
            member=member,
        )

    def _failed(self, broker: str, error: str, name: str, member: int | None) -> Answer:
        return Answer(broker, self._clock(), error=error, broker_name=name, member=member)

    async def _sample(
        self, broker: str, name: str, member: int, watched: Collection[str], is_full: bool
    ) -> Sample:
        memory = self._apache.get(broker)
        if memory is None:
            since = self._since.get(broker)
            sample = await sample_broker(self._admin, broker, since, with_producers=is_full)
            if sample is not None:
                return sample
            memory = self._apache[broker] = ApacheMemory()
        now_ms = int(self._clock().timestamp() * 1000)
        cluster = self.address.broker_cluster_name
        return await sample_apache_broker(self._admin, cluster, name, member, broker, memory, watched, now_ms)
