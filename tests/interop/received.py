"""What the scenarios say about received messages, in one place."""

from __future__ import annotations

import base64
import time
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from .java_client import JavaClient

SETTLE_TIMEOUT_S = 10
Message = dict[str, Any]


def read_all(java: JavaClient, topic: str, count: int, **options: object) -> list[Message]:
    """The whole topic, once it shows ``count`` messages: reading follows storing by a moment."""
    deadline = time.monotonic() + SETTLE_TIMEOUT_S
    while True:
        messages: list[Message] = java.do("read-all", topic=topic, **options)
        if len(messages) >= count or time.monotonic() > deadline:
            return messages
        time.sleep(0.2)


def body(message: Message) -> str:
    return base64.b64decode(message["body"]).decode()


def bodies(messages: Iterable[Message]) -> list[str]:
    return sorted(body(message) for message in messages)


def numbered(prefix: str, count: int) -> list[str]:
    """The bodies that the driver sends for a prefix, sorted like :func:`bodies`."""
    return sorted(f"{prefix}-{n}" for n in range(count))


def offsets_by_queue(messages: Iterable[Message]) -> dict[int, list[int]]:
    """Queue offsets in the order of arrival."""
    queues: dict[int, list[int]] = defaultdict(list)
    for message in messages:
        queues[message["queueId"]].append(message["queueOffset"])
    return dict(queues)
