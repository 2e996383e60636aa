"""Who may become master."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from engine.broker.failover.election import Vote, elect, needed_promises, resume
from engine.broker.failover.group_state import InSyncSet

THREE = (0, 1, 2)


def vote(
    member_id: int,
    log_end: int,
    *,
    epoch: int = 1,
    ids: tuple[int, ...] = (0, 1, 2),
    version: int = 1,
    min_in_sync: int = 2,
    copied_from: int = 0,
    members: tuple[int, ...] = THREE,
    whole_at: int = 0,
) -> Vote:
    in_sync = InSyncSet(epoch, version, ids, min_in_sync, members)
    return Vote(
        member_id=member_id,
        log_epoch=epoch,
        log_end=log_end,
        copied_from=copied_from,
        in_sync=in_sync,
        members=dict.fromkeys(map(str, members), ""),
        whole_at=whole_at,
    )


def emptied(member_id: int) -> Vote:
    """Of a member whose disk is new: it knows no group."""
    return Vote(member_id=member_id)


@pytest.mark.parametrize(
    ("members", "min_in_sync", "needed"), [(2, 2, 1), (2, 1, 2), (3, 2, 2), (3, 3, 1), (3, 1, 3), (1, 2, 1)]
)
def test_one_of_those_that_promise_has_every_acknowledged_message(
    members: int, min_in_sync: int, needed: int
) -> None:
    assert needed_promises(members, min_in_sync) == needed


def test_the_longest_log_wins_and_ties_go_to_the_lowest_id() -> None:
    assert elect([vote(1, 500), vote(2, 400)]).winner == 1
    assert elect([vote(2, 500), vote(1, 500)]).winner == 1


def test_a_newer_epoch_beats_a_longer_log() -> None:
    assert elect([vote(1, 900, epoch=1), vote(2, 400, epoch=2)]).winner == 2


def test_the_wanted_member_wins_among_equals_only() -> None:
    assert elect([vote(1, 500), vote(2, 500)], wanted=2).winner == 2
    refused = elect([vote(1, 500), vote(2, 400)], wanted=2)
    assert refused.winner is None and "only the longest log may win" in refused.reason
    assert elect([vote(1, 500), vote(2, 500)], wanted=0).reason == "member 0 did not answer"


def test_the_trap_of_three_one_that_was_dropped_cannot_win_alone() -> None:
    """0 dropped 2 from the set, acknowledged with 1, and died; 1 does not answer."""
    refused = elect([vote(2, 400)])
    assert refused.winner is None and "1 of 3 members promised and 2 are needed" in refused.reason
    unclean = elect([vote(2, 400)], is_unclean=True)
    assert unclean.winner == 2 and "may hold acknowledged messages" in unclean.reason


def test_who_was_dropped_does_not_win_over_the_set_either() -> None:
    kept = vote(1, 400, ids=(0, 1), version=2)
    assert elect([kept, vote(2, 400)]).winner == 1
    outside = elect([vote(1, 300, ids=(0, 1), version=2), vote(2, 400)])
    assert outside.winner is None and "not in the newest in-sync set" in outside.reason


def test_a_copy_without_the_beginning_is_never_master() -> None:
    refused = elect([vote(1, 500, copied_from=200), vote(2, 400)], is_unclean=True)
    assert refused.winner is None and "copied it only from offset 200" in refused.reason


def test_a_master_resumes_when_nobody_knows_more() -> None:
    assert resume(0, True, [vote(0, 500), vote(1, 500)]).winner == 0
    assert resume(0, True, [vote(0, 500, min_in_sync=1)]).winner == 0
    assert "2 are needed" in resume(0, True, [vote(0, 500)]).reason


def test_with_two_of_two_needed_nobody_resumes_alone() -> None:
    alone = [vote(0, 500, ids=(0, 1), members=(0, 1))]
    assert elect(alone).winner == 0, "an operator may"
    assert resume(0, True, alone).winner is None


def test_a_master_that_lost_its_tail_leaves_the_term_to_the_member_that_has_it() -> None:
    assert resume(0, True, [vote(0, 500), vote(1, 600)]).winner == 1
    careless = [vote(0, 500, min_in_sync=1), vote(1, 600, min_in_sync=1)]
    assert "its own tail was lost" in resume(0, True, careless).reason


def test_who_was_no_master_only_takes_part_in_an_election() -> None:
    assert resume(1, False, [vote(1, 500), vote(0, 500)]).winner == 0


def test_who_lost_its_disk_cannot_vouch_for_what_it_acknowledged() -> None:
    """0 acknowledged with 1 and died; 1 came back empty, and 2 had been dropped from the set before."""
    refused = elect([emptied(1), vote(2, 400)])
    assert refused.winner is None
    assert "1 of 3 members promised (not member 1, whose store is new and not filled yet)" in refused.reason
    assert "member 0 may hold acknowledged messages" in refused.reason
    assert elect([emptied(1), vote(2, 400)], is_unclean=True).winner == 2


def test_who_copies_again_counts_once_it_has_all_that_its_master_had() -> None:
    copying = vote(1, 450, whole_at=500, ids=(0, 1), version=2)
    assert elect([copying, vote(2, 400)]).winner is None
    done = vote(1, 500, whole_at=500, ids=(0, 1), version=2)
    assert elect([done, vote(2, 400)]).winner == 1
    assert elect([copying, vote(2, 400), vote(0, 500)]).winner == 0


def test_a_master_does_not_resume_on_the_word_of_who_has_forgotten_its_promises() -> None:
    refused = resume(0, True, [vote(0, 500), emptied(1)])
    assert refused.winner is None and "1 members answered, 2 are needed" in refused.reason
    assert resume(0, True, [vote(0, 500), emptied(1), vote(2, 400)]).winner == 0


def test_a_master_resumes_with_a_member_that_never_counted() -> None:
    """Its first slave had no time to copy anything before both were killed."""
    own = replace(vote(0, 500), in_sync=InSyncSet(1, 2, (0,), 2, (0,)), members=frozenset((0, 1)))
    assert resume(0, True, [own, emptied(1)]).winner == 0
