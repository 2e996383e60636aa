"""Queue locks: one holder at a time, leases of a minute."""

from __future__ import annotations

from engine.broker.clients.queue_assignment import LEASE_MS, QueueLocks
from engine.protocol.bodies.basics import MessageQueue

Q0, Q1 = MessageQueue("t", "b", 0), MessageQueue("t", "b", 1)


def test_a_queue_has_one_holder() -> None:
    locks = QueueLocks()
    assert locks.lock("g", "a", [Q0, Q1], 0) == [Q0, Q1]
    assert locks.lock("g", "b", [Q0, Q1], 10) == []
    assert locks.lock("g", "a", [Q0], 20) == [Q0]
    assert locks.lock("other", "b", [Q0], 20) == [Q0]


def test_an_expired_lease_may_be_taken() -> None:
    locks = QueueLocks()
    locks.lock("g", "a", [Q0], 0)
    assert locks.lock("g", "b", [Q0], LEASE_MS) == []
    assert locks.lock("g", "b", [Q0], LEASE_MS + 1) == [Q0]
    assert locks.lock("g", "a", [Q0], LEASE_MS + 2) == []


def test_a_lease_lasts_a_minute_from_its_last_renewal() -> None:
    locks = QueueLocks()
    locks.lock("g", "a", [Q0], 0)
    locks.lock("g", "a", [Q0], 30_000)
    assert locks.lock("g", "b", [Q0], 90_000) == []
    assert locks.lock("g", "b", [Q0], 90_001) == [Q0]


def test_only_the_holder_unlocks() -> None:
    locks = QueueLocks()
    locks.lock("g", "a", [Q0], 0)
    locks.unlock("g", "b", [Q0])
    assert locks.lock("g", "b", [Q0], 1) == []
    locks.unlock("g", "a", [Q0])
    assert locks.lock("g", "b", [Q0], 2) == [Q0]


def test_forgotten_leases_leave_nothing_behind() -> None:
    locks = QueueLocks()
    locks.lock("g", "a", [Q0], 0)
    assert locks.has_live_lease("g", LEASE_MS)
    locks.expire(LEASE_MS + 1)
    assert not locks.has_live_lease("g", LEASE_MS + 1)
    assert locks.lock("g", "b", [], 0) == []
