"""What the scenarios say about received messages, in one place."""

from __future__ import annotations

import base64
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from .java_client import JavaClient

SETTLE_TIMEOUT_S = 10
Message = dict[str, Any]
Place = tuple[str, int]


def read_all(java: JavaClient, topic: str, count: int, **options: object) -> list[Message]:
    """The whole topic, once it shows ``count`` messages: reading follows storing by a moment."""
    deadline = time.monotonic() + SETTLE_TIMEOUT_S
    while True:
        messages: list[Message] = java.do("read-all", topic=topic, **options)
        if len(messages) >= count or time.monotonic() > deadline:
            return messages
        time.sleep(0.2)


def wait_until(is_so: Callable[[], bool], timeout_s: float = SETTLE_TIMEOUT_S) -> None:
    deadline = time.monotonic() + timeout_s
    while not is_so():
        assert time.monotonic() < deadline, f"not so within {timeout_s} s"
        time.sleep(0.1)


def body(message: Message) -> str:
    return base64.b64decode(message["body"]).decode()


def bodies(messages: Iterable[Message]) -> list[str]:
    return sorted(body(message) for message in messages)


def numbered(prefix: str, count: int) -> list[str]:
    """The bodies that the driver sends for a prefix, sorted like :func:`bodies`."""
    return sorted(f"{prefix}-{n}" for n in range(count))


def places(messages: Iterable[Message]) -> list[Place]:
    """Broker and queue of each, in the order of arrival."""
    return [(message["brokerName"], message["queueId"]) for message in messages]


def offsets_by_queue(messages: Iterable[Message]) -> dict[int, list[int]]:
    """Queue offsets in the order of arrival."""
    queues: dict[int, list[int]] = defaultdict(list)
    for message in messages:
        queues[message["queueId"]].append(message["queueOffset"])
    return dict(queues)
