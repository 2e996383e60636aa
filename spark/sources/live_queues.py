"""Queues of running brokers, asked over the wire: which there are, how far they reach, what they hold.

For hosts whose disks Spark cannot see. Pulls as the tools' group and commits nothing, so that no consumer
notices; brokers pay for it as they do for any consumer. One connection for each process; blocking.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from engine.client import ClientInstance, ClientOptions
from engine.client.admin import Admin
from engine.client.blocking.loop_thread import LoopThread
from engine.client.consuming.pull_requests import Pulls, RawPull
from engine.client.consuming.subscriptions import subscription
from engine.client.options import PullOptions
from engine.errors import BadInput, NotFound
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.names import TOOLS_GROUP
from engine.protocol.signing import Credentials
from spark.sources.stores import UNKNOWN_CLUSTER
from spark.sources.wanted import FIRST, LAST, Span

__all__ = ["Brokers", "LiveOptions", "LiveQueue"]

_MESSAGES_PER_PULL = 1024
"""Brokers answer with fewer, as many as they are set to."""


@dataclass(frozen=True, slots=True)
class LiveOptions:
    name_servers: str
    credentials: Credentials | None = None
    tls: bool = False

    @classmethod
    def read(cls, options: Mapping[str, str]) -> LiveOptions:
        name_servers = options.get("name_servers") or options.get("path")
        if not name_servers:
            raise BadInput('no name server was given: option("name_servers", "host:port")')
        access_key, secret_key = options.get("access_key"), options.get("secret_key")
        credentials = Credentials(access_key, secret_key) if access_key and secret_key else None
        return cls(name_servers, credentials, (options.get("tls") or "").lower() == "true")


@dataclass(frozen=True, slots=True)
class LiveQueue:
    cluster: str
    broker: str
    address: str
    topic: str
    queue_id: int

    @property
    def key(self) -> str:
        return f"{self.broker}/{self.topic}/{self.queue_id}"

    @property
    def queue(self) -> MessageQueue:
        return MessageQueue(self.topic, self.broker, self.queue_id)


class Brokers:
    """Whom the name servers know."""

    def __init__(self, options: LiveOptions) -> None:
        self._loop = LoopThread()
        client = ClientOptions(tls=options.tls, credentials=options.credentials)
        self._instance = self._loop.call(lambda: ClientInstance(options.name_servers, client))
        self._loop.call(self._instance.start)
        self._admin = self._loop.call(lambda: Admin(instance=self._instance))
        self._pulls = Pulls(self._instance, TOOLS_GROUP, PullOptions())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.run(self._instance.close())
        self._loop.close()

    def topics(self) -> list[str]:
        return sorted(self._loop.run(self._admin.topics.names()))

    def queues(self, topics: Iterable[str]) -> list[LiveQueue]:
        """The readable queues of the topics; a topic that nobody has is none."""
        info = self._loop.run(self._admin.cluster.info())
        clusters = {name: cluster for cluster, names in info.cluster_addr_table.items() for name in names}
        found: list[LiveQueue] = []
        for topic in topics:
            try:
                queues = self._loop.run(self._admin.messages.queues(topic))
            except NotFound:
                continue
            for queue in queues:
                cluster = clusters.get(queue.broker_name, UNKNOWN_CLUSTER)
                members = self._instance.members(queue.broker_name)
                address = members[min(members)] if members else ""
                found.append(LiveQueue(cluster, queue.broker_name, address, topic, queue.queue_id))
        return found

    def offsets(self, queue: LiveQueue, times_ms: Span) -> Span:
        """From the first to behind the last message of a queue that may have been stored in these times."""
        ask = self._admin.offsets
        start = self._loop.run(ask.min_offset(queue.queue))
        end = self._loop.run(ask.max_offset(queue.queue))
        if times_ms.start > FIRST:
            start = max(start, self._loop.run(ask.offset_at(queue.queue, times_ms.start)))
        if times_ms.end < LAST:
            # The last one before the end, not the first behind it: there may be none.
            end = min(end, self._loop.run(ask.offset_at(queue.queue, times_ms.end, upper=True)) + 1)
        return Span(start, max(end, start))

    def pull(self, queue: LiveQueue, offset: int, count: int) -> RawPull:
        wanted = subscription(queue.topic, "*", 0)
        self._loop.run(self._instance.routes.must_get(queue.topic))
        most = min(count, _MESSAGES_PER_PULL)
        return self._loop.run(self._pulls.pull_raw(queue.queue, offset, wanted, max_messages=most))
