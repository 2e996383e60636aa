"""What to drop and what to add."""

from __future__ import annotations

from engine.client.consuming.rebalance import decide
from engine.protocol.bodies.basics import MessageQueue

A0, A1, A2 = (MessageQueue("a", "broker", number) for number in range(3))
B0 = MessageQueue("b", "broker", 0)


def test_what_is_held_and_assigned_stays() -> None:
    drop, add = decide([A0, A1], {"a": [A1, A2]})
    assert (drop, add) == ([A0], [A2])


def test_a_topic_that_could_not_be_asked_keeps_its_queues() -> None:
    drop, add = decide([A0, B0], {"a": None, "b": []})
    assert (drop, add) == ([B0], [])


def test_queues_of_a_topic_no_longer_subscribed_are_dropped() -> None:
    drop, add = decide([A0, B0], {"a": [A0]})
    assert (drop, add) == ([B0], [])


def test_nothing_to_do_is_nothing() -> None:
    drop, add = decide([A0], {"a": [A0]})
    assert (drop, add) == ([], [])
