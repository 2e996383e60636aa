"""What a promotion would lose at the front of the log, and who counts then."""

from __future__ import annotations

import orjson
import pytest
from msgspec.structs import replace

from engine.broker.failover.election import Vote, elect, front_loss, resume
from engine.broker.failover.group_state import (
    GroupState,
    InSyncSet,
    StaleEpoch,
    create_group,
    decide_start,
    from_json,
    take_start,
    to_json,
)
from engine.broker.failover.member_status import front_trouble, missing_from
from engine.broker.replication.in_sync_set import InSyncTable

MEMBERS = (0, 1, 2)


def vote(
    member_id: int,
    *,
    start: int = 0,
    unexpired: int | None = None,
    decided: int | None = 0,
    missing: int | None = None,
    epoch: int = 1,
    end: int = 1000,
    members: tuple[int, ...] = MEMBERS,
    min_in_sync: int = 2,
) -> Vote:
    in_sync = InSyncSet(epoch, 1, members, min_in_sync, members)
    return Vote(
        member_id=member_id,
        log_epoch=epoch,
        log_end=end,
        log_start=start,
        in_sync=in_sync,
        members=dict.fromkeys(map(str, members), ""),
        start_offset=decided,
        unexpired_from=start if unexpired is None else unexpired,
        missing_from=missing,
    )


def first_release(member_id: int, start: int = 0) -> Vote:
    return replace(vote(member_id, start=start), start_offset=None, unexpired_from=None)


def test_a_member_that_lacks_what_another_has_is_not_elected() -> None:
    """The lowest id would win among equals."""
    votes = [vote(0, start=300), vote(1), vote(2)]
    assert elect(votes).winner == 1
    refused = elect(votes, wanted=0)
    assert refused.winner is None
    assert "member 0 lacks 300 bytes at the front of the log" in refused.reason
    assert "member 1 has them" in refused.reason


def test_unclean_goes_on_and_says_what_is_lost() -> None:
    outcome = elect([vote(0, start=300), vote(1), vote(2)], wanted=0, is_unclean=True)
    assert outcome.winner == 0 and "lacks 300 bytes" in outcome.reason
    assert elect([vote(0, start=300), vote(1), vote(2)], is_unclean=True).winner == 1, "there is a better one"


def test_expired_messages_are_no_loss() -> None:
    assert front_loss(vote(0, start=300), [vote(0, start=300), vote(1, unexpired=300)], MEMBERS) is None
    some = front_loss(vote(0, start=300), [vote(0, start=300), vote(1, unexpired=200)], MEMBERS)
    assert some is not None and (some.begin, some.end) == (200, 300)


def test_what_the_master_decided_to_delete_is_no_loss() -> None:
    """Member 1 has not heard of it yet."""
    votes = [vote(0, start=300, decided=300), vote(1)]
    assert front_loss(votes[0], votes, MEMBERS) is None


def test_a_replaced_master_decides_nothing() -> None:
    votes = [vote(0, start=300, decided=300, epoch=1), vote(1, decided=100, epoch=2), vote(2, epoch=2)]
    loss = front_loss(votes[0], votes, MEMBERS)
    assert loss is not None and (loss.begin, loss.end, loss.holder) == (100, 300, 1)


def test_a_log_that_ends_before_is_no_holder() -> None:
    """It was away so long that everything it has is gone elsewhere, and its last segment never expires."""
    votes = [vote(0, start=600), vote(1, unexpired=200, end=200)]
    assert front_loss(votes[0], votes, MEMBERS) is None


def test_a_member_that_lacks_its_front_is_no_witness() -> None:
    alone = vote(1, start=300, missing=0, members=(0, 1))
    refused = elect([alone])
    assert refused.winner is None
    assert "member 0 did not answer and may have them" in refused.reason
    assert "0 of 2 members promised (not member 1, whose log lacks its front)" in refused.reason
    assert elect([alone], is_unclean=True).winner == 1
    assert elect([vote(1, members=(0, 1))]).winner == 1


def test_what_nobody_has_is_not_waited_for() -> None:
    votes = [vote(member, start=300, missing=0) for member in MEMBERS]
    assert elect(votes).winner == 0


def test_nobody_is_refused_for_what_the_first_release_may_have() -> None:
    votes = [vote(0, start=300), first_release(1), first_release(2)]
    assert elect(votes).winner == 0
    assert elect([first_release(0, 300), first_release(1)]).winner == 0


def test_a_restarted_master_without_its_front_does_not_resume() -> None:
    assert resume(0, True, [vote(0), vote(1)]).winner == 0
    assert resume(0, True, [vote(0, start=300, missing=0), vote(1), vote(2)]).winner == 1
    waits = resume(0, True, [vote(0, start=300, missing=0), vote(1, end=900)])
    assert waits.winner is None and "lacks 300 bytes" in waits.reason
    assert resume(0, True, [vote(0, start=300, missing=0, members=(0,), min_in_sync=1)]).winner == 0


@pytest.mark.parametrize(
    ("state", "start", "is_linked", "only_expired", "missing"),
    [
        (GroupState(), 500, True, False, None),
        (GroupState(start_offset=0), 0, True, False, None),
        (GroupState(start_offset=0), 500, True, False, 0),
        (GroupState(start_offset=0), 500, False, False, 0),
        (GroupState(start_offset=0), 500, False, True, None),
        (GroupState(start_offset=0), 500, True, True, 0),
        (GroupState(start_offset=0, needed_from=500), 500, True, False, None),
        (GroupState(start_offset=500), 500, True, False, None),
        (GroupState(start_offset=200, needed_from=300), 500, False, False, 300),
        (GroupState(start_offset=0, copied_from=500), 500, False, False, None),
    ],
)
def test_a_member_knows_what_it_lacks(
    state: GroupState, start: int, is_linked: bool, only_expired: bool, missing: int | None
) -> None:
    found_missing = missing_from(state, start, is_linked=is_linked, lacks_only_expired=only_expired)
    assert found_missing == missing
    assert bool(front_trouble(found_missing, start)) is (missing is not None)


FOUNDED = create_group(0, "a:1", 11, 2)


def test_a_masters_start_never_goes_back_and_its_slave_takes_any() -> None:
    decided = decide_start(FOUNDED, 1, 500, 700)
    assert (decided.start_offset, decided.needed_from) == (500, 700)
    assert decide_start(decided, 1, 300, 700) is decided
    with pytest.raises(StaleEpoch):
        decide_start(decided, 2, 900, 900)
    told = take_start(decided, 1, 300, 400)
    assert (told.start_offset, told.needed_from) == (300, 400)
    assert take_start(told, 1, 300, 400) is told
    assert take_start(told, 1, None, None).start_offset is None
    with pytest.raises(StaleEpoch):
        take_start(decided, 0, 300, 300)


def test_the_start_survives_its_file_and_is_unknown_in_one_of_before() -> None:
    decided = decide_start(FOUNDED, 1, 500, 700)
    content = orjson.loads(orjson.dumps(to_json(decided)))
    assert from_json(content) == decided
    del content["startOffset"], content["neededFrom"]
    assert from_json(content).start_offset is None


def _table() -> InSyncTable:
    members = {0: "a:1", 1: "b:1", 2: "c:1"}
    in_sync = replace(FOUNDED.in_sync, settled=(0, 1, 2))
    return InSyncTable(0, replace(FOUNDED, members=members, in_sync=in_sync), 2)


def test_a_slave_that_starts_too_late_joins_no_set_and_leaves_the_one_it_is_in() -> None:
    table = _table()
    for member, start in ((1, 500), (2, None)):
        table.connected(member, 0, start)
        table.acknowledged(member, 1000, 1000, 0)
    planned = table.plan(1000, 0, needed_from=499)
    assert planned is not None and planned.ids == (0, 2), "member 2 is of the first release"
    planned = table.plan(1000, 0, needed_from=500)
    assert planned is not None and planned.ids == (0, 1, 2)
    table.propose(planned, table.members)
    assert table.stored(1, planned.version) or table.stored(2, planned.version)
    table.starts_at(1, 600)
    shrunk = table.plan(1000, 0, needed_from=500)
    assert shrunk is not None and shrunk.ids == (0, 2)
