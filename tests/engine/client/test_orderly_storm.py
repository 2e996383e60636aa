"""F31 in small: consumers come and go, and yet every queue is consumed by one at a time, in order."""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from collections.abc import Callable
from itertools import pairwise

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

QUEUES = 4
MESSAGES_PER_QUEUE = 100
STORM_S = 12.0
OPTIONS = ConsumerOptions(
    from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
    orderly=True,
    suspend_ms=10,
    rebalance_s=1.0,
    commit_interval_s=0.5,
)


class Watch:
    """Sees every call of every consumer: who works on which queue, and on what."""

    def __init__(self) -> None:
        self.holders: dict[int, set[str]] = defaultdict(set)
        self.seen: dict[int, list[tuple[str, int]]] = defaultdict(list)
        self.faults: list[str] = []

    def listener(self, name: str) -> Callable[[ReceivedMessage], object]:
        async def consume(message: ReceivedMessage) -> None:
            queue = message.queue.queue_id
            others = self.holders[queue] - {name}
            if others:
                self.faults.append(f"{name} and {others} work on queue {queue} at once")
            self.holders[queue].add(name)
            self.seen[queue].append((name, int(message.body)))
            # Now and then a call lasts long enough for the queue to be wanted by another meanwhile.
            await asyncio.sleep(0.8 if random.random() < 0.1 else 0.002)
            self.holders[queue].discard(name)

        return consume

    def is_complete(self) -> bool:
        last = MESSAGES_PER_QUEUE - 1
        return all(any(n == last for _, n in self.seen[queue]) for queue in range(QUEUES))

    def inversions(self) -> list[str]:
        """Nothing is skipped, nobody goes back; a new holder may see again what its forerunner was at."""
        found = []
        for queue, calls in self.seen.items():
            for (before, earlier), (name, number) in pairwise(calls):
                is_next = number == earlier + 1
                is_again = name != before and number <= earlier
                if not is_next and not is_again:
                    found.append(f"queue {queue}: {name} got {number} after {before} got {earlier}")
        return found


async def test_no_queue_has_two_holders_in_a_storm_of_rebalances(
    namesrv: str, fresh: Callable[[str], str]
) -> None:
    topic, group = fresh("storm"), fresh("stormers")
    async with Admin(namesrv=namesrv) as admin, Producer(fresh("p"), namesrv=namesrv) as producer:
        broker = (await admin.cluster.masters())[0]
        await admin.topics.create(broker, TopicConfig(topic, QUEUES, QUEUES))
        queues = sorted(await producer.queues(topic))
        watch = Watch()
        sending = asyncio.create_task(_send(producer, queues))
        stayers = [_consumer(namesrv, group, topic, watch, f"stays-{n}") for n in range(2)]
        await asyncio.gather(*(consumer.start() for consumer in stayers))
        await asyncio.gather(*(_come_and_go(namesrv, group, topic, watch, n) for n in range(4)))
        await sending
        async with asyncio.timeout(60):
            while not watch.is_complete():
                await asyncio.sleep(0.05)
        await asyncio.gather(*(consumer.close() for consumer in stayers))
    assert not watch.faults
    assert not watch.inversions()
    assert len({name for calls in watch.seen.values() for name, _ in calls}) > 2, "the queues never moved"


def _consumer(namesrv: str, group: str, topic: str, watch: Watch, name: str) -> PushConsumer:
    consumer = PushConsumer(group, watch.listener(name), namesrv=namesrv, options=OPTIONS)  # type: ignore[arg-type]
    consumer.subscribe(topic)
    return consumer


async def _come_and_go(namesrv: str, group: str, topic: str, watch: Watch, number: int) -> None:
    loop = asyncio.get_running_loop()
    end, visits = loop.time() + STORM_S, 0
    while loop.time() < end:
        visits += 1
        async with _consumer(namesrv, group, topic, watch, f"visits-{number}-{visits}"):
            await asyncio.sleep(random.uniform(0.5, 2.5))


async def _send(producer: Producer, queues: list[MessageQueue]) -> None:
    for number in range(MESSAGES_PER_QUEUE):
        for queue in queues:
            await producer.send(Message(queue.topic, str(number).encode()), queue=queue)
        await asyncio.sleep(STORM_S / MESSAGES_PER_QUEUE)
