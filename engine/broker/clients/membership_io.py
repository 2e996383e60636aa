"""Notifies the members of a group of a change, so that they rebalance its queues (code 40, one-way).

Also handles closed connections: their clients leave every group at once.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.broker.clients.client_tables import ConsumerTable, ProducerTable
from engine.broker.groups.group_table import SubscriptionGroupTable
from engine.broker.settings.options import LiveOptions
from engine.net.connection import Connection
from engine.protocol.bodies.clients import MessageModel
from engine.protocol.codes import RequestCode
from engine.protocol.commands import Command
from engine.protocol.headers.groups import NotifyConsumerIdsChangedRequest

_WATCHED = "broker.is_watched"


@dataclass(eq=False, repr=False)
class Membership:
    consumers: ConsumerTable[Connection]
    producers: ProducerTable[Connection]
    groups: SubscriptionGroupTable
    live: LiveOptions

    def watch(self, client: Connection) -> None:
        if _WATCHED not in client.tags:
            client.tags[_WATCHED] = True
            client.on_close(self._left)

    def notify(self, group: str) -> None:
        """All members, unless they broadcast and so have nothing to rebalance."""
        members = self.consumers.group(group)
        config = self.groups.get(group)
        if members is None or members.message_model is MessageModel.BROADCASTING:
            return
        if not self.live.notify_consumer_ids_changed_enable:
            return
        if config is not None and not config.notify_consumer_ids_changed_enable:
            return
        fields = NotifyConsumerIdsChangedRequest(group).encode()
        for client in list(members.clients):
            client.send_oneway(Command(RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, fields=fields))

    def _left(self, client: Connection) -> None:
        self.producers.drop_channel(client)
        for group in self.consumers.drop_channel(client):
            self.notify(group)

    def close_expired(self, now_ms: int) -> None:
        """Close the connections of clients without heartbeats, which unregisters them."""
        for client in {*self.consumers.expired(now_ms), *self.producers.expired(now_ms)}:
            client.close()
