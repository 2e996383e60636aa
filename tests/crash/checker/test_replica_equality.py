from __future__ import annotations

from pathlib import Path

from tests.crash.checker.replica_equality import check_replica_equality


def member(folder: Path, *segments: tuple[int, bytes]) -> Path:
    folder.mkdir()
    for base, data in segments:
        (folder / f"{base:020d}").write_bytes(data)
    return folder


def test_equal_logs_are_equal_behind_what_only_one_still_has(tmp_path: Path) -> None:
    logs = {
        "a": member(tmp_path / "a", (0, b"0123"), (4, b"4567"), (8, b"8xxx")),
        "b": member(tmp_path / "b", (4, b"4567"), (8, b"8yyy")),
    }
    assert check_replica_equality(logs, 9) == []


def test_one_other_byte_below_the_confirmed_offset_is_caught(tmp_path: Path) -> None:
    logs = {"a": member(tmp_path / "a", (0, b"0123")), "b": member(tmp_path / "b", (0, b"01x3"))}
    (violation,) = check_replica_equality(logs, 4)
    assert violation.checker == "replica-equality"
    assert check_replica_equality(logs, 2) == []


def test_a_log_that_ends_too_early_or_has_a_hole_is_caught(tmp_path: Path) -> None:
    whole = member(tmp_path / "a", (0, b"0123"), (4, b"4567"))
    short = member(tmp_path / "b", (0, b"0123"))
    holed = member(tmp_path / "c", (0, b"0123"), (8, b"8"))
    assert check_replica_equality({"a": whole, "b": short}, 8)
    assert check_replica_equality({"a": whole, "c": holed}, 8)
