"""The small values that other bodies are made of: queues, versions, tables and lists of names."""

from __future__ import annotations

from msgspec import field

from engine.protocol.wire import Body, Int32, Int64


class MessageQueue(Body, frozen=True, order=True):
    """One queue of a topic on one broker; ordered as all clients order queues before they share them out."""

    topic: str
    broker_name: str
    queue_id: Int32

    def __str__(self) -> str:
        return f"{self.topic}@{self.broker_name}@{self.queue_id}"


class DataVersion(Body, frozen=True):
    """The version of a table. Two tables are taken as equal when all three members are."""

    state_version: Int64 = 0
    timestamp: Int64 = 0
    counter: Int64 = 0

    def next_version(self, now_ms: int, state_version: int = 0) -> DataVersion:
        return DataVersion(state_version, now_ms, self.counter + 1)


class KVTable(Body, frozen=True):
    """Name server key-values (219), runtime info (28), ordered topics in the answer to 103."""

    table: dict[str, str] = field(default_factory=dict)


class TopicList(Body, frozen=True):
    topic_list: tuple[str, ...] = ()
    broker_addr: str | None = None


class GroupList(Body, frozen=True):
    """Answer to 300."""

    group_list: tuple[str, ...] = ()
