"""Many queue files reach the disk together; a failure is never overlooked."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from engine.store.flushing import file_sync
from engine.store.flushing.file_sync import MANY_FILES, FileSync, reports_failed_writes
from engine.store.message_store import MessageStore
from tests.engine.store.samples import NOW_MS, dispatch_all, draft, open_store, put


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The descriptors that were synced one by one."""
    if file_sync._syncfs is None:  # an old kernel
        monkeypatch.setattr(file_sync, "_syncfs", lambda fd: 0)
    descriptors: list[int] = []
    for name in ("fsync", "fdatasync"):
        real = getattr(os, name)

        def counted(fd: int, real=real) -> None:  # type: ignore[no-untyped-def]
            descriptors.append(fd)
            real(fd)

        monkeypatch.setattr(os, name, counted)
    return descriptors


def files(folder: Path, count: int) -> list[str]:
    folder.mkdir()
    paths = [folder / f"{number}" for number in range(count)]
    for path in paths:
        path.write_bytes(b"unit")
    return [str(path) for path in paths]


def test_many_files_are_synced_together_and_few_by_themselves(tmp_path: Path, synced: list[int]) -> None:
    sync = FileSync(str(tmp_path / "queues"))
    paths = files(tmp_path / "queues", MANY_FILES)
    sync.open()
    sync.run(paths[:10])
    assert len(synced) == 10
    sync.run(paths)
    assert len(synced) == 10
    sync.close()
    sync.run(paths)
    assert len(synced) == 10 + MANY_FILES, "without a descriptor nothing would be reported"


def test_files_elsewhere_are_synced_by_themselves(tmp_path: Path, synced: list[int]) -> None:
    paths = files(tmp_path / "queues", MANY_FILES) + files(tmp_path / "queues-index", 3)
    sync = FileSync(str(tmp_path / "queues"))
    sync.open()
    sync.run(paths)
    sync.close()
    assert len(synced) == 3


def test_a_failure_is_looked_for_file_by_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = files(tmp_path / "queues", MANY_FILES)
    monkeypatch.setattr(file_sync, "_syncfs", lambda fd: -1)
    sync = FileSync(str(tmp_path / "queues"))
    sync.open()
    sync.run(paths)  # it was somebody else's file

    def failing(fd: int) -> None:
        raise OSError(errno.EIO, "input/output error")

    monkeypatch.setattr(os, "fdatasync", failing)
    with pytest.raises(OSError, match="input/output error"):
        sync.run(paths)
    sync.close()


@pytest.mark.parametrize(
    ("release", "is_good"),
    [("6.1.0-13-amd64", True), ("5.12.0", True), ("5.10.0-26", False), ("4.19", False), ("odd", False)],
)
def test_kernels_that_report_failed_writes(release: str, is_good: bool) -> None:
    assert reports_failed_writes(release) is is_good


def test_a_stop_does_not_sync_each_of_many_queues(tmp_path: Path, synced: list[int]) -> None:
    store = open_store(tmp_path, max_open_queue_files=16)
    for number in range(300):
        put(store, draft(number, topic=f"topic-{number}"))
    dispatch_all(store)
    synced.clear()
    store.close(NOW_MS)
    assert len(synced) < 30
    again: MessageStore = open_store(tmp_path)
    assert sum(again.queues.max_offset(f"topic-{number}", 0) for number in range(300)) == 300
    again.close(NOW_MS)
