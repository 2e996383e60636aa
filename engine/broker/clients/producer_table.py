"""Who produces in which group, as the heartbeats say. Pure: channels are any hashable, time is passed in."""

from __future__ import annotations

from typing import Generic

from engine.broker.clients.consumer_table import CLIENT_EXPIRY_MS, C, ClientInfo


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

    def unregister(self, group: str, channel: C) -> None:
        self._remove(group, channel)

    def drop_channel(self, channel: C) -> None:
        for group in list(self._groups_of.get(channel, ())):
            self._remove(group, channel)

    def expired(self, now_ms: int) -> list[C]:
        return [
            channel
            for members in self._groups.values()
            for channel, info in members.items()
            if now_ms - info.last_update_ms > CLIENT_EXPIRY_MS
        ]

    def _remove(self, group: str, channel: C) -> None:
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
