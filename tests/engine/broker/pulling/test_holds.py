"""Parked long polls: who is woken by what, and that nothing stays behind."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

from engine.broker.pulling.long_polls import ALL_QUEUES, NOT_PARKED, Holds
from engine.net.outcomes import Outcome


def anything(arrival: object) -> bool:
    return True


@dataclass(frozen=True, eq=False)
class Large:
    """A filter that counts."""

    weight: int


class Wish:
    """What a long poll waits for."""

    def __init__(
        self, keys: tuple[Hashable, ...], accepts: Callable[[object], bool], shared: Large | None
    ) -> None:
        self._keys = keys
        self._accepts = accepts
        self.shared = shared

    def parked_under(self) -> tuple[Hashable, ...]:
        return self._keys

    def accepts(self, arrival: object) -> bool:
        return self._accepts(arrival)

    def resume(self) -> Outcome:
        raise AssertionError("the table never calls this")


class Request:
    """One that waits."""

    def __init__(
        self,
        *keys: Hashable,
        client: Hashable = "c",
        accepts: Callable[[object], bool] = anything,
        shared: Large | None = None,
    ) -> None:
        self.poll = Wish(keys, accepts, shared)
        self.client = client
        self.due = NOT_PARKED

    def done(self) -> None:
        raise AssertionError("the table never calls this")


def park(
    holds: Holds,
    *keys: Hashable,
    until: int = 1000,
    client: Hashable = "c",
    accepts: Callable[[object], bool] = anything,
    shared: Large | None = None,
) -> Request:
    request = Request(*keys, client=client, accepts=accepts, shared=shared)
    holds.park(request, until)
    return request


def assert_empty(holds: Holds) -> None:
    """Nothing of what was parked is still there."""
    assert len(holds) == holds.weight == 0
    assert not (holds._by_key or holds._by_client or holds._by_slice)
    assert not (holds._shared or holds._shared_weights)


def test_an_arrival_wakes_those_who_accept_it() -> None:
    holds = Holds()
    small = park(holds, ("q", 0), accepts=lambda n: n == 1)
    large = park(holds, ("q", 0), accepts=lambda n: n == 2)
    assert holds.wake(("other", 0), 1) == []
    assert holds.wake(("q", 0), 1) == [small]
    assert holds.wake(("q", 0), 1) == []
    assert holds.wake(("q", 0), 2) == [large]
    assert ("q", 0) not in holds
    assert_empty(holds)


def test_who_waits_for_several_queues_is_woken_once() -> None:
    holds = Holds()
    both = park(holds, "q0", "q1")
    assert holds.wake("q1", None) == [both]
    assert holds.wake("q0", None) == []
    assert holds.expire(10_000) == []
    assert_empty(holds)


def test_who_waits_for_all_queues_of_a_topic_is_found_at_each() -> None:
    holds = Holds()
    assert ("orders", 3) not in holds
    everywhere = park(holds, ("orders", ALL_QUEUES))
    at_three = park(holds, ("orders", 3))
    assert ("orders", 3) in holds
    assert ("orders", 7) in holds
    assert ("others", 3) not in holds
    assert holds.at_queue("orders", 3) == [at_three, everywhere]
    assert holds.at_queue("orders", 7) == [everywhere]


def test_who_was_woken_meanwhile_is_not_woken_again() -> None:
    holds = Holds()
    first, second = park(holds, "q"), park(holds, "q")
    waiting = holds.at("q")
    assert holds.wake_among(waiting[:1], None) == [first]
    assert holds.wake_among(waiting, None) == [second]


def test_time_is_up_after_the_deadline_and_not_before() -> None:
    holds = Holds()
    late, early = park(holds, "q", until=3000), park(holds, "q", until=1000)
    assert holds.expire(1000) == []
    assert holds.expire(1050) == [early]
    assert holds.expire(2999) == []
    assert holds.expire(9999) == [late]
    assert_empty(holds)


def test_those_whose_time_is_up_are_told_in_the_order_of_their_deadlines() -> None:
    holds = Holds()
    late, early = park(holds, "q", until=3000), park(holds, "q", until=1000)
    assert holds.expire(9999) == [early, late]


def test_a_client_that_left_is_forgotten() -> None:
    holds = Holds()
    gone, stays = park(holds, "q", client="gone"), park(holds, "q", client="stays")
    assert holds.drop_client("gone") == [gone]
    assert holds.drop_client("gone") == []
    assert holds.wake("q", None) == [stays]
    assert_empty(holds)


def test_who_has_the_most_is_thinned_out_first_and_its_oldest_first() -> None:
    holds = Holds()
    many = [park(holds, "q", client="many") for _ in range(6)]
    few = [park(holds, "q", client="few") for _ in range(2)]
    assert holds.thin_out(5) == many[:3]
    assert holds.at("q") == many[3:] + few


def test_large_ones_count_as_many_and_go_first() -> None:
    holds = Holds()
    small = [park(holds, "q", client="small") for _ in range(6)]
    large = [park(holds, "q", client="large", shared=Large(9)) for _ in range(2)]
    assert (len(holds), holds.weight) == (8, 26)
    assert (holds.weight_of("small"), holds.weight_of("large")) == (6, 20)
    assert holds.thin_out(20) == large[:1], "it has more than its share of ten"
    assert holds.weight_of("large") == 10
    assert holds.at("q") == [*small, large[1]]
    holds.release_all()
    assert_empty(holds)


def test_what_holds_of_a_client_share_counts_once() -> None:
    holds, large = Holds(), Large(9)
    first, second = (park(holds, "q", client="a", shared=large) for _ in range(2))
    park(holds, "q", client="b", shared=large)
    assert (holds.weight_of("a"), holds.weight_of("b"), holds.weight) == (11, 10, 21)
    holds.release([first])
    assert (holds.weight_of("a"), holds.weight) == (10, 20)
    holds.release([second])
    assert (holds.weight_of("a"), holds.weight) == (0, 10)
    holds.release_all()
    assert_empty(holds)


def test_all_are_released_at_the_end() -> None:
    holds = Holds()
    for n in range(3):
        park(holds, n)
    assert len(holds.release_all()) == 3
    assert_empty(holds)
