"""A push consumer of the Java driver for the length of a ``with``."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from .java_client import JavaClient
from .received import Message

WAIT_MS = 45_000
"""More than the 20 s after which a client that missed its first rebalance comes back to it."""
QUIET_S = 0.3


@dataclass(frozen=True, slots=True)
class Subscribed:
    java: JavaClient
    name: str
    group: str

    def received(self, count: int = 0, timeout_ms: int = WAIT_MS) -> list[Message]:
        """All so far, once there are ``count`` or the time is over."""
        messages: list[Message] = self.java.do("push-wait", name=self.name, count=count, timeoutMs=timeout_ms)
        return messages

    def settled(self, count: int) -> list[Message]:
        """As :meth:`received`, and a moment longer: a message too many must have time to show."""
        self.received(count)
        time.sleep(QUIET_S)
        return self.received()


@contextmanager
def subscribed(
    java: JavaClient, topic: str, fresh: Callable[[str], str], group: str = "", **options: object
) -> Iterator[Subscribed]:
    consumer = Subscribed(java, fresh("consumer"), group or fresh("group"))
    java.do("push-start", name=consumer.name, topic=topic, group=consumer.group, **options)
    try:
        yield consumer
    finally:
        java.do("push-stop", name=consumer.name)
