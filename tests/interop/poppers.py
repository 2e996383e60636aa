"""One group that pops one topic through the official 5.x client's bare interface, request by request."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from .clusters import BROKER_NAME, Cluster
from .java_client import JavaClient
from .received import Message
from .remoting import create_topic

FOUND, NOTHING = "FOUND", "POLLING_NOT_FOUND"


def receipt(message: Message) -> str:
    handle: str = message["properties"]["POP_CK"]
    return handle


@dataclass(frozen=True, slots=True)
class Popper:
    java: JavaClient
    cluster: Cluster
    topic: str
    group: str
    options: dict[str, object] = field(default_factory=dict)
    """What every pop says, unless told otherwise."""

    def create_topic(self, queues: int) -> None:
        create_topic(self.cluster.broker, self.topic, queues)

    def send(self, count: int, prefix: str = "m", **options: object) -> None:
        self.java.do("send-sync", topic=self.topic, count=count, prefix=prefix, **options)

    def begin_pop(self, **options: object) -> int:
        """A pop that may be held; ``finish_pop`` waits for its answer."""
        return self.java.begin(
            "bare-pop", **self._address(), brokerName=BROKER_NAME, **(self.options | options)
        )

    def finish_pop(self, number: int) -> list[Message]:
        answer = self.java.finish(number)
        assert (answer["status"] == FOUND) == bool(answer["messages"]), answer
        assert answer["status"] in (FOUND, NOTHING), answer
        messages: list[Message] = answer["messages"]
        return messages

    def pop(self, **options: object) -> list[Message]:
        return self.finish_pop(self.begin_pop(**options))

    def pop_until(self, count: int, timeout_s: float = 20, **options: object) -> list[Message]:
        """Pops until there were ``count``."""
        popped: list[Message] = []
        deadline = time.monotonic() + timeout_s
        while len(popped) < count and time.monotonic() < deadline:
            popped += self.pop(pollMs=500, **options)
        return popped

    def ack(self, message: Message) -> None:
        assert self.java.do("bare-ack", **self._address(), receipt=receipt(message)) == "OK"

    def ack_all(self, messages: list[Message]) -> None:
        receipts = ",".join(map(receipt, messages))
        assert self.java.do("bare-ack-all", **self._address(), receipts=receipts) == "OK"

    def hide(self, message: Message, invisible_ms: int) -> None:
        options = {"receipt": receipt(message), "invisibleMs": invisible_ms, "brokerName": BROKER_NAME}
        assert self.java.do("bare-hide", **self._address(), **options) == "OK"

    def begin_notice(self, **options: object) -> int:
        """Asks to be told when there is something to pop; ``java.finish`` gives the answer."""
        return self.java.begin("bare-notify", **self._address(), **options)

    def reset(self, offset: int, queue: int = 0) -> None:
        self.java.do("bare-reset", **self._address(), queue=queue, offset=offset)

    def progress(self) -> dict[str, list[int]]:
        """By queue: the broker's end, what the group has committed, where it pulls."""
        offsets: dict[str, list[int]] = self.java.do("bare-progress", **self._address())
        return offsets

    def _address(self) -> dict[str, object]:
        return {"broker": self.cluster.broker, "topic": self.topic, "group": self.group}
