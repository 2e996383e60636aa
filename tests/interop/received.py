"""What the scenarios say about received messages, in one place."""

from __future__ import annotations

import base64
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

Message = dict[str, Any]


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
