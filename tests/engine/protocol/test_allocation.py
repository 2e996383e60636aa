"""Allocation strategies: golden values worked out by RocketMQ's rules."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.protocol.allocation import (
    STRATEGIES,
    Allocate,
    average,
    average_by_circle,
    consistent_hash,
    fixed,
    machine_room,
    machine_room_nearby,
    ring_hash,
)
from engine.protocol.bodies.basics import MessageQueue


def queues(count: int, broker_name: str = "broker-a") -> list[MessageQueue]:
    return [MessageQueue("topic", broker_name, queue_id) for queue_id in range(count)]


def ids(allocated: list[MessageQueue]) -> list[int]:
    return [queue.queue_id for queue in allocated]


def shares(allocate: Allocate, all_queues: list[MessageQueue], clients: list[str]) -> list[list[int]]:
    return [ids(allocate(client, all_queues, clients)) for client in clients]


@pytest.mark.parametrize(
    ("queue_count", "client_count", "expected"),
    [
        (8, 3, [[0, 1, 2], [3, 4, 5], [6, 7]]),
        (4, 2, [[0, 1], [2, 3]]),
        (2, 4, [[0], [1], [], []]),
        (3, 3, [[0], [1], [2]]),
        (10, 4, [[0, 1, 2], [3, 4, 5], [6, 7], [8, 9]]),
        (0, 2, [[], []]),
    ],
)
def test_average_gives_contiguous_blocks(
    queue_count: int, client_count: int, expected: list[list[int]]
) -> None:
    clients = [f"c{number}" for number in range(client_count)]
    assert shares(average, queues(queue_count), clients) == expected


def test_circle_deals_like_cards() -> None:
    assert shares(average_by_circle, queues(8), ["a", "b", "c"]) == [[0, 3, 6], [1, 4, 7], [2, 5]]


def test_a_client_that_is_not_listed_gets_nothing() -> None:
    for allocate in (*STRATEGIES.values(), machine_room({"r"})):
        assert allocate("stranger", queues(4), ["a", "b"]) == []


def test_config_takes_its_list_whoever_else_there_is() -> None:
    assert ids(fixed(queues(2))("anyone", queues(8), ["a", "b"])) == [0, 1]


def test_machine_room_looks_at_its_rooms_only_and_deals_the_rest_to_the_first() -> None:
    near, far = queues(5, "east@broker-a"), queues(3, "west@broker-b")
    allocate = machine_room({"east"})
    result = shares(allocate, near + far + queues(2, "no-room"), ["a", "b"])
    assert result == [[0, 1, 4], [2, 3]]


def test_nearby_shares_a_rooms_queues_among_its_clients_and_orphans_among_all() -> None:
    room_of = {"east": "E", "west": "W", "north": "N"}
    allocate = machine_room_nearby(
        average, lambda broker: room_of[broker.split("-")[0]], lambda client: client.split("-")[0]
    )
    everything = queues(4, "east-1") + queues(2, "west-1") + queues(3, "north-1")
    clients = ["E-1", "E-2", "W-1"]
    own = {client: allocate(client, everything, clients) for client in clients}
    assert [(q.broker_name, q.queue_id) for q in own["E-1"]] == [("east-1", 0), ("east-1", 1), ("north-1", 0)]
    assert [(q.broker_name, q.queue_id) for q in own["E-2"]] == [("east-1", 2), ("east-1", 3), ("north-1", 1)]
    assert [(q.broker_name, q.queue_id) for q in own["W-1"]] == [("west-1", 0), ("west-1", 1), ("north-1", 2)]


def test_ring_hash_is_the_first_four_bytes_of_md5() -> None:
    # md5("") = d41d8cd98f00b204e9800998ecf8427e
    assert ring_hash("") == 0xD41D8CD9


def test_consistent_hash_moves_only_the_queues_of_a_client_that_left() -> None:
    allocate = consistent_hash()
    clients = [f"10.0.0.{number}@1" for number in range(4)]
    before = {queue: c for c in clients for queue in allocate(c, queues(64), clients)}
    left = clients[:3]
    after = {queue: c for c in left for queue in allocate(c, queues(64), left)}
    assert len(before) == len(after) == 64
    assert all(after[queue] == owner for queue, owner in before.items() if owner in left)


@given(st.integers(0, 40), st.integers(1, 12), st.sampled_from(sorted(STRATEGIES)))
def test_every_queue_has_exactly_one_owner(queue_count: int, client_count: int, name: str) -> None:
    clients = sorted(f"client-{number}" for number in range(client_count))
    every = queues(queue_count)
    owned = [queue for client in clients for queue in STRATEGIES[name](client, every, clients)]
    assert sorted(owned) == every
