"""Which stores are meant, what they are called, and one clear line where there is none."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from engine.errors import BadInput, CorruptRecord
from spark.sources.logs import survey
from spark.sources.stores import find_stores, store_texts
from tests.spark.sources.written import Sent, Written, look


def make(root: Path, count: int = 3, **sent: str) -> Written:
    return Written(root).write([Sent(properties={"CLUSTER": "east", **sent}) for _ in range(count)]).close()


def test_a_store_is_called_as_its_folder_and_its_messages_say(tmp_path: Path) -> None:
    make(tmp_path / "broker-a" / "store")
    (store,) = find_stores([str(tmp_path / "broker-a" / "store")])
    assert (store.cluster, store.broker, store.is_named) == ("east", "broker-a", False)
    assert store.key == store.place == str(tmp_path / "broker-a" / "store")


def test_a_caller_may_say_whose_it_is(tmp_path: Path) -> None:
    make(tmp_path / "x")
    (store,) = find_stores([f"west/broker-7={tmp_path / 'x'}"])
    assert (store.cluster, store.broker, store.key) == ("west", "broker-7", "west/broker-7")
    (store,) = find_stores([str(tmp_path / "x")], cluster="west")
    assert (store.cluster, store.broker) == ("west", "x")


def test_wildcards_lists_and_single_paths_may_be_mixed(tmp_path: Path) -> None:
    for name in ("broker-a", "broker-b", "other"):
        make(tmp_path / name)
    texts = [f"{tmp_path}/broker-*", str(tmp_path / "other"), f"file://{tmp_path}/broker-b"]
    assert [store.broker for store in find_stores(texts)] == ["broker-a", "broker-b", "other"]


def test_a_folder_of_segments_alone_is_an_archive(tmp_path: Path) -> None:
    written = make(tmp_path / "store")
    archive = tmp_path / "archive" / "broker-a" / "commitlog"
    shutil.copytree(tmp_path / "store" / "commitlog", archive)
    (log,) = look(archive)
    assert log.store.is_archive and log.store.broker == "broker-a"
    assert log.end_offset == written.end_offset


def test_an_empty_store_has_nothing_to_read(tmp_path: Path) -> None:
    (tmp_path / "commitlog").mkdir()
    (log,) = look(tmp_path)
    assert (log.start_offset, log.end_offset, log.store.cluster) == (0, 0, "unknown")


@pytest.mark.parametrize(
    ("options", "texts"),
    [
        ({"path": "/a"}, ["/a"]),
        ({"paths": '["/a", "/b,c"]'}, ["/a", "/b,c"]),
        ({"stores": "/a, /b\n/c"}, ["/a", "/b", "/c"]),
    ],
)
def test_a_reader_is_told_in_any_of_spark_s_ways(options: dict[str, str], texts: list[str]) -> None:
    assert store_texts(options) == texts


# Bad input


def test_no_store_is_one_line() -> None:
    with pytest.raises(BadInput, match="no store was named"):
        store_texts({"path": " "})


def test_a_missing_store_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        find_stores([str(tmp_path / "nowhere")])
    assert str(caught.value) == f"no such store: {tmp_path}/nowhere is not a folder"
    with pytest.raises(BadInput, match="no store fits"):
        find_stores([f"{tmp_path}/broker-*"])


def test_a_folder_that_is_no_store_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("not a store")
    with pytest.raises(BadInput) as caught:
        find_stores([str(tmp_path)])
    told = f"not a store: {tmp_path} has no commitlog folder, and no segments of one"
    assert str(caught.value) == told


def test_a_file_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="is not a folder"):
        find_stores([str(tmp_path / "file")])


def many(root: Path) -> Written:
    return Written(root).write([Sent(body=b"x" * 900)] * 30).close()


def test_a_file_cut_in_half_is_named(tmp_path: Path) -> None:
    written = many(tmp_path)
    path = written.path_at(4096)
    path.write_bytes(path.read_bytes()[:2048])
    with pytest.raises(CorruptRecord) as caught:
        look(tmp_path)
    assert str(caught.value) == f"{path} is cut: it has 2048 bytes, the log goes on at offset 8192"
    assert look(tmp_path, damage="skip")


def test_the_last_file_cut_in_half_is_named(tmp_path: Path) -> None:
    written = many(tmp_path)
    path = written.path_at(written.end_offset - 1)
    path.write_bytes(path.read_bytes()[:1024])
    with pytest.raises(CorruptRecord, match=f"{path} is cut: the log goes on to offset {written.end_offset}"):
        look(tmp_path)
    (tmp_path / "checkpoint").unlink()
    with pytest.raises(CorruptRecord, match=f"{path} is cut: the record at [0-9]+ ends behind it"):
        look(tmp_path)
    (log,) = look(tmp_path, damage="skip")
    assert log.end_offset < written.end_offset


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    written = many(tmp_path)
    written.path_at(8192).unlink()
    with pytest.raises(CorruptRecord, match=r"segments of the log are missing between .*4096 and .*12288"):
        look(tmp_path)


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ({"end": "tomorrow"}, "no such end: tomorrow (there are auto, checkpoint, log)"),
        ({"damage": "ignore"}, "no such damage: ignore (there are fail, skip)"),
    ],
)
def test_an_unknown_choice_is_one_line(option: dict[str, str], told: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        survey({"path": str(tmp_path), **option})
    assert str(caught.value) == told
