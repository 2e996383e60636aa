"""The list of damaged records: who skipped what, what is forgotten, and what a file may hold."""

from __future__ import annotations

from typing import Any

import pytest

from engine.broker.damage import damaged_records
from engine.broker.damage.damaged_reads_io import may_not_skip, skip_remark
from engine.broker.damage.damaged_records import DamagedRecords
from engine.broker.damage.scrub_task import is_round_due, rest_s
from engine.broker.failover.group_state import GroupState
from engine.broker.failover.member_requests_io import members_to_ask
from engine.broker.failover.role import Role, RoleKind
from engine.store.recovery.damaged_ranges import DamagedRanges
from engine.store.results import Damage


def damage(number: int = 1, topic: str = "Orders") -> Damage:
    queue = (topic, 0, number) if topic else ("", -1, -1)
    return Damage(*queue, number * 100, 100, "00000000000000000000")


def owed_count(records: DamagedRecords) -> int:
    return sum(record.is_owed for record in records)


def test_a_group_skips_once_until_it_got_the_message() -> None:
    records = DamagedRecords()
    record, is_new = records.note(damage(), 10)
    assert is_new and records.section(0) == {"skipped": 0, "repaired": 0}
    assert records.skip(record, "billing", "pull", 11) and not records.skip(record, "billing", "pull", 12)
    assert (owed_count(records), records.owed()) == (1, [])
    assert records.repaired(100, 200, 13) == records.owed() == [record]
    records.redelivered(record.skips["billing"], 14)
    assert (owed_count(records), records.owed(), records.broken()) == (0, [], [])
    again, is_new = records.note(damage(), 15)
    assert is_new and records.skip(again, "billing", "pull", 16)
    assert (records.skipped_since_start, records.repaired_since_start) == (2, 1)


def test_a_record_gets_its_queue_when_it_is_read() -> None:
    records = DamagedRecords()
    records.note(damage(topic=""), 10)
    record, is_new = records.note(damage(), 11)
    assert (is_new, len(records), record.damage.topic, record.found_ms) == (False, 1, "Orders", 10)
    assert records.note(damage(topic=""), 12) == (record, False)


def test_the_oldest_that_nobody_waits_for_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(damaged_records, "MAX_RECORDS", 3)
    records = DamagedRecords()
    first, _ = records.note(damage(1), 1)
    records.skip(first, "billing", "pull", 1)
    for number in range(2, 6):
        records.note(damage(number), number)
    assert [record.damage.queue_offset for record in records] == [1, 4, 5]
    for record in records:
        records.skip(record, "billing", "pull", 9)
    records.note(damage(6), 10)
    assert [record.damage.queue_offset for record in records] == [4, 5, 6]


def test_what_retention_took_is_forgotten() -> None:
    records = DamagedRecords()
    for number in range(1, 4):
        records.note(damage(number), 1)
    assert records.forget_expired(250) == 2
    assert [record.damage.queue_offset for record in records] == [3]


def test_the_list_comes_back_from_its_file() -> None:
    records = DamagedRecords()
    record, _ = records.note(damage(), 10)
    records.skip(record, "billing", "pop", 11)
    other = DamagedRecords()
    other.load(records.snapshot())
    assert other.snapshot() == records.snapshot()
    assert other.rows("billing") == records.rows() and other.rows("others") == []


@pytest.mark.parametrize(
    "content", [None, [], 7, {"records": 3}, {"records": [None, {}, {"offset": "x"}]}, {"repaired": "x"}]
)
def test_what_cannot_be_read_is_left_out(content: Any) -> None:
    records = DamagedRecords()
    records.load(content)
    assert len(records) == 0 and records.section(0) is None


def test_ranges_know_what_touches_them() -> None:
    ranges = DamagedRanges()
    ranges.add(100, 200)
    ranges.add(100, 200)
    ranges.add(150, 160)
    ranges.add(500, 500)
    assert list(ranges) == [(100, 200), (150, 160)]
    assert [ranges.touches(*item) for item in ((0, 100), (0, 101), (199, 300), (200, 300), (120, 130))] == [
        False,
        True,
        True,
        False,
        True,
    ]
    ranges.discard(150, 160)
    assert ranges.touches(150, 160)
    ranges.discard(0, 1000)
    assert not ranges


@pytest.mark.parametrize(
    ("kind", "is_master_alive", "expected"),
    [
        (RoleKind.MASTER, False, False),
        (RoleKind.SLAVE, True, True),
        (RoleKind.SLAVE, False, False),
        (RoleKind.SEEKING, False, True),
    ],
)
def test_only_a_master_or_a_slave_without_one_skips(
    kind: RoleKind, is_master_alive: bool, expected: bool
) -> None:
    role = Role(kind, 1)
    role.is_master_alive = is_master_alive
    assert may_not_skip(role) is expected


def test_the_master_is_asked_first() -> None:
    state = GroupState(members={0: "a", 1: "b", 2: "c"}, master_id=2)
    assert members_to_ask(state, 0) == ["c", "b"]
    assert members_to_ask(state, 2) == ["a", "b"]
    assert members_to_ask(GroupState(members={0: "a"}), 0) == []


def test_a_scrub_keeps_to_its_rate_and_its_interval() -> None:
    assert rest_s(1_000, 100, 2.0) == 8.0
    assert rest_s(1_000, 100, 20.0) == 0.0
    assert is_round_due(10_000, 0, 10) and not is_round_due(9_999, 0, 10)
    assert is_round_due(5_000, 6_000, 10)  # the clock was set back


def test_a_remark_names_offsets_and_no_path() -> None:
    remark = skip_remark(damage(7))
    assert "queue offset 7" in remark and "commit-log offset 700" in remark and "/" not in remark
