"""Which client may consume a queue in order, and whether a group pulls or pops. Pure; loop thread only.

Queue locks are leases of 60 s, renewed by each lock call: the same client may lock again, and an expired
lease may be taken by another. The request modes (401, 402) are kept in config/messageRequestMode.json.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.bodies.groups import MessageRequestModeSerializeWrapper, SetMessageRequestModeRequestBody
from engine.protocol.names import is_valid_group, is_valid_topic

LEASE_MS = 60_000


@dataclass(slots=True)
class _Lease:
    client_id: str
    renewed_ms: int


class QueueLocks:
    def __init__(self) -> None:
        self._leases: dict[str, dict[MessageQueue, _Lease]] = {}

    def lock(
        self, group: str, client_id: str, queues: Iterable[MessageQueue], now_ms: int
    ) -> list[MessageQueue]:
        """Those of `queues` that the client holds now."""
        leases = self._leases.setdefault(group, {})
        held: list[MessageQueue] = []
        for queue in queues:
            lease = leases.get(queue)
            if lease is None or lease.client_id == client_id or now_ms - lease.renewed_ms > LEASE_MS:
                leases[queue] = _Lease(client_id, now_ms)
                held.append(queue)
        if not leases:
            del self._leases[group]
        return held

    def unlock(self, group: str, client_id: str, queues: Iterable[MessageQueue]) -> None:
        leases = self._leases.get(group, {})
        for queue in queues:
            lease = leases.get(queue)
            if lease is not None and lease.client_id == client_id:
                del leases[queue]
        if not leases:
            self._leases.pop(group, None)

    def has_live_lease(self, group: str, now_ms: int) -> bool:
        """Whether the group consumes in order (decides about its retries)."""
        leases = self._leases.get(group, {})
        return any(now_ms - lease.renewed_ms <= LEASE_MS for lease in leases.values())

    def expire(self, now_ms: int) -> None:
        """Delete leases that are no longer renewed, so that the table does not grow."""
        for group, leases in list(self._leases.items()):
            for queue in [queue for queue, lease in leases.items() if now_ms - lease.renewed_ms > LEASE_MS]:
                del leases[queue]
            if not leases:
                del self._leases[group]


REQUEST_MODES_FILE = "messageRequestMode.json"


class RequestModes:
    def __init__(self, stored: MessageRequestModeSerializeWrapper | None = None) -> None:
        self._modes: dict[str, dict[str, SetMessageRequestModeRequestBody]] = {}
        self.adopt(stored)

    def adopt(self, stored: MessageRequestModeSerializeWrapper | None) -> None:
        """Also what a slave takes from its master."""
        self._modes = {}
        for topic, groups in (
            stored or MessageRequestModeSerializeWrapper()
        ).message_request_mode_map.items():
            for group, mode in groups.items():
                if is_valid_topic(topic) and is_valid_group(group):
                    self._modes.setdefault(topic, {})[group] = mode

    def get(self, topic: str, group: str) -> SetMessageRequestModeRequestBody | None:
        return self._modes.get(topic, {}).get(group)

    def put(self, mode: SetMessageRequestModeRequestBody) -> None:
        self._modes.setdefault(mode.topic, {})[mode.consumer_group] = mode

    def snapshot(self) -> MessageRequestModeSerializeWrapper:
        """What the file holds, and the answer to 402."""
        return MessageRequestModeSerializeWrapper(
            {topic: dict(modes) for topic, modes in self._modes.items()}
        )
