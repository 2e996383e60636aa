"""Where two histories part."""

from __future__ import annotations

import pytest

from engine.broker.replication.epochs import (
    Divergence,
    Epoch,
    begin,
    check_history,
    divergence,
    log_epoch,
    reached,
)
from engine.errors import CorruptRecord

ONE, TWO, THREE = Epoch(1, 11, 0), Epoch(2, 22, 100), Epoch(3, 33, 250)


def test_the_first_entry_covers_all_of_the_past() -> None:
    assert begin((), 1, 11, 4096) == (ONE,)
    assert begin((ONE,), 2, 22, 100) == (ONE, TWO)


def test_a_log_without_a_group_is_of_epoch_zero() -> None:
    assert log_epoch(()) == 0
    assert log_epoch((ONE, TWO)) == 2


def test_a_slave_that_is_only_behind_cuts_nothing() -> None:
    assert divergence((ONE, TWO), 180, (ONE, TWO, THREE), 400) == Divergence(180, (ONE, TWO))


def test_an_extra_tail_is_cut_where_the_next_term_began() -> None:
    assert divergence((ONE, TWO), 300, (ONE, TWO, THREE), 400) == Divergence(250, (ONE, TWO))


def test_a_term_that_the_master_does_not_know_is_cut_entirely() -> None:
    mine = (ONE, TWO, Epoch(3, 99, 250))
    assert divergence(mine, 300, (ONE, TWO, Epoch(4, 44, 220)), 400) == Divergence(220, (ONE, TWO))


def test_equal_epochs_of_different_terms_are_different() -> None:
    assert divergence((ONE, Epoch(2, 7, 100)), 300, (ONE, TWO), 300) == Divergence(100, (ONE,))


def test_histories_without_a_common_beginning_share_nothing() -> None:
    assert divergence((Epoch(1, 5, 0),), 300, (ONE, TWO), 300) == Divergence(0, ())


def test_a_slave_holds_the_entries_that_its_log_has_reached() -> None:
    theirs = (ONE, TWO, THREE)
    assert reached((ONE,), theirs, 99) == (ONE,)
    assert reached((ONE,), theirs, 100) == (ONE, TWO)
    assert reached((ONE,), theirs, 250) == theirs


@pytest.mark.parametrize(
    "history",
    [
        (TWO, ONE),
        (ONE, Epoch(1, 3, 50)),
        (Epoch(1, 1, 50), Epoch(2, 1, 40)),
        (Epoch(0, 1, 0),),
        (Epoch(1, 1, -1),),
    ],
)
def test_a_history_that_cannot_be_is_not_believed(history: tuple[Epoch, ...]) -> None:
    with pytest.raises(CorruptRecord):
        check_history(history)
