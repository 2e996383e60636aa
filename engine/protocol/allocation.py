"""How the queues of a topic are shared out among the consumers of a group.

Every consumer runs the same rule over the same two sorted lists and takes its own part, so no one has to
tell anybody anything; clients in other languages share groups with ours, hence the rules are exactly
RocketMQ's. Pure functions: (own client id, all queues sorted, all client ids sorted) → own queues. A client
that is not in the list yet (its heartbeat has not arrived) gets nothing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Sequence
from hashlib import md5

from engine.protocol.bodies.basics import MessageQueue

Queues = Sequence[MessageQueue]
Allocate = Callable[[str, Queues, Sequence[str]], list[MessageQueue]]

VIRTUAL_NODES = 10


def average(client_id: str, queues: Queues, client_ids: Sequence[str]) -> list[MessageQueue]:
    """AVG: contiguous blocks; the first `len(queues) % len(clients)` clients get one more."""
    if client_id not in client_ids:
        return []
    index, clients = client_ids.index(client_id), len(client_ids)
    size, rest = divmod(len(queues), clients)
    start = index * size + min(index, rest)
    return list(queues[start : start + size + (1 if index < rest else 0)])


def average_by_circle(client_id: str, queues: Queues, client_ids: Sequence[str]) -> list[MessageQueue]:
    """AVG_BY_CIRCLE: dealt like cards."""
    if client_id not in client_ids:
        return []
    return list(queues[client_ids.index(client_id) :: len(client_ids)])


def fixed(queues: Queues) -> Allocate:
    """CONFIG: this consumer takes these queues, whoever else there is."""
    chosen = list(queues)
    return lambda client_id, all_queues, client_ids: list(chosen)


def machine_room(rooms: Collection[str]) -> Allocate:
    """MACHINE_ROOM: only queues of brokers named `room@…` in these rooms; the first clients take the rest."""

    def allocate(client_id: str, queues: Queues, client_ids: Sequence[str]) -> list[MessageQueue]:
        if client_id not in client_ids:
            return []
        near = [queue for queue in queues if _is_in_room(queue.broker_name, rooms)]
        index = client_ids.index(client_id)
        size, rest = divmod(len(near), len(client_ids))
        own = near[index * size : (index + 1) * size]
        if index < rest:
            own.append(near[size * len(client_ids) + index])
        return own

    return allocate


def _is_in_room(broker_name: str, rooms: Collection[str]) -> bool:
    parts = broker_name.split("@")
    return len(parts) == 2 and parts[0] in rooms


def machine_room_nearby(
    inner: Allocate, room_of_broker: Callable[[str], str], room_of_client: Callable[[str], str]
) -> Allocate:
    """MACHINE_ROOM_NEARBY: each room's queues by `inner` among its own clients; queues of a room without
    any client are shared by all."""

    def allocate(client_id: str, queues: Queues, client_ids: Sequence[str]) -> list[MessageQueue]:
        if client_id not in client_ids:
            return []
        queues_by_room: dict[str, list[MessageQueue]] = {}
        for queue in queues:
            queues_by_room.setdefault(room_of_broker(queue.broker_name), []).append(queue)
        clients_by_room: dict[str, list[str]] = {}
        for member in client_ids:
            clients_by_room.setdefault(room_of_client(member), []).append(member)
        home = room_of_client(client_id)
        own = inner(client_id, queues_by_room.pop(home, []), clients_by_room[home])
        for room, orphans in sorted(queues_by_room.items()):
            if room not in clients_by_room:
                own += inner(client_id, orphans, client_ids)
        return own

    return allocate


def consistent_hash(virtual_nodes: int = VIRTUAL_NODES) -> Allocate:
    """CONSISTENT_HASH: clients on an MD5 ring; each queue belongs to the next node clockwise."""

    def allocate(client_id: str, queues: Queues, client_ids: Sequence[str]) -> list[MessageQueue]:
        if client_id not in client_ids:
            return []
        owner = {
            ring_hash(f"{member}-{replica}"): member
            for member in client_ids
            for replica in range(virtual_nodes)
        }
        ring = sorted(owner)

        def owner_of(queue: MessageQueue) -> str:
            place = bisect_left(ring, ring_hash(_queue_text(queue)))
            return owner[ring[place % len(ring)]]

        return [queue for queue in queues if owner_of(queue) == client_id]

    return allocate


def ring_hash(text: str) -> int:
    """The ring position of a text: the first four bytes of its MD5."""
    return int.from_bytes(md5(text.encode(), usedforsecurity=False).digest()[:4], "big")


def _queue_text(queue: MessageQueue) -> str:
    """What Java's MessageQueue prints as, since that is what its clients hash."""
    return f"MessageQueue [topic={queue.topic}, brokerName={queue.broker_name}, queueId={queue.queue_id}]"


STRATEGIES: dict[str, Allocate] = {
    "AVG": average,
    "AVG_BY_CIRCLE": average_by_circle,
    "CONSISTENT_HASH": consistent_hash(),
}
"""The strategies that need no setting, by RocketMQ's names."""
