"""Parked long polls: who is woken by what, and that nothing stays behind."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from engine.broker.holds import Holds, Parked


def anything(arrival: object) -> bool:
    return True


def done() -> None:
    raise AssertionError("the table never calls this")


def parked(
    *keys: Hashable, until: int = 1000, client: str = "c", accepts: Callable[[object], bool] = anything
) -> Parked:
    return Parked(keys, until, accepts, client, done)


def test_an_arrival_wakes_those_who_accept_it() -> None:
    holds = Holds()
    small, large = parked("q", accepts=lambda n: n == 1), parked("q", accepts=lambda n: n == 2)
    holds.park(small)
    holds.park(large)
    assert holds.wake("other", 1) == []
    assert holds.wake("q", 1) == [small]
    assert holds.wake("q", 1) == []
    assert holds.wake("q", 2) == [large]
    assert "q" not in holds


def test_who_waits_for_several_queues_is_woken_once() -> None:
    holds = Holds()
    both = parked("q0", "q1")
    holds.park(both)
    assert holds.wake("q1", None) == [both]
    assert holds.wake("q0", None) == []
    assert holds.expire(10_000) == []
    assert len(holds) == 0


def test_time_is_up_after_the_deadline_and_not_before() -> None:
    holds = Holds()
    early, late = parked("q", until=1000), parked("q", until=3000)
    holds.park(late)
    holds.park(early)
    assert holds.expire(1000) == []
    assert holds.expire(1050) == [early]
    assert holds.expire(2999) == []
    assert holds.expire(9999) == [late]


def test_a_client_that_left_is_forgotten() -> None:
    holds = Holds()
    gone, stays = parked("q", client="gone"), parked("q", client="stays")
    holds.park(gone)
    holds.park(stays)
    assert holds.drop_client("gone") == [gone]
    assert holds.drop_client("gone") == []
    assert holds.wake("q", None) == [stays]


def test_all_are_released_at_the_end() -> None:
    holds = Holds()
    for n in range(3):
        holds.park(parked(n))
    assert len(holds.release_all()) == 3
    assert len(holds) == 0
