"""Whom acknowledgements wait for, and when that may change."""

from __future__ import annotations

from msgspec.structs import replace

from engine.broker.failover.group_state import InSyncSet, create_group
from engine.broker.replication.in_sync_set import InSyncTable

MEMBERS = {0: "a:1", 1: "b:1", 2: "c:1"}


def table(min_in_sync: int = 2, members: dict[int, str] | None = None) -> InSyncTable:
    state = create_group(0, "a:1", 11, min_in_sync)
    in_sync = replace(state.in_sync, settled=tuple(members or MEMBERS))
    return InSyncTable(0, replace(state, members=members or MEMBERS, in_sync=in_sync), min_in_sync)


def joined(made: InSyncTable, member_id: int, end: int, now_ms: int = 0) -> None:
    made.connected(member_id, now_ms)
    made.acknowledged(member_id, end, end, now_ms)


def change(made: InSyncTable, end: int, now_ms: int = 0) -> InSyncSet:
    planned = made.plan(end, now_ms)
    assert planned is not None
    made.propose(planned, made.members)
    return planned


def in_sync_with(*slaves: int, end: int = 100) -> InSyncTable:
    made = table()
    for slave in slaves:
        joined(made, slave, end)
    planned = change(made, end)
    for slave in slaves:
        made.stored(slave, planned.version)
    assert made.current.ids == (0, *slaves)
    return made


def test_alone_with_two_needed_nothing_is_confirmed() -> None:
    made = table()
    assert not made.is_enough()
    assert made.confirmed(100) == 0


def test_alone_with_one_needed_all_is_confirmed() -> None:
    assert table(min_in_sync=1).confirmed(100) == 100


def test_a_slave_that_caught_up_joins_and_is_waited_for_at_once() -> None:
    made = table(min_in_sync=1)
    joined(made, 1, 100)
    change(made, 100)
    assert made.current.ids == (0,)
    assert made.waited_for() == {0, 1}
    assert made.confirmed(150) == 100


def test_the_set_counts_once_its_members_have_stored_it() -> None:
    made = table()
    joined(made, 1, 100)
    planned = change(made, 100)
    assert not made.is_enough()
    assert not made.stored(1, planned.version - 1)
    assert made.stored(1, planned.version)
    assert made.is_enough() and made.confirmed(120) == 100


def test_the_confirmed_offset_is_the_least_log_end() -> None:
    made = in_sync_with(1, 2)
    made.acknowledged(1, 180, 200, 1)
    made.acknowledged(2, 150, 200, 1)
    assert made.confirmed(200) == 150
    assert made.reached(2, 200) == 180 and made.reached(3, 200) == 150 and made.reached(4, 200) == -1


def test_a_member_that_falls_behind_leaves_only_after_the_others_know() -> None:
    made = in_sync_with(1, 2)
    for now_ms in (5_000, 10_000, 16_000):
        made.acknowledged(1, 100 + now_ms, 100 + now_ms, now_ms)
    assert made.plan(20_000, 14_999) is None
    planned = change(made, 20_000, 16_000)
    assert planned.ids == (0, 1)
    assert made.confirmed(16_100) == 100, "2 still holds it back"
    assert made.stored(1, planned.version)
    assert made.confirmed(16_100) == 16_100


def test_one_that_keeps_pace_a_little_behind_stays() -> None:
    made = in_sync_with(1)
    for second in range(1, 40):
        made.acknowledged(1, second * 1000 - 900, second * 1000, second * 1000)
    assert made.plan(40_000, 40_000) is None


def test_a_slave_of_an_older_term_confirms_nothing() -> None:
    state = create_group(0, "a:1", 11, 1)
    in_sync = replace(state.in_sync, settled=(0, 1, 2))
    state = replace(
        state, members=MEMBERS, in_sync=in_sync, history=(*state.history, replace(state.history[0], number=2))
    )
    state = replace(state, epoch=2, history=(state.history[0], replace(state.history[1], start_offset=500)))
    made = InSyncTable(0, state, 1)
    joined(made, 1, 400)
    assert made.plan(500, 0) is not None or made.waited_for() == {0}
    assert 1 not in (made.plan(500, 0) or state.in_sync).ids


def test_a_stranger_is_in_no_set_until_the_longer_list_is_known() -> None:
    made = table(members={0: "a:1", 1: "b:1"})
    joined(made, 2, 100)
    assert 2 not in (made.plan(100, 0) or made.current).ids
    longer = made.plan_members(2, "c:1")
    assert longer == MEMBERS
    proposal = replace(made.current, version=made.current.version + 1)
    made.propose(proposal, MEMBERS)
    assert 2 not in made.members, "only one of the two that must know has stored it"
    made.stored(2, proposal.version)
    assert 2 not in made.members, "the newcomer itself does not count"
    assert made.stored(1, proposal.version) and 2 in made.members


def test_a_lower_minimum_counts_once_enough_members_know() -> None:
    made = in_sync_with(1)
    made.min_in_sync = 1
    planned = change(made, 100)
    assert planned.min_in_sync == 1 and made.current.min_in_sync == 2
    assert made.stored(1, planned.version) and made.current.min_in_sync == 1


def test_slaves_of_rocketmq_count_but_are_in_no_set() -> None:
    made = table(min_in_sync=1)
    made.plain["10.0.0.9:5"] = 90
    assert made.has_slaves() and made.waited_for() == {0}
    assert made.reached(2, 100) == 90 and made.confirmed(100) == 100


def test_a_list_that_too_few_know_does_not_count_in_the_next_term() -> None:
    """The last master wished for member 2 and died; whether anybody heard of it is unknown."""
    state = create_group(0, "a:1", 11, 2)
    in_sync = replace(state.in_sync, settled=(0, 1))
    made = InSyncTable(0, replace(state, members=MEMBERS, in_sync=in_sync), 2)
    assert set(made.members) == {0, 1}
    joined(made, 2, 0)
    assert 2 not in (made.plan(0, 0) or made.current).ids
    assert made.pending is not None
    assert made.stored(1, made.pending[0].version) and set(made.members) == {0, 1, 2}


def test_what_a_slave_said_before_it_came_again_counts_no_more() -> None:
    """Its store may have been emptied meanwhile."""
    made = in_sync_with(1)
    assert made.confirmed(200) == 100
    made.left(1)
    made.connected(1, 5)
    made.acknowledged(1, 10, 200, 5)
    assert made.confirmed(200) == 100, "where it was"
    made.acknowledged(1, 150, 200, 6)
    assert made.confirmed(200) == 150
