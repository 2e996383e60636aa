"""Real dead letters: a consumer that fails until its broker gives up."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from engine.client import ConsumeFromWhere, ConsumerOptions, Message, blocking
from engine.client.messages import ReceivedMessage
from engine.errors import EngineError

NO_DELAY = " ".join(["0s"] * 18)
"""messageDelayLevel of a broker whose retries take no time."""


def until(condition: Callable[[], bool], what: str, timeout_s: float = 30) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def dead_letters(namesrv: str, group: str) -> int:
    """How many the group has."""
    with blocking.Admin(namesrv=namesrv) as admin:
        try:
            queues = admin.messages.queues(f"%DLQ%{group}")
        except EngineError:
            return 0
        return sum(admin.offsets.max_offset(queue) for queue in queues)


@contextmanager
def consuming(
    namesrv: str, group: str, topic: str, listener: Callable[[ReceivedMessage], None], *, tries: int = 1
) -> Iterator[None]:
    options = ConsumerOptions(
        from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
        max_reconsume_times=tries,
        commit_interval_s=0.2,
        rebalance_s=0.5,
        trace=True,
    )
    consumer = blocking.PushConsumer(group, listener, namesrv=namesrv, options=options)
    consumer.subscribe(topic)
    with consumer:
        yield


def fail(message: ReceivedMessage) -> None:
    raise ValueError("this consumer fails")


def bury(namesrv: str, topic: str, group: str, messages: list[Message]) -> None:
    """Send them, and let the group fail until all are dead."""
    with blocking.Producer("mourner", namesrv=namesrv) as producer:
        for message in messages:
            producer.send(message)
    with consuming(namesrv, group, topic, fail):
        until(
            lambda: dead_letters(namesrv, group) == len(messages), f"{len(messages)} dead letters of {group}"
        )


class Collected:
    """What a consumer that does not fail gets."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self._lock = threading.Lock()

    def __call__(self, message: ReceivedMessage) -> None:
        with self._lock:
            self.bodies.append(message.body)
