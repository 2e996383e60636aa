"""The cache of routes."""

from __future__ import annotations

import asyncio

import pytest

from engine.client.instance.periodic import Periodic, end_task
from engine.client.instance.routes import Routes
from engine.client.options import (
    ClientOptions,
    ConsumerOptions,
    ProducerOptions,
    PullOptions,
    name_server_addresses,
)
from engine.errors import BadInput, NotFound, PeerUnreachable
from engine.protocol.bodies.routes import BrokerData, QueueData, TopicRouteData


def route(address: str) -> TopicRouteData:
    return TopicRouteData((QueueData("a", 4, 4, 6),), (BrokerData("c", "a", {0: address}),))


class NameServer:
    def __init__(self) -> None:
        self.routes: dict[str, TopicRouteData] = {}
        self.is_away = False
        self.asked = 0

    async def fetch(self, topic: str) -> TopicRouteData | None:
        self.asked += 1
        await asyncio.sleep(0)
        if self.is_away:
            raise PeerUnreachable("away")
        return self.routes.get(topic)


async def test_a_known_route_is_not_asked_for_again() -> None:
    server = NameServer()
    server.routes["t"] = route("a:1")
    changes: list[str] = []
    routes = Routes(server.fetch, changes.append)
    assert await routes.get("t") == await routes.get("t") == route("a:1")
    assert (server.asked, changes) == (1, ["t"])


async def test_callers_at_once_share_one_question() -> None:
    server = NameServer()
    server.routes["t"] = route("a:1")
    routes = Routes(server.fetch, lambda topic: None)
    await asyncio.gather(*(routes.get("t") for _ in range(10)))
    assert server.asked == 1


async def test_a_route_stays_known_when_a_restarted_name_server_knows_nothing() -> None:
    server = NameServer()
    server.routes["t"] = route("a:1")
    routes = Routes(server.fetch, lambda topic: None)
    await routes.get("t")
    server.routes.clear()
    assert await routes.refresh("t") == route("a:1")
    server.is_away = True
    with pytest.raises(PeerUnreachable):
        await routes.refresh_all(set())
    assert routes.known("t") == route("a:1")


async def test_the_newest_route_says_where_a_broker_is() -> None:
    server = NameServer()
    server.routes = {"t": route("a:1"), "u": route("a:1")}
    changes: list[str] = []
    routes = Routes(server.fetch, changes.append)
    await routes.refresh_all({"t", "u"})
    server.routes["t"] = route("a:2")
    await routes.refresh("t")
    assert routes.brokers() == {"a": {0: "a:2"}}
    assert changes == ["t", "u", "t"]


async def test_an_unknown_topic_is_told_when_it_must_exist() -> None:
    routes = Routes(NameServer().fetch, lambda topic: None)
    assert await routes.get("t") is None
    with pytest.raises(NotFound, match="no broker has the topic t"):
        await routes.must_get("t")


def test_name_servers_come_from_the_caller_the_environment_or_the_default() -> None:
    assert name_server_addresses("a:1; b:2", {"NAMESRV_ADDR": "c:3"}) == ("a:1", "b:2")
    assert name_server_addresses(None, {"NAMESRV_ADDR": "c:3"}) == ("c:3",)
    assert name_server_addresses(None, {}) == ("127.0.0.1:9876",)


@pytest.mark.parametrize("text", ["nonsense", "host:", "host:99999", ";", "host:1;bad"])
def test_a_bad_address_is_refused(text: str) -> None:
    with pytest.raises(BadInput):
        name_server_addresses(text, {})


def test_bad_options_are_refused_when_they_are_made() -> None:
    for make in (
        lambda: ProducerOptions(acks=2),  # type: ignore[arg-type]
        lambda: ProducerOptions(retries=-1),
        lambda: ProducerOptions(compression="rar"),  # type: ignore[arg-type]
        lambda: ProducerOptions(max_in_flight=0),
        lambda: PullOptions(suspend_ms=30_000),
        lambda: ConsumerOptions(consume_batch_size=0),
        lambda: ConsumerOptions(suspend_ms=5),
        lambda: ClientOptions(heartbeat_s=0),
    ):
        with pytest.raises(BadInput):
            make()


async def test_a_step_that_fails_is_run_again() -> None:
    runs: list[int] = []

    async def step() -> None:
        runs.append(len(runs))
        periodic.wake()
        if len(runs) < 3:
            raise ValueError("not yet")
        done.set()

    done = asyncio.Event()
    periodic = Periodic("test", 3600, step)
    periodic.start()
    periodic.wake()
    await asyncio.wait_for(done.wait(), 5)
    await periodic.stop()
    assert len(runs) >= 3


async def test_a_task_that_swallows_a_cancellation_is_cancelled_again() -> None:
    swallowed = 0

    async def stubborn() -> None:
        nonlocal swallowed
        while swallowed < 1:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                swallowed += 1
        await asyncio.sleep(3600)

    task = asyncio.create_task(stubborn())
    await asyncio.sleep(0)
    await end_task(task)
    assert task.cancelled() and swallowed == 1
