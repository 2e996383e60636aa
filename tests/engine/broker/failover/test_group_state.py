"""What a member promises, and whom it obeys afterwards."""

from __future__ import annotations

import orjson
import pytest
from msgspec.structs import replace

from engine.broker.failover.group_state import (
    GroupState,
    InSyncSet,
    StaleEpoch,
    become_master,
    create_group,
    follow,
    from_json,
    promise,
    remember_promise,
    take_set,
    to_json,
    wire_id,
)
from engine.broker.replication.epochs import Epoch
from engine.errors import CorruptRecord

FOUNDED = create_group(0, "a:1", term_id=11, min_in_sync=2)


def test_a_group_begins_with_its_first_master_alone() -> None:
    assert (FOUNDED.epoch, FOUNDED.master_id, FOUNDED.in_sync.ids) == (1, 0, (0,))
    assert FOUNDED.history == (Epoch(1, 11, 0),)


def test_a_promise_leaves_the_old_master_behind() -> None:
    promised = promise(FOUNDED, 2, 22)
    assert (promised.epoch, promised.term_id, promised.master_id) == (2, 22, None)
    with pytest.raises(StaleEpoch):
        take_set(promised, 1, InSyncSet(1, 9, (0,)), {})
    with pytest.raises(StaleEpoch):
        follow(promised, 1, 11, 0)


def test_a_promise_is_for_one_term_and_may_be_asked_again() -> None:
    promised = promise(FOUNDED, 2, 22)
    assert promise(promised, 2, 22) is promised
    with pytest.raises(StaleEpoch):
        promise(promised, 2, 23)


def test_only_the_promised_epoch_can_become_master() -> None:
    with pytest.raises(StaleEpoch):
        become_master(FOUNDED, 2, 22, 1, 500)
    elected = become_master(promise(FOUNDED, 2, 22), 2, 22, 1, 500)
    assert elected.history[-1] == Epoch(2, 22, 500)
    assert elected.in_sync == InSyncSet(2, 1, (1,), 2, (0,))
    with pytest.raises(StaleEpoch, match="already"):
        become_master(elected, 2, 22, 1, 900)


def test_an_epoch_has_one_master() -> None:
    following = follow(FOUNDED, 2, 22, 1)
    assert follow(following, 2, 22, 1) == following
    with pytest.raises(StaleEpoch):
        follow(following, 2, 22, 2)
    with pytest.raises(StaleEpoch):
        become_master(following, 2, 22, 0, 100)


def test_an_older_set_changes_nothing() -> None:
    newer = take_set(FOUNDED, 1, InSyncSet(1, 3, (0, 1), 2), {0: "a:1", 1: "b:1"})
    assert newer.in_sync.ids == (0, 1)
    assert take_set(newer, 1, InSyncSet(1, 2, (0,), 2), {0: "a:1"}) is newer


def test_the_state_survives_its_file() -> None:
    state = replace(FOUNDED, members={0: "a:1", 2: "c:1"}, confirmed_offset=77, copied_from=5, caught_up_at=9)
    assert from_json(orjson.loads(orjson.dumps(to_json(state)))) == state


def test_a_file_of_before_says_nothing_of_a_copy_that_is_not_whole() -> None:
    content = to_json(FOUNDED)
    del content["wholeAt"]
    assert from_json(content) == FOUNDED


def test_what_was_promised_is_remembered_when_a_master_promises_less() -> None:
    assert FOUNDED.promised_in_sync == 2
    weaker = take_set(FOUNDED, 1, InSyncSet(1, 2, (0, 1), 1), {0: "a:1", 1: "b:1"})
    assert (weaker.in_sync.min_in_sync, remember_promise(weaker).promised_in_sync) == (1, 2)
    stronger = take_set(weaker, 1, InSyncSet(1, 3, (0, 1), 3), weaker.members)
    assert remember_promise(stronger).promised_in_sync == 3
    # A file of the release before has the list alone.
    content = to_json(FOUNDED)
    del content["promisedInSync"]
    assert from_json(content).promised_in_sync == 2


@pytest.mark.parametrize("content", [{}, [], {**to_json(FOUNDED), "epochs": [[2, 1, 0], [1, 1, 0]]}, None])
def test_a_doubtful_file_is_not_believed(content: object) -> None:
    with pytest.raises(CorruptRecord):
        from_json(content)


def test_the_master_is_broker_zero_and_member_zero_borrows_its_number() -> None:
    assert [wire_id(member, 2) for member in (0, 1, 2)] == [2, 1, 0]
    assert [wire_id(member, 0) for member in (0, 1, 2)] == [0, 1, 2]
    assert GroupState().master_id is None and wire_id(0, None) == 1
