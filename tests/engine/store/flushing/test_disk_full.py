"""No room: writes are refused before anything is written, reads go on, writes resume by themselves."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.store.results import PutStatus
from tests.engine.store.samples import (
    NOW_MS,
    SEGMENT_SIZE,
    crash,
    dispatch_all,
    draft,
    drain,
    expire,
    fill,
    flush_all,
    open_store,
    put,
)


class _Disk:
    """Stands between the store and the calls that need room."""

    def __init__(self) -> None:
        self.error: int | None = None

    def check(self) -> None:
        if self.error is not None:
            raise OSError(self.error, os.strerror(self.error))


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Disk]:
    disk = _Disk()
    fallocate, pwrite = os.posix_fallocate, os.pwrite

    def checked_fallocate(fd: int, offset: int, size: int) -> None:
        disk.check()
        fallocate(fd, offset, size)

    def checked_pwrite(fd: int, data: bytes, offset: int) -> int:
        disk.check()
        return pwrite(fd, data, offset)

    monkeypatch.setattr(os, "posix_fallocate", checked_fallocate)
    monkeypatch.setattr(os, "pwrite", checked_pwrite)
    yield disk


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errno.ENOSPC, PutStatus.DISK_FULL),
        (errno.EDQUOT, PutStatus.DISK_FULL),
        (errno.EMFILE, PutStatus.SERVICE_NOT_AVAILABLE),
    ],
)
def test_a_roll_without_room_is_refused_and_tried_again(
    tmp_path: Path, disk: _Disk, error: int, status: PutStatus
) -> None:
    store = open_store(tmp_path)
    for n in range(8):
        put(store, draft(n, body_size=8000))
    end = store.log.max_offset
    disk.error = error
    for _ in range(3):
        assert store.log.put(draft(8, body_size=8000), NOW_MS).status is status
    assert store.log.max_offset == end
    assert sorted(os.listdir(tmp_path / "commitlog")) == [f"{0:020d}"]
    disk.error = None
    # Not every put tries: the next one does a moment later.
    assert store.log.refusal is not None
    assert store.log.put(draft(8, body_size=8000), NOW_MS + 100).status is status
    result = put(store, draft(8, body_size=8000), NOW_MS + 300)
    assert store.log.refusal is None
    assert (result.commit_log_offset, result.queue_offset) == (SEGMENT_SIZE, 8)
    dispatch_all(store)
    assert drain(store) == list(range(9))
    store.close()


def test_small_messages_still_fit_the_segment_at_hand(tmp_path: Path, disk: _Disk) -> None:
    store = open_store(tmp_path)
    put(store, draft(0))
    disk.error = errno.ENOSPC
    put(store, draft(1))
    disk.error = None
    store.close()


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM])
def test_no_room_for_queues_refuses_puts_until_there_is(tmp_path: Path, disk: _Disk, error: int) -> None:
    store = open_store(tmp_path)
    fill(store, 10, queues=1)
    put(store, draft(10))
    disk.error = error
    assert store.queues.dispatch(10) == []
    assert store.log.put(draft(11), NOW_MS).status is PutStatus.DISK_FULL
    assert drain(store) == list(range(10))
    disk.error = None
    assert len(store.queues.dispatch(10)) == 1
    put(store, draft(11))
    dispatch_all(store)
    assert drain(store) == list(range(12))
    store.close()


def test_a_slice_that_failed_half_way_is_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(tmp_path)
    for n in range(40):
        put(store, draft(n, queue_id=n % 4))
    pwrite = os.pwrite
    for failing in range(6):
        calls = iter(range(100))

        def unsteady(
            fd: int, data: bytes, pos: int, calls: Iterator[int] = calls, failing: int = failing
        ) -> int:
            if next(calls) == failing:
                raise OSError(errno.ENOSPC, "No space left on device")
            return pwrite(fd, data, pos)

        monkeypatch.setattr(os, "pwrite", unsteady)
        store.queues.dispatch(100)
    monkeypatch.undo()
    dispatch_all(store)
    for queue_id in range(4):
        assert drain(store, queue_id=queue_id) == list(range(queue_id, 40, 4))
    assert len(store.search.query("Orders", "K0000007", 64, 0, NOW_MS * 2).offsets) == 1
    store.close()


def test_a_write_that_fits_only_in_part_leaves_no_gap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last free bytes are taken, and pwrite says so: what it left out must not be counted."""
    store = open_store(tmp_path)
    for n in range(40):
        put(store, draft(n, queue_id=n % 4))
    pwrite = os.pwrite
    for room in (1, 30, 90, 250, 700, 1500):
        left = [room]

        def cramped(fd: int, data: bytes, pos: int, left: list[int] = left) -> int:
            if pos == 0:
                return pwrite(fd, data, pos)  # where a block is already: a header
            if not left[0]:
                raise OSError(errno.ENOSPC, "No space left on device")
            written = pwrite(fd, data[: left[0]], pos)
            left[0] -= written
            return written

        monkeypatch.setattr(os, "pwrite", cramped)
        store.queues.dispatch(100)
    monkeypatch.undo()
    dispatch_all(store)
    for queue_id in range(4):
        assert drain(store, queue_id=queue_id) == list(range(queue_id, 40, 4))
    for n in range(40):
        assert len(store.search.query("Orders", f"K{n:07d}", 64, 0, NOW_MS * 2).offsets) == 1, f"message {n}"
    store.close()


@pytest.mark.parametrize("failing", range(7))
def test_a_store_opens_without_room_for_what_is_derived(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    """Killed before its last messages were dispatched: they are when there is room, and puts go on behind."""
    store = open_store(tmp_path)
    fill(store, 40)
    flush_all(store)
    for n in range(40, 80):
        put(store, draft(n, queue_id=n % 4))
    crash(store)
    pwrite, calls = os.pwrite, iter(range(1_000))

    def full(fd: int, data: bytes, pos: int) -> int:
        if next(calls) >= failing and pos:
            raise OSError(errno.ENOSPC, "No space left on device")
        return pwrite(fd, data, pos)

    monkeypatch.setattr(os, "pwrite", full)
    store = open_store(tmp_path)
    assert store.queues.has_undispatched() and store.queues.dispatch(100) == []
    assert store.log.put(draft(80), NOW_MS).status is PutStatus.DISK_FULL
    monkeypatch.undo()
    dispatch_all(store)
    assert put(store, draft(80)).queue_offset == 20
    dispatch_all(store)
    for queue_id in range(4):
        assert drain(store, queue_id=queue_id) == list(range(queue_id, 81 if queue_id == 0 else 80, 4))
    for n in range(80):
        assert len(store.search.query("Orders", f"K{n:07d}", 64, 0, NOW_MS * 2).offsets) == 1, f"message {n}"
    store.close()


@pytest.fixture
def small_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A filesystem of 1 MiB; where none can be mounted, a folder that refuses segments beyond 1 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if os.geteuid() == 0 and subprocess.run(mount, check=False).returncode == 0:
        yield folder
        subprocess.run(["umount", "-l", folder], check=True)
        return
    fallocate = os.posix_fallocate

    def limited(fd: int, offset: int, size: int) -> None:
        if size + sum(path.stat().st_blocks * 512 for path in folder.rglob("*")) > 1 << 20:
            raise OSError(errno.ENOSPC, "No space left on device")
        fallocate(fd, offset, size)

    monkeypatch.setattr(os, "posix_fallocate", limited)
    yield folder


def test_a_really_full_disk_is_survived(small_disk: Path) -> None:
    store = open_store(small_disk, max_hash_slot_num=10, max_index_num=100_000)
    stored = 0
    while (result := store.log.put(draft(stored, body_size=400), NOW_MS)).status is PutStatus.PUT_OK:
        stored += 1
        store.queues.dispatch(10)
        assert stored < 5000
    assert result.status is PutStatus.DISK_FULL
    flush_all(store)
    assert drain(store) == list(range(stored))
    dropped = expire(store, NOW_MS, 0, 0.99)
    assert dropped
    put(store, draft(stored, body_size=400), NOW_MS + 1000)
    dispatch_all(store)
    assert drain(store)[-1] == stored
    store.close()
    store = open_store(small_disk, max_hash_slot_num=10, max_index_num=100_000)
    assert drain(store)[-1] == stored
    store.close()
