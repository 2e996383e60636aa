"""Delay levels as pure tables: which level, when it is due, what may be saved."""

from __future__ import annotations

import pytest

from engine.broker.delivery.delay_levels import (
    DEFAULT_LEVELS,
    DelayOffsets,
    due_units,
    level_of,
    parse_levels,
)
from engine.errors import BadInput
from engine.protocol.bodies.offsets import DelayOffsetSerializeWrapper
from engine.store.options import StoreOptions
from engine.store.queues.consume_queue import BLANK_UNIT_SIZE
from engine.store.results import QueueUnit


def unit(queue_offset: int, due_ms: int, size: int = 100) -> QueueUnit:
    return QueueUnit(queue_offset, queue_offset * 100, size, due_ms)


def test_the_default_levels_are_those_of_the_store() -> None:
    field = StoreOptions.__dataclass_fields__["delay_level_ms"]
    assert parse_levels(DEFAULT_LEVELS) == field.default
    assert len(parse_levels(DEFAULT_LEVELS)) == 18


def test_levels_are_read_in_all_units() -> None:
    assert parse_levels(" 2s  3m 1h 1d ") == (2_000, 180_000, 3_600_000, 86_400_000)


@pytest.mark.parametrize("text", ["", "1", "1s,5s", "s", "1w", "-1s"])
def test_other_levels_are_refused(text: str) -> None:
    with pytest.raises(BadInput):
        parse_levels(text)


@pytest.mark.parametrize(
    ("text", "level"), [("3", 3), ("18", 18), ("99", 18), ("0", 0), ("-1", 0), ("", 0), ("x", 0), ("٣", 0)]
)
def test_a_level_is_clamped_to_the_last(text: str, level: int) -> None:
    assert level_of({"DELAY": text}, 18) == level


def test_nothing_is_due_before_its_time() -> None:
    found = due_units([unit(5, 1_000), unit(6, 1_001)], None, 500, 1_000)
    assert [item.queue_offset for item in found.units] == [5]
    assert (found.next_offset, found.next_due_ms) == (6, 1_001)


def test_what_is_all_due_leads_behind_its_end() -> None:
    found = due_units([unit(5, 900), unit(6, 1_000)], None, 500, 1_000)
    assert (found.next_offset, found.next_due_ms) == (7, None)


def test_a_blank_unit_is_passed_over() -> None:
    found = due_units([unit(0, 0, BLANK_UNIT_SIZE), unit(1, 10)], None, 500, 1_000)
    assert [item.queue_offset for item in found.units] == [1]


def test_after_the_clock_was_set_back_a_message_waits_its_delay_once() -> None:
    far = unit(5, 9_000_000)
    first = due_units([far], None, 500, 1_000)
    assert first.next_due_ms == 1_500
    again = due_units([far], first.next_due_ms, 500, 1_400)
    assert again.next_due_ms == 1_500
    assert due_units([far], again.next_due_ms, 500, 1_500).units == (far,)


def test_only_deliveries_that_are_on_disk_are_saved() -> None:
    offsets = DelayOffsets()
    offsets.set(3, 7)
    offsets.settle(log_end=1_000, kept_end=400)
    offsets.set(3, 8)
    offsets.settle(log_end=1_200, kept_end=999)
    assert not offsets.is_dirty
    assert offsets.snapshot(1).offset_table == {}

    offsets.settle(log_end=1_300, kept_end=1_000)
    assert offsets.is_dirty
    assert offsets.snapshot(1).offset_table == {3: 7}
    offsets.settle(log_end=1_300, kept_end=1_300)
    assert offsets.snapshot(1).offset_table == {3: 8}


def test_deliveries_that_another_master_may_cut_happen_again() -> None:
    offsets = DelayOffsets()
    offsets.set(3, 7)
    offsets.settle(log_end=1_000, kept_end=1_000)
    offsets.settle(log_end=1_000, kept_end=1_000)
    offsets.set(3, 9)
    offsets.settle(log_end=1_200, kept_end=1_000)
    offsets.start_over()
    assert offsets.get(3) == 7
    offsets.settle(log_end=1_200, kept_end=1_300)
    assert offsets.snapshot(1).offset_table == {3: 7}


def test_offsets_come_back_from_their_file_and_their_version_moves_on() -> None:
    offsets = DelayOffsets(DelayOffsetSerializeWrapper({1: 10, 18: 2}))
    assert (offsets.get(1), offsets.get(18), offsets.get(2)) == (10, 2, 0)
    offsets.set(1, 11)
    offsets.settle(5, 5)
    offsets.settle(5, 5)
    saved = offsets.snapshot(77)
    assert saved.offset_table == {1: 11, 18: 2}
    assert saved.data_version is not None
    assert saved.data_version.timestamp == 77
