"""Kept connections to clusters, on one event loop in a thread of its own, for code that has none.

    stats = ask(address_of(cluster), lambda admin: admin.topics.stats("orders"), deadline_s=3)

One absolute deadline for everything that is asked at once. Errors of the engine become problems here: this is
the border. Safe from any thread; never inside a database transaction.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import threading
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar, cast

from django.db import connection

from clusters.gateway.addressing import ClusterAddress
from clusters.gateway.dialing import resolver
from console.core.problems import Problem
from engine.client.admin import Admin
from engine.client.blocking import LoopThread
from engine.client.instance.instance import ClientInstance
from engine.client.options import ClientOptions
from engine.errors import EngineError, NotFound, NotPermitted, PeerError, PeerTimeout, PeerUnreachable
from engine.protocol.codes import ResponseCode

R = TypeVar("R")
K = TypeVar("K")

DEADLINE_S = 5.0
IDLE_S = 600.0
"""Longer than anything that is asked takes."""
_MOST_KEPT = 64
_CLOSE_S = 2.0


class _Kept:
    """The loop and an admin per cluster address. One that nobody has used for a while is closed, and the
    oldest when there are too many: a client keeps looking for its name servers, those of deleted clusters,
    too."""

    def __init__(self, idle_s: float = IDLE_S) -> None:
        self._lock = threading.Lock()
        self._loop: LoopThread | None = None
        self._admins: dict[ClusterAddress, Admin] = {}
        self._timers: dict[ClusterAddress, asyncio.TimerHandle] = {}
        self._idle_s = idle_s

    def loop(self) -> LoopThread:
        with self._lock:
            if self._loop is None:
                self._loop = LoopThread()
            return self._loop

    async def admin(self, address: ClusterAddress) -> Admin:
        """On the loop only."""
        admin = self._admins.pop(address, None)
        if admin is None:
            admin = open_admin(address)
            await admin.start()
        self._admins[address] = admin
        self._wait_for_use(address)
        while len(self._admins) > _MOST_KEPT:
            await self._let_go(next(iter(self._admins)))
        return admin

    def _wait_for_use(self, address: ClusterAddress) -> None:
        if timer := self._timers.pop(address, None):
            timer.cancel()
        loop = asyncio.get_running_loop()
        self._timers[address] = loop.call_later(
            self._idle_s, lambda: asyncio.ensure_future(self._let_go(address))
        )

    async def _let_go(self, address: ClusterAddress) -> None:
        if timer := self._timers.pop(address, None):
            timer.cancel()
        if (admin := self._admins.pop(address, None)) is not None:
            await admin.close()

    async def _let_all_go(self) -> None:
        await asyncio.gather(*map(self._let_go, list(self._admins)), return_exceptions=True)

    def close(self) -> None:
        """For a process that ends: its client must not speak when nobody takes its log lines any more."""
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is not None:
            with contextlib.suppress(TimeoutError):
                loop.submit(self._let_all_go()).result(_CLOSE_S)
            loop.close()


_kept = _Kept()
atexit.register(_kept.close)


def open_admin(address: ClusterAddress) -> Admin:
    """One of its own, for whoever has a loop (the collector). It may dial this cluster and nothing else."""
    options = ClientOptions(
        request_timeout_ms=int(DEADLINE_S * 1000),
        tls=address.uses_tls or None,
        credentials=address.credentials,
        resolve=resolver({*address.name_servers, *address.brokers}),
    )
    instance = ClientInstance(";".join(address.name_servers), options)
    return _OwnAdmin(instance=instance)


class _OwnAdmin(Admin):
    """Its instance was made for it alone, so it starts and closes it, and what was opened beside it."""

    def __init__(self, *, instance: ClientInstance) -> None:
        super().__init__(instance=instance)
        self._owns_instance = True
        self.companions: dict[str, asyncio.Future[Any]] = {}

    async def close(self) -> None:
        for opened in self.companions.values():
            if opened.done() and not opened.cancelled() and opened.exception() is None:
                await opened.result().close()
        await super().close()


async def companion(admin: Admin, name: str, open_it: Callable[[Admin], Awaitable[R]]) -> R:
    """A producer, say, that shares the admin's connections and is kept as long as they are."""
    assert isinstance(admin, _OwnAdmin)
    opened = admin.companions.get(name)
    if opened is None or (opened.done() and (opened.cancelled() or opened.exception() is not None)):
        opened = asyncio.ensure_future(open_it(admin))
        admin.companions[name] = opened
    # Who gives up waiting must not take it away from others who wait.
    return cast(R, await asyncio.shield(opened))


def ask(
    address: ClusterAddress, question: Callable[[Admin], Awaitable[R]], *, deadline_s: float = DEADLINE_S
) -> R:
    refuse_transaction()

    async def asked() -> R:
        async with asyncio.timeout(deadline_s):
            return await question(await _kept.admin(address))

    try:
        return _kept.loop().run(asked())
    except TimeoutError:
        raise Problem("deadline", f"{address.name} did not answer within {deadline_s:g} s", 504) from None
    except EngineError as error:
        raise problem_of(error, address.name) from None


async def each(keys: Iterable[K], question: Callable[[K], Awaitable[R]]) -> dict[K, R | EngineError]:
    """The same question to several brokers at once; an error is that broker's answer, not everybody's."""
    listed = list(keys)
    answers = await asyncio.gather(*(question(key) for key in listed), return_exceptions=True)
    outcome: dict[K, R | EngineError] = {}
    for key, answer in zip(listed, answers, strict=True):
        if isinstance(answer, BaseException) and not isinstance(answer, EngineError):
            raise answer
        outcome[key] = answer
    return outcome


def problem_of(error: EngineError, cluster: str) -> Problem:
    """What REST answers for an engine's error, with RocketMQ's code beside ours."""
    code = int(getattr(error, "code", ResponseCode.SYSTEM_ERROR))
    extra = {"cluster": cluster, "rocketmq_code": code}
    if isinstance(error, PeerUnreachable):
        return Problem("unreachable", error.text, 503, **extra)
    if isinstance(error, PeerTimeout):
        return Problem("timeout", error.text, 504, **extra)
    if isinstance(error, NotFound) or code in _ABSENT:
        return Problem("not_found", error.text, 404, **extra)
    if isinstance(error, NotPermitted) or code == ResponseCode.NO_PERMISSION:
        return Problem(
            "not_permitted", f"{cluster} refuses the console's credentials: {error.text}", 502, **extra
        )
    if isinstance(error, PeerError):
        return Problem("refused", error.text, 422, **extra)
    return Problem("engine", error.text, 502, **extra)


_ABSENT = (
    ResponseCode.TOPIC_NOT_EXIST,
    ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST,
    ResponseCode.QUERY_NOT_FOUND,
    ResponseCode.BROKER_NOT_EXIST,
)


def refuse_transaction() -> None:
    """A test's own transaction around everything does not count."""
    if any(not getattr(block, "_from_testcase", False) for block in connection.atomic_blocks):
        raise AssertionError("a broker must not be asked inside a database transaction")
