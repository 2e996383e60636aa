"""Administration: what operators, the command line and the console ask of name servers and brokers.

`Admin` groups the questions by noun; a method sends one request code, to several brokers only where its
docstring says so.
A broker is named by its address (`host:port`, as `admin.cluster.info()` lists them). Refusals are PeerErrors
with RocketMQ's code and remark.
"""

from __future__ import annotations

from typing import Unpack

from engine.client.admin.access import AccessAdmin
from engine.client.admin.brokers import BrokerAdmin, BrokerGroupAdmin
from engine.client.admin.groups import ClientAdmin, GroupAdmin
from engine.client.admin.messages import MessageAdmin
from engine.client.admin.name_servers import ClusterAdmin, NameServerAdmin
from engine.client.admin.offsets import OffsetAdmin
from engine.client.admin.topics import TopicAdmin
from engine.client.instance.instance import Client
from engine.client.options import ClientArguments, ClientOptions
from engine.client.tracing.trace_reader import TraceReader

ADMIN_TIMEOUT_MS = 5_000

__all__ = ["Admin"]


class Admin(Client):
    """Requests that read or change the state of name servers and brokers.

    >>> async def main() -> None:
    ...     async with Admin(namesrv=NAMESRV) as admin:
    ...         for broker in await admin.cluster.masters():
    ...             await admin.topics.create(broker, TopicConfig("invoices", 2, 2))
    ...         config = await admin.topics.config(broker, "invoices")
    ...         print(config.topic_name, config.write_queue_nums)
    >>> asyncio.run(main())
    invoices 2
    """

    def __init__(
        self,
        *,
        timeout_ms: int = ADMIN_TIMEOUT_MS,
        **arguments: Unpack[ClientArguments],
    ) -> None:
        super().__init__(ClientOptions(request_timeout_ms=timeout_ms), **arguments)
        self.cluster = ClusterAdmin(self.instance)
        self.topics = TopicAdmin(self.instance)
        self.groups = GroupAdmin(self.instance)
        self.offsets = OffsetAdmin(self.instance)
        self.messages = MessageAdmin(self.instance)
        self.clients = ClientAdmin(self.instance)
        self.brokers = BrokerAdmin(self.instance)
        self.broker_groups = BrokerGroupAdmin(self.instance)
        self.name_servers = NameServerAdmin(self.instance)
        self.traces = TraceReader(self.messages)
        self.access = AccessAdmin(self.instance)
