"""One store of each group, and a survey that travels."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from engine.errors import BadInput
from spark.sources.logs import pack_logs, survey, unpack_logs
from tests.spark.sources.written import START_MS, Sent, Written, look


def make(root: Path, count: int, start_ms: int = START_MS) -> Written:
    sent = [Sent(body=b"x" * 300, store_ms=start_ms + number) for number in range(count)]
    return Written(root).write(sent).close()


def test_of_two_replicas_the_one_that_reaches_further_is_read(tmp_path: Path) -> None:
    make(tmp_path / "master", 40)
    make(tmp_path / "slave", 25)
    make(tmp_path / "other", 30, START_MS + 1)
    for texts in (("master", "slave", "other"), ("slave", "other", "master")):
        logs = look(*(tmp_path / name for name in texts))
        assert {Path(log.store.place).name for log in logs} == {"master", "other"}


def test_a_replica_that_kept_more_of_the_beginning_is_read(tmp_path: Path) -> None:
    written = make(tmp_path / "master", 40)
    shutil.copytree(tmp_path / "master", tmp_path / "slave")
    (tmp_path / "master" / "commitlog" / written.path_at(0).name).unlink()
    (log,) = look(tmp_path / "master", tmp_path / "slave")
    assert (log.start_offset, Path(log.store.place).name) == (0, "slave")


def test_stores_called_the_same_must_hold_the_same_log(tmp_path: Path) -> None:
    make(tmp_path / "a", 10)
    make(tmp_path / "b", 10, START_MS + 1)
    with pytest.raises(BadInput) as caught:
        look(f"east/broker-a={tmp_path}/a", f"east/broker-a={tmp_path}/b")
    told = f"{tmp_path}/b and {tmp_path}/a are both called east/broker-a, but they hold different logs"
    assert str(caught.value) == told


def test_an_empty_replica_does_not_stand_for_its_group(tmp_path: Path) -> None:
    make(tmp_path / "a", 10)
    (tmp_path / "b" / "commitlog").mkdir(parents=True)
    (log,) = look(f"east/broker-a={tmp_path}/b", f"east/broker-a={tmp_path}/a")
    assert log.store.place == str(tmp_path / "a")


def test_a_stream_wants_replicas_to_be_named(tmp_path: Path) -> None:
    make(tmp_path / "a", 10)
    make(tmp_path / "b", 12)
    with pytest.raises(BadInput, match="write cluster/broker=PLACE for each of"):
        survey({"stores": f"{tmp_path}/a,{tmp_path}/b"}, must_be_named=True)
    named = f"east/broker-a={tmp_path}/a,east/broker-a={tmp_path}/b"
    (log,) = survey({"stores": named}, must_be_named=True)
    assert log.store.key == "east/broker-a"


def test_a_survey_travels_as_text(tmp_path: Path) -> None:
    make(tmp_path / "a", 30)
    logs = look(f"east/broker-a={tmp_path}/a")
    assert unpack_logs(pack_logs(logs)) == logs
