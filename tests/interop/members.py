"""Members of consumer groups: Java push consumers that join, leave, and are killed.

    with member(java, name, topic=topic, group=group) as first:
        first.received(10)

``Doomed`` is a process of its own whose members can be killed. What they have consumed is noted in a journal
before it is acknowledged, so that it is known after the kill to the last message.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from .java_client import JavaClient
from .received import Message

# A Java client that misses a rebalance comes back to it after 20 s. One of 5.x that has new queues announces
# their subscription by a heartbeat, but leaves that out when another is just under way; until the next one,
# up to 30 s later, its pulls are refused as not the latest (25), by Apache's broker too.
SHARE_TIMEOUT_S = 50
RECEIVE_TIMEOUT_S = 40


class HoldsQueues(Protocol):
    def queues(self) -> set[int]: ...


@dataclass(frozen=True, slots=True)
class Member:
    java: JavaClient
    name: str

    def received(self, count: int, timeout_s: float = RECEIVE_TIMEOUT_S) -> list[Message]:
        """All that it has got once there are ``count``, or what there is when the time is over."""
        messages: list[Message] = self.java.do(
            "push-wait", name=self.name, count=count, timeoutMs=int(timeout_s * 1000)
        )
        return messages

    def queues(self, topic: str | None = None) -> set[int]:
        """The queues that it has of its topics, retries left out."""
        held = self.java.do("push-queues", name=self.name)
        return {
            queue["queueId"]
            for queue in held
            if not queue["topic"].startswith("%RETRY%") and topic in (None, queue["topic"])
        }


@contextmanager
def member(java: JavaClient, name: str, **options: object) -> Iterator[Member]:
    java.do("push-start", name=name, **options)
    try:
        yield Member(java, name)
    finally:
        java.do("push-stop", name=name)


class Doomed:
    """A process with members that can be killed, or closed when it was not."""

    def __init__(self, version: str, name_server: str, home: Path) -> None:
        self.java = JavaClient(version, name_server, home)
        self._journal = home / "consumed.txt"

    def join(self, name: str, **options: object) -> Member:
        self.java.do("push-start", name=name, journal=self._journal, **options)
        return Member(self.java, name)

    def kill(self) -> None:
        self.java.kill()

    def consumed(self) -> list[str]:
        """The bodies that its members have taken, also after it was killed."""
        return self._journal.read_text().splitlines() if self._journal.exists() else []


def share(members: Sequence[HoldsQueues], queues: int) -> list[set[int]]:
    """The members' queues once all are held, each by one, and evenly."""
    deadline = time.monotonic() + SHARE_TIMEOUT_S
    while True:
        held = [one.queues() for one in members]
        if is_even(held, queues):
            return held
        assert time.monotonic() < deadline, f"never shared evenly: {held}"
        time.sleep(0.2)


def is_even(held: Iterable[set[int]], queues: int) -> bool:
    held = list(held)
    sizes = [len(one) for one in held]
    return set().union(*held) == set(range(queues)) and sum(sizes) == queues and max(sizes) - min(sizes) <= 1
