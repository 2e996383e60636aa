"""What a request costs does not depend on how many topics and groups there are: ratios of one run, by turns.

Two real brokers in this process, one with a hundred topics and groups and one with many more; the same
requests go to the same hundred of each. Processor time, the best of several rounds. `make bench-scale`
measures the same from outside, with messages and files in all of the topics.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from engine.broker.clients.client_tables import ClientInfo
from engine.broker.groups.group_table import GROUPS_FILE
from engine.broker.topics.topic_table import TOPICS_FILE
from engine.protocol.bodies.clients import ConsumerData, HeartbeatData, SubscriptionData
from engine.protocol.bodies.groups import SubscriptionGroupConfig
from engine.protocol.bodies.topics import TopicConfig
from engine.protocol.codes import RequestCode
from engine.protocol.commands import Command
from engine.protocol.names import retry_topic
from tests.engine.broker.peers import RunningBroker, pull_header, send_header

pytestmark = pytest.mark.alone

FEW = 100
ROUNDS = 15
REQUESTS = 500
NEW = 25
NEVER_BUSY = {"brokerFastFailureEnable": "false"}
NOW_MS = 1_700_000_000_000
MOST = 1.2
"""How many times the cost with few of them."""


class Client:
    """A connection that says nothing."""

    remote = ("127.0.0.1", 50_000)
    peer_name = "127.0.0.1:50000"
    read_at = last_read_at = 0.0

    def __init__(self) -> None:
        self.tags: dict[str, object] = {}

    def on_close(self, tell: object) -> None:
        """It never closes."""

    def send_oneway(self, command: Command) -> None:
        """Nobody is there."""


class Scaled:
    """A running broker with `count` topics and groups, each group with a member."""

    def __init__(self, broker: RunningBroker, count: int) -> None:
        self.inner: Any = broker.inner
        self.client = Client()
        for number in range(count):
            topic, group = f"topic-{number}", f"group-{number}"
            self.inner.core.tables.topics.put(TopicConfig(topic, 1, 1), NOW_MS)
            self.inner.core.tables.topics.put(TopicConfig(retry_topic(group), 1, 1), NOW_MS)
            self.inner.core.tables.groups.put(SubscriptionGroupConfig(group_name=group), NOW_MS)
            member = ClientInfo(f"client-{number}", 0, 1, self.inner.core.runtime.booted_ms)
            data = ConsumerData(group, subscription_data_set=(SubscriptionData(topic=topic),))
            self.inner.core.clients.consumers.register(data, data.subscription_data_set, self.client, member)
            self.inner.core.figures.traffic.put(topic, 1, 1)

    def ask(self, code: int, requests: list[Command]) -> None:
        handler = self.inner.routes[code]
        for request in requests:
            handler(request, self.client)
        while self.inner.core.store.queues.has_undispatched():
            self.inner.core.store.queues.dispatch(1024)

    async def make_new(self, prefix: str) -> None:
        """A topic and a group, one after the other, each on disk before the next."""
        loop = asyncio.get_running_loop()
        for number in range(NEW):
            host = self.client.remote[0]
            self.inner.core.tables.topics.create_unsaved(
                TopicConfig(f"{prefix}-{number}", 1, 1), NOW_MS, host
            )
            self.inner.core.tables.groups.find_or_create(f"{prefix}-{number}", True, NOW_MS, host)
            inner = self.inner
            waits = (
                (TOPICS_FILE, inner.tasks.writer.when_announced),
                (GROUPS_FILE, inner.tasks.writer.when_saved),
            )
            for file, when_saved in waits:
                saved: asyncio.Future[OSError | None] = loop.create_future()
                when_saved(file, saved.set_result)
                assert await saved is None


def requests(code: int) -> list[Command]:
    numbers = [number % FEW for number in range(REQUESTS)]
    if code == RequestCode.HEART_BEAT:
        return [Command(code, body=_heartbeat(number)) for number in numbers]
    if code == RequestCode.PULL_MESSAGE:
        headers = [pull_header(f"topic-{n}", 0, consumer_group=f"group-{n}").encode() for n in numbers]
        return [Command(code, fields=fields) for fields in headers]
    sends = [send_header(f"topic-{number}", 0, None).to_v2().encode() for number in numbers]
    return [Command(code, fields=fields, body=b"hello") for fields in sends]


def _heartbeat(number: int) -> bytes:
    group = f"group-{number}"
    topics = (f"topic-{number}", retry_topic(group))
    subscriptions = tuple(SubscriptionData(topic=topic, sub_version=1) for topic in topics)
    return HeartbeatData(
        f"client-{number}", (), (ConsumerData(group, subscription_data_set=subscriptions),)
    ).encode()


CODES = (RequestCode.HEART_BEAT, RequestCode.SEND_MESSAGE_V2, RequestCode.PULL_MESSAGE)
SIZES = [
    pytest.param(10_000, id="10,000"),
    pytest.param(100_000, id="100,000", marks=pytest.mark.nightly),
]


@pytest.fixture(params=SIZES)
async def both(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[list[Scaled]]:
    running = [await RunningBroker.start(tmp_path / name, NEVER_BUSY) for name in ("few", "many")]
    yield [Scaled(broker, count) for broker, count in zip(running, (FEW, request.param), strict=True)]
    for broker in running:
        await broker.stop()


def best(costs: list[float]) -> float:
    return min(costs)


async def test_known_topics_and_groups_cost_the_same_among_many(both: list[Scaled]) -> None:
    for scaled in both:  # so that there is something to pull
        scaled.ask(RequestCode.SEND_MESSAGE_V2, requests(RequestCode.SEND_MESSAGE_V2))
    ratios = {}
    for code in CODES:
        asked = requests(code)
        costs = await _by_turns(both, lambda scaled, code=code, asked=asked: scaled.ask(code, asked))  # type: ignore[misc]
        ratios[code.name] = costs[1] / costs[0]
        print(f"{code.name}: {costs[0] * 1e6:.1f} µs among {FEW}, {costs[1] * 1e6:.1f} µs among many")
    assert max(ratios.values()) <= MOST, ratios


async def _by_turns(both: list[Scaled], work: Callable[[Scaled], None]) -> list[float]:
    """Seconds of this thread for a request, with few and with many."""
    costs: list[list[float]] = [[], []]
    for _ in range(ROUNDS):
        for scaled, seconds in zip(both, costs, strict=True):
            begun = time.thread_time()
            work(scaled)
            seconds.append((time.thread_time() - begun) / REQUESTS)
    return [best(seconds) for seconds in costs]


async def test_a_new_topic_and_a_new_group_cost_the_same_among_many(both: list[Scaled]) -> None:
    """All threads: tables are written in others."""
    for scaled in both:
        await scaled.make_new("first")  # the whole tables are on disk from here on
    costs: list[list[float]] = [[], []]
    for number in range(5):
        for scaled, seconds in zip(both, costs, strict=True):
            begun = time.process_time()
            await scaled.make_new(f"new-{number}")
            seconds.append((time.process_time() - begun) / NEW)
    few, many = map(best, costs)
    print(f"{few * 1e6:.0f} µs among {FEW}, {many * 1e6:.0f} µs among many")
    assert many <= MOST * few
