"""What the scenarios of ordered consumption share: sends queue by queue, histories, and even shares."""

from __future__ import annotations

import itertools
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence

from .java_client import JavaClient
from .pairs import ALL_QUEUES
from .received import Message, Place, body
from .subscribed import Subscribed

SHARES_TIMEOUT_S = 120
"""Several rebalances of 20 s each, and the 60 s of a lock whose owner went without a word."""
_ROUNDS = itertools.count()


def send_to(
    java: JavaClient, topic: str, queues: Iterable[Place], count: int, prefix: str, **options: object
) -> None:
    for broker, queue in queues:
        results = java.do(
            "direct-sync",
            topic=topic,
            broker=broker,
            queue=queue,
            count=count,
            prefix=f"{prefix}-{broker}-{queue}",
            **options,
        )
        assert {result["status"] for result in results} == {"SEND_OK"}


def histories(messages: Iterable[Message]) -> dict[Place, list[int]]:
    """Queue offsets in the order of arrival."""
    queues: dict[Place, list[int]] = defaultdict(list)
    for message in messages:
        queues[message["brokerName"], message["queueId"]].append(message["queueOffset"])
    return dict(queues)


def is_in_order(offsets: Sequence[int]) -> bool:
    """Whether each came after all before it, the first time: a queue that changes hands repeats a little."""
    return list(dict.fromkeys(offsets)) == sorted(set(offsets))


def wait_for_shares(java: JavaClient, topic: str, members: Sequence[Subscribed], sizes: set[int]) -> None:
    """Returns when each member has one of these numbers of queues, seen by a message sent to every queue."""
    deadline = time.monotonic() + SHARES_TIMEOUT_S
    while True:
        prefix = f"probe{next(_ROUNDS)}"
        send_to(java, topic, ALL_QUEUES, 1, prefix)
        time.sleep(1)
        shares = [holders_of(prefix, member.received()) for member in members]
        if all(len(share) in sizes for share in shares) and len(set().union(*shares)) == len(ALL_QUEUES):
            return
        assert time.monotonic() < deadline, f"never shared evenly: {shares}"


def holders_of(prefix: str, messages: Iterable[Message]) -> set[Place]:
    """The queues whose message of a round is among these."""
    return {
        (message["brokerName"], message["queueId"])
        for message in messages
        if body(message).startswith(f"{prefix}-")
    }
