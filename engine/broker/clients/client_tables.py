"""Consumers and producers by group, as their heartbeats report them: channels, subscriptions, modes.

Pure: a channel is any hashable value (the connection, for the broker), time is passed in. The methods return
what changed; the caller notifies the members. A group exists as long as it has a channel. Loop thread only.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from engine.protocol.bodies.clients import (
    ConsumeFromWhere,
    ConsumerData,
    ConsumeType,
    MessageModel,
    SubscriptionData,
)

CLIENT_EXPIRY_MS = 120_000

C = TypeVar("C", bound=Hashable)


@dataclass(slots=True)
class ClientInfo:
    """One client behind one channel."""

    client_id: str
    language: int
    version: int
    last_update_ms: int


@dataclass(slots=True)
class ConsumerGroup(Generic[C]):
    name: str
    consume_type: ConsumeType
    message_model: MessageModel
    consume_from_where: ConsumeFromWhere
    clients: dict[C, ClientInfo] = field(default_factory=dict)
    subscriptions: dict[str, SubscriptionData] = field(default_factory=dict)

    def client_ids(self) -> list[str]:
        return list(dict.fromkeys(info.client_id for info in self.clients.values()))

    def channel_of(self, client_id: str) -> C | None:
        return next((channel for channel, info in self.clients.items() if info.client_id == client_id), None)

    def update_client(self, channel: C, client: ClientInfo) -> bool:
        """True when the membership changed: a new channel, or another client behind a known one."""
        known = self.clients.get(channel)
        self.clients[channel] = client
        return known is None or known.client_id != client.client_id

    def update_subscriptions(self, wanted: Iterable[SubscriptionData]) -> bool:
        """True when a topic was added or removed; a newer version of a known one just replaces it."""
        before = self.subscriptions.keys()
        after: dict[str, SubscriptionData] = {}
        for data in wanted:
            known = after.get(data.topic) or self.subscriptions.get(data.topic)
            after[data.topic] = data if known is None or data.sub_version > known.sub_version else known
        changed = before != after.keys()
        self.subscriptions = after
        return changed


class ConsumerTable(Generic[C]):
    def __init__(self) -> None:
        self._groups: dict[str, ConsumerGroup[C]] = {}
        self._groups_of: dict[C, set[str]] = {}
        self._changed: set[str] = set()

    def group(self, name: str) -> ConsumerGroup[C] | None:
        return self._groups.get(name)

    def names(self) -> list[str]:
        return list(self._groups)

    def groups_reading(self, topic: str) -> list[str]:
        return [name for name, group in self._groups.items() if topic in group.subscriptions]

    def subscription(self, group: str, topic: str) -> SubscriptionData | None:
        found = self._groups.get(group)
        return None if found is None else found.subscriptions.get(topic)

    def register(
        self, data: ConsumerData, subscriptions: Iterable[SubscriptionData], channel: C, client: ClientInfo
    ) -> bool:
        """A full heartbeat of one consumer; True when the group's members should be notified."""
        group = self._groups.get(data.group_name)
        if group is None:
            group = ConsumerGroup(
                data.group_name, data.consume_type, data.message_model, data.consume_from_where
            )
            self._groups[data.group_name] = group
        group.consume_type = data.consume_type
        group.message_model = data.message_model
        group.consume_from_where = data.consume_from_where
        self._groups_of.setdefault(channel, set()).add(data.group_name)
        self._changed.add(data.group_name)
        joined = group.update_client(channel, client)
        return group.update_subscriptions(subscriptions) or joined

    def touch(self, name: str, channel: C, client: ClientInfo) -> bool:
        """A heartbeat without subscriptions; True: the client must send a full one."""
        group = self._groups.get(name)
        known = None if group is None else group.clients.get(channel)
        if known is None or known.client_id != client.client_id:
            return True
        known.last_update_ms = client.last_update_ms
        return False

    def drop_channel(self, channel: C) -> list[str]:
        """The channel is closed; returns the groups that lost a member."""
        return [name for name in self._groups_of.pop(channel, set()) if self.unregister(name, channel)]

    def take_changed(self) -> set[str]:
        """The groups whose members or subscriptions may have changed since the last call."""
        changed, self._changed = self._changed, set()
        return changed

    def expired(self, now_ms: int) -> list[C]:
        return _expired((group.clients for group in self._groups.values()), now_ms)

    def unregister(self, name: str, channel: C) -> bool:
        """The client behind the channel leaves the group; True when it was a member."""
        group = self._groups.get(name)
        if group is None or group.clients.pop(channel, None) is None:
            return False
        self._changed.add(name)
        if not group.clients:
            del self._groups[name]
        memberships = self._groups_of.get(channel)
        if memberships is not None:
            memberships.discard(name)
            if not memberships:
                del self._groups_of[channel]
        return True


class ProducerTable(Generic[C]):
    def __init__(self) -> None:
        self._groups: dict[str, dict[C, ClientInfo]] = {}
        self._groups_of: dict[C, set[str]] = {}
        self._channels: dict[str, C] = {}
        """By client id; the latest when several connections say the same."""

    def names(self) -> list[str]:
        return list(self._groups)

    def clients(self, group: str) -> dict[C, ClientInfo]:
        """A copy: channel to client."""
        return dict(self._groups.get(group, {}))

    def channel_of(self, client_id: str) -> C | None:
        return self._channels.get(client_id)

    def register(self, group: str, channel: C, client: ClientInfo) -> None:
        self._groups.setdefault(group, {})[channel] = client
        self._groups_of.setdefault(channel, set()).add(group)
        self._channels[client.client_id] = channel

    def drop_channel(self, channel: C) -> None:
        for group in list(self._groups_of.get(channel, ())):
            self.unregister(group, channel)

    def expired(self, now_ms: int) -> list[C]:
        return _expired(self._groups.values(), now_ms)

    def unregister(self, group: str, channel: C) -> None:
        members = self._groups.get(group, {})
        client = members.pop(channel, None)
        if not members:
            self._groups.pop(group, None)
        memberships = self._groups_of.get(channel, set())
        memberships.discard(group)
        if not memberships:
            self._groups_of.pop(channel, None)
            if client is not None and self._channels.get(client.client_id) is channel:
                del self._channels[client.client_id]


def _expired(groups: Iterable[dict[C, ClientInfo]], now_ms: int) -> list[C]:
    """Channels without a heartbeat for too long."""
    return [
        channel
        for clients in groups
        for channel, info in clients.items()
        if now_ms - info.last_update_ms > CLIENT_EXPIRY_MS
    ]
