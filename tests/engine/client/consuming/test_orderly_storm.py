"""F31 in small: consumers come and go, and yet every queue is consumed by one at a time, in order."""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import pytest

from engine.client import (
    Admin,
    ConsumeFromWhere,
    ConsumerOptions,
    Message,
    MessageQueue,
    Producer,
    PushConsumer,
    ReceivedMessage,
)
from engine.protocol.bodies.topics import TopicConfig

LOCK_MOVES_S = 60.0


@dataclass(frozen=True, slots=True)
class Weather:
    """How much of a storm it is."""

    queues: int
    messages_per_queue: int
    seconds: float
    visitors: int
    most_stay_s: float = 2.5


BREEZE = Weather(queues=4, messages_per_queue=100, seconds=12.0, visitors=4)
STORM = Weather(queues=16, messages_per_queue=300, seconds=60.0, visitors=20, most_stay_s=4.0)
"""Twenty consumers, one of which comes or goes every 0.1 s."""
OPTIONS = ConsumerOptions(
    from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
    orderly=True,
    suspend_ms=10,
    rebalance_s=1.0,
    commit_interval_s=0.5,
)


class Watch:
    """Sees every call of every consumer: who works on which queue, and on what."""

    def __init__(self, weather: Weather) -> None:
        self._weather = weather
        self.holders: dict[int, set[str]] = defaultdict(set)
        self.seen: dict[int, list[tuple[str, int]]] = defaultdict(list)
        self.faults: list[str] = []
        self.longest_pause_s = 0.0
        """How long a queue that was sent to all the time got no call."""
        self._last_at: dict[int, float] = {}

    def listener(self, name: str) -> Callable[[ReceivedMessage], object]:
        async def consume(message: ReceivedMessage) -> None:
            queue = message.queue.queue_id
            others = self.holders[queue] - {name}
            if others:
                self.faults.append(f"{name} and {others} work on queue {queue} at once")
            self.holders[queue].add(name)
            self.seen[queue].append((name, int(message.body)))
            now = asyncio.get_running_loop().time()
            self.longest_pause_s = max(self.longest_pause_s, now - self._last_at.get(queue, now))
            self._last_at[queue] = now
            # Now and then a call lasts long enough for the queue to be wanted by another meanwhile.
            await asyncio.sleep(0.8 if random.random() < 0.1 else 0.002)
            self.holders[queue].discard(name)

        return consume

    def is_complete(self) -> bool:
        last = self._weather.messages_per_queue - 1
        return all(any(n == last for _, n in self.seen[queue]) for queue in range(self._weather.queues))

    def inversions(self) -> list[str]:
        """Nothing is skipped, nobody goes back; a new holder may see again what its forerunner was at, and
        one that lost the queue and got it back what it was at itself."""
        found = []
        for queue, calls in self.seen.items():
            for (before, earlier), (name, number) in pairwise(calls):
                is_next = number == earlier + 1
                is_again = number <= earlier if name != before else number == earlier
                if not is_next and not is_again:
                    found.append(f"queue {queue}: {name} got {number} after {before} got {earlier}")
        return found


@pytest.mark.parametrize("weather", [BREEZE, pytest.param(STORM, marks=pytest.mark.crash_long)])
@pytest.mark.timeout(300)
async def test_no_queue_has_two_holders_in_a_storm_of_rebalances(
    namesrv: str, fresh: Callable[[str], str], weather: Weather
) -> None:
    topic, group = fresh("storm"), fresh("stormers")
    async with Admin(namesrv=namesrv) as admin, Producer(fresh("p"), namesrv=namesrv) as producer:
        broker = (await admin.cluster.masters())[0]
        await admin.topics.create(broker, TopicConfig(topic, weather.queues, weather.queues))
        queues = sorted(await producer.queues(topic))
        watch = Watch(weather)
        sending = asyncio.create_task(_send(producer, queues, weather))
        stayers = [_consumer(namesrv, group, topic, watch, f"stays-{n}") for n in range(2)]
        await asyncio.gather(*(consumer.start() for consumer in stayers))
        await asyncio.gather(
            *(_come_and_go(namesrv, group, topic, watch, n, weather) for n in range(weather.visitors))
        )
        await sending
        async with asyncio.timeout(60):
            while not watch.is_complete():
                await asyncio.sleep(0.05)
        await asyncio.gather(*(consumer.close() for consumer in stayers))
    assert not watch.faults
    assert not watch.inversions()
    print(f"longest pause of a queue: {watch.longest_pause_s:.1f} s")
    assert watch.longest_pause_s <= LOCK_MOVES_S
    assert len({name for calls in watch.seen.values() for name, _ in calls}) > 2, "the queues never moved"


def _consumer(namesrv: str, group: str, topic: str, watch: Watch, name: str) -> PushConsumer:
    consumer = PushConsumer(group, watch.listener(name), namesrv=namesrv, options=OPTIONS)  # type: ignore[arg-type]
    consumer.subscribe(topic)
    return consumer


async def _come_and_go(
    namesrv: str, group: str, topic: str, watch: Watch, number: int, weather: Weather
) -> None:
    loop = asyncio.get_running_loop()
    end, visits = loop.time() + weather.seconds, 0
    while loop.time() < end:
        visits += 1
        async with _consumer(namesrv, group, topic, watch, f"visits-{number}-{visits}"):
            await asyncio.sleep(random.uniform(0.5, weather.most_stay_s))


async def _send(producer: Producer, queues: list[MessageQueue], weather: Weather) -> None:
    for number in range(weather.messages_per_queue):
        for queue in queues:
            await producer.send(Message(queue.topic, str(number).encode()), queue=queue)
        await asyncio.sleep(weather.seconds / weather.messages_per_queue)
