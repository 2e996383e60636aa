from __future__ import annotations

import pytest

from engine.broker.offsets.handlers_admin import NOT_COMPARABLE, correction_offsets, legacy_reset_offset


@pytest.mark.parametrize(
    ("committed", "wanted", "is_force", "expected"),
    [(10, 4, False, 4), (10, 20, False, 10), (10, 20, True, 20), (None, 20, False, 20)],
)
def test_without_force_a_reset_only_goes_back(
    committed: int | None, wanted: int, is_force: bool, expected: int
) -> None:
    assert legacy_reset_offset(committed, wanted, is_force) == expected


def test_corrections_are_the_smallest_offsets_of_all_groups() -> None:
    assert correction_offsets([{0: 5, 1: 9}, {0: 3, 1: -1}], {}) == {0: 3, 1: 9}


def test_a_group_behind_all_others_has_nothing_to_correct_to() -> None:
    assert correction_offsets([{0: 5}, {0: 3}], {0: 2, 7: 1}) == {0: NOT_COMPARABLE, 7: NOT_COMPARABLE}
    assert correction_offsets([{0: 5}, {0: 3}], {0: 4}) == {0: 3}
