"""One change on several masters: written, read back, judged per broker, within one deadline.

A broker that fails is that broker's outcome, never everybody's. A broker group that should be there and is
not known to the name servers (its master is down) is an outcome too: partial is never shown as complete.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import Any

from clusters.gateway.addressing import ClusterAddress
from clusters.gateway.connections import DEADLINE_S, ask, problem_of
from console.core.problems import Problem
from engine.client.admin import Admin
from engine.errors import EngineError, PeerTimeout
from engine.protocol.bodies.routes import MASTER_ID

Write = Callable[[Admin, str], Awaitable[object]]
Read = Callable[[Admin, str], Awaitable[Any]]
_SLACK_S = 1.0
"""Brokers have the deadline, the whole a little more: one that hangs must not take the others' outcomes."""


@dataclass(frozen=True, slots=True)
class BrokerOutcome:
    broker: str
    address: str
    ok: bool
    detail: str = ""
    read_back: Any = None
    status: int = 200
    """What REST answers when all brokers ended like this one."""

    def as_json(self) -> dict[str, Any]:
        return {
            "broker": self.broker,
            "address": self.address,
            "ok": self.ok,
            "detail": self.detail,
            "read_back": self.read_back,
        }


def write_each(
    address: ClusterAddress,
    brokers: Collection[str],
    expected: Collection[str],
    write: Write,
    read: Read,
    is_there: Callable[[Any], bool],
    deadline_s: float = DEADLINE_S,
) -> list[BrokerOutcome]:
    """`brokers` are chosen names, none for all; `expected` are groups that the database knows."""

    async def all_of_them(admin: Admin) -> list[BrokerOutcome]:
        masters = chosen(await known_masters(admin, address, expected), brokers)
        written = (
            _write_one(admin, address.name, name, at, write, read, is_there, deadline_s)
            for name, at in masters.items()
        )
        return list(await asyncio.gather(*written))

    return ask(address, all_of_them, deadline_s=deadline_s + _SLACK_S)


def read_each(
    address: ClusterAddress, brokers: Collection[str], expected: Collection[str], read: Read
) -> list[BrokerOutcome]:
    """The same question to each master; `read_back` is its answer."""

    async def nothing(_admin: Admin, _at: str) -> None:
        return None

    return write_each(address, brokers, expected, nothing, read, lambda _answer: True)


async def known_masters(
    admin: Admin, address: ClusterAddress, expected: Collection[str] = ()
) -> dict[str, str | None]:
    """Broker names of this cluster with their master's address; None: no master is registered."""
    info = await admin.cluster.info()
    names = set(info.cluster_addr_table.get(address.broker_cluster_name, ())) | set(expected)
    names |= {
        name
        for name, data in info.broker_addr_table.items()
        if not address.brokers.isdisjoint(data.broker_addrs.values())
    }
    masters: dict[str, str | None] = {}
    for name in sorted(names):
        data = info.broker_addr_table.get(name)
        masters[name] = None if data is None else data.broker_addrs.get(MASTER_ID)
    if not masters:
        raise Problem("no_broker", f"the name servers of {address.name} know no broker of it", 503)
    return masters


def chosen(masters: dict[str, str | None], brokers: Collection[str]) -> dict[str, str | None]:
    unknown = sorted(set(brokers) - masters.keys())
    if unknown:
        known = ", ".join(masters)
        raise Problem(
            "unknown_broker", f"no broker is called {unknown[0]!r}; there are {known}", 400, field="brokers"
        )
    return {name: at for name, at in masters.items() if not brokers or name in brokers}


async def _write_one(
    admin: Admin,
    cluster: str,
    name: str,
    at: str | None,
    write: Write,
    read: Read,
    is_there: Callable[[Any], bool],
    deadline_s: float,
) -> BrokerOutcome:
    if at is None:
        return BrokerOutcome(name, "", False, "no master of this broker group is registered", status=503)
    try:
        async with asyncio.timeout(deadline_s):
            await write(admin, at)
            answer = await read(admin, at)
    except TimeoutError:
        return BrokerOutcome(name, at, False, "no answer in time: it may have been done", status=504)
    except PeerTimeout as error:
        return BrokerOutcome(name, at, False, f"{error.text}: it may have been done", status=504)
    except EngineError as error:
        problem = problem_of(error, cluster)
        return BrokerOutcome(name, at, False, problem.detail, status=problem.status)
    if not is_there(answer):
        return BrokerOutcome(name, at, False, "the broker said yes, but has something else", answer, 502)
    return BrokerOutcome(name, at, True, "", answer)


def refuse_total_failure(outcomes: list[BrokerOutcome]) -> None:
    """When nothing was done anywhere there is nothing partial to show: a problem, with each reason."""
    if not outcomes or any(outcome.ok for outcome in outcomes):
        return
    first = max(outcomes, key=lambda outcome: outcome.status)
    listed = [outcome.as_json() for outcome in outcomes]
    raise Problem("no_broker_did_it", f"{first.broker}: {first.detail}", first.status, brokers=listed)
