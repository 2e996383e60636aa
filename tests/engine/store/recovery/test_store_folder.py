"""Whose the folder is, and which folders are refused."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.errors import StoreLocked, UnsupportedStore
from engine.store.recovery.store_folder import StoreFolder
from tests.engine.store.samples import crash, draft, open_store, put


def test_a_store_has_one_owner(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    assert (tmp_path / "lock").read_bytes() == b"lock"
    with pytest.raises(StoreLocked):
        open_store(tmp_path)
    put(store, draft(0))
    store.close()
    open_store(tmp_path).close()


def test_a_plain_posix_lock_of_another_process_is_respected(tmp_path: Path) -> None:
    script = (
        "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.lockf(f, fcntl.LOCK_EX, 1, 0); "
        "print('locked', flush=True); sys.stdin.read()"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "lock")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None and child.stdout.readline() == "locked\n"
    with pytest.raises(StoreLocked):
        open_store(tmp_path)
    child.communicate("")
    open_store(tmp_path).close()


def test_the_abort_file_is_there_while_running(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    assert (tmp_path / "abort").read_text() == str(os.getpid())
    store.close()
    assert not (tmp_path / "abort").exists()


@pytest.mark.parametrize("was_killed", [True, False])
def test_a_store_opens_on_a_disk_without_a_free_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, was_killed: bool
) -> None:
    first = StoreFolder(tmp_path)
    first.open(tmp_path / "commitlog")
    first.mark_running()
    if not was_killed:
        first.mark_closed()
    first.unlock()
    real_pwrite = os.pwrite

    def pwrite(fd: int, data: bytes, offset: int) -> int:
        if os.fstat(fd).st_size == 0:
            raise OSError(errno.ENOSPC, "no space left on device")
        return real_pwrite(fd, data, offset)

    monkeypatch.setattr(os, "pwrite", pwrite)
    second = StoreFolder(tmp_path)
    second.open(tmp_path / "commitlog")
    assert second.was_closed is not was_killed
    second.mark_running()
    assert (tmp_path / "abort").read_text() == (str(os.getpid()) if was_killed else "")
    second.unlock()


@pytest.mark.parametrize(
    ("path", "content", "word"),
    [
        ("consumequeue_r/CURRENT", "", "RocksDB"),
        ("config/topics/CURRENT", "", "RocksDB"),
        ("dledger-n0/data/00000000000000000000", "", "DLedger"),
        ("tieredStore/x", "", "tiered"),
        ("config/tieredStoreMetadata.json", "{}", "tiered"),
        ("batchconsumequeue/T/0/00000000000000000000", "", "BatchCQ"),
        ("config/topicQueueMapping.json", '{"topicQueueMappingInfoMap":{"T":{}}}', "static topics"),
    ],
)
def test_stores_that_we_would_only_half_read_are_refused(
    tmp_path: Path, path: str, content: str, word: str
) -> None:
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_text(content)
    with pytest.raises(UnsupportedStore, match=word):
        open_store(tmp_path)
    assert not (tmp_path / "abort").exists() and not (tmp_path / "commitlog").exists()


def test_several_paths_of_the_commit_log_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedStore, match="several paths"):
        open_store(tmp_path, commit_log_dir=Path(f"{tmp_path}/a,{tmp_path}/b"))


def test_empty_leftovers_of_optional_engines_are_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "batchconsumequeue").mkdir()
    (tmp_path / "consumequeue_r").mkdir()
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "topicQueueMapping.json").write_text('{"topicQueueMappingInfoMap":{}}')
    open_store(tmp_path).close()


def test_folders_that_are_no_topics_are_left_alone(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    put(store, draft(0))
    crash(store)
    (tmp_path / "consumequeue" / "not.a.topic" / "0").mkdir(parents=True)
    (tmp_path / "consumequeue" / "Orders" / "007").mkdir(parents=True)
    (tmp_path / "consumequeue" / "Link").symlink_to(tmp_path)
    store = open_store(tmp_path)
    assert store.queues.ids_by_topic() == {"Orders": [0]}
    store.close()
