"""Opening again: after a close, after a crash, after another engine."""

from __future__ import annotations

import os
import shutil
import struct
from pathlib import Path

import pytest

from engine.errors import StoreError
from engine.protocol.batches import BatchItem
from tests.engine.store.samples import (
    NOW_MS,
    SEGMENT_SIZE,
    batch_of,
    consume,
    crash,
    dispatch_all,
    draft,
    drain,
    drain_all,
    fill,
    flush_all,
    open_store,
    overwrite,
    put,
    tree_of,
)


def _log_file(root: Path, base: int = 0) -> Path:
    return root / "commitlog" / f"{base:020d}"


def test_a_closed_store_opens_as_it_was(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    fill(store, 900)
    end = store.log.max_offset
    before = tree_of(tmp_path / "consumequeue")
    store.close()
    assert not (tmp_path / "abort").exists()
    store = open_store(tmp_path)
    assert store.log.max_offset == end and store.queues.dispatched_offset == end
    assert drain_all(store) == list(range(900))
    assert tree_of(tmp_path / "consumequeue") == before
    assert put(store, draft(900)).queue_offset == 225
    store.close()


@pytest.mark.parametrize("checkpointed", [False, True])
def test_a_killed_store_loses_nothing_that_was_put(tmp_path: Path, checkpointed: bool) -> None:
    store = open_store(tmp_path)
    fill(store, 600)
    if checkpointed:
        flush_all(store)
    for n in range(600, 900):
        put(store, draft(n, queue_id=n % 4))
    assert (tmp_path / "abort").read_text() == str(os.getpid())
    crash(store)
    store = open_store(tmp_path)
    assert drain_all(store) == list(range(900))
    assert store.log.flushed_offset == store.log.max_offset
    assert store.search.query("Orders", "K0000850", 5, 0, NOW_MS * 2).offsets
    store.close()


def test_only_what_lies_behind_the_checkpoint_is_read_again(tmp_path: Path) -> None:
    store = open_store(tmp_path, verify_on_open_bytes=1)
    fill(store, 2000)
    flush_all(store)
    fill(store, 10, start=2000)
    crash(store)
    store = open_store(tmp_path, verify_on_open_bytes=1)
    assert store.recovery is not None and store.recovery.scanned_count < 100
    assert drain_all(store) == list(range(2010))
    store.close()


def test_a_corrupt_checkpoint_means_a_full_scan(tmp_path: Path) -> None:
    store = open_store(tmp_path, verify_on_open_bytes=1)
    fill(store, 500)
    flush_all(store)
    crash(store)
    overwrite(tmp_path / "checkpoint", 5, b"\x77")
    store = open_store(tmp_path, verify_on_open_bytes=1)
    assert store.recovery is not None and store.recovery.scanned_count == 500
    assert drain_all(store) == list(range(500))
    store.close()


@pytest.mark.parametrize("cut", [1, 4, 8, 20, 60, 91, 150])
def test_a_torn_last_record_is_cut_and_its_bytes_are_gone(tmp_path: Path, cut: int) -> None:
    store = open_store(tmp_path)
    results = fill(store, 5, queues=1)
    crash(store)
    last = results[-1]
    torn_at = last.commit_log_offset + last.size - cut
    overwrite(_log_file(tmp_path), torn_at, bytes(cut))
    store = open_store(tmp_path)
    assert drain(store) == [0, 1, 2, 3]
    assert store.log.max_offset == last.commit_log_offset
    assert not any(_log_file(tmp_path).read_bytes()[last.commit_log_offset :])
    assert put(store, draft(77)).queue_offset == 4
    dispatch_all(store)
    crash(store)
    store = open_store(tmp_path)
    assert drain(store) == [0, 1, 2, 3, 77]
    store.close()


def test_an_unflushed_log_survives_as_a_prefix(tmp_path: Path) -> None:
    """After a power loss pages of the unflushed tail are missing in any order: what follows one goes too."""
    store = open_store(tmp_path)
    fill(store, 50, queues=1)
    flush_all(store)
    flushed = store.log.flushed_offset
    fill(store, 50, start=50, queues=1)
    results_end = store.log.max_offset
    crash(store)
    overwrite(_log_file(tmp_path), flushed + 1000, bytes(512))
    store = open_store(tmp_path)
    kept = drain(store)
    assert kept == list(range(len(kept))) and 50 <= len(kept) < 100
    assert flushed <= store.log.max_offset < results_end
    assert not any(_log_file(tmp_path).read_bytes()[store.log.max_offset :])
    store.close()


def test_an_unflushed_tail_over_two_segments_is_cut_in_the_first(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    fill(store, 20, queues=1)
    flush_all(store)
    flushed = store.log.flushed_offset
    fill(store, 500, start=20, queues=1)
    assert _log_file(tmp_path, SEGMENT_SIZE).exists()
    crash(store)
    overwrite(_log_file(tmp_path), flushed, bytes(100))
    store = open_store(tmp_path)
    assert drain(store) == list(range(20))
    assert not _log_file(tmp_path, SEGMENT_SIZE).exists()
    assert put(store, draft(20)).commit_log_offset == flushed
    store.close()


def test_a_young_store_that_never_flushed_opens_after_a_power_cut(tmp_path: Path) -> None:
    """The head of the second segment is on the disk, a page of the first is not; nothing was promised."""
    store = open_store(tmp_path)
    results = fill(store, 500, queues=1)
    assert _log_file(tmp_path, SEGMENT_SIZE).exists()
    crash(store)
    overwrite(_log_file(tmp_path), results[30].commit_log_offset, bytes(4096))
    store = open_store(tmp_path)
    assert drain(store) == list(range(30))
    store.close()


@pytest.mark.parametrize("damage", [b"\xff", bytes(300)])
@pytest.mark.parametrize("closed", [False, True])
def test_damage_before_flushed_records_is_refused_by_name(
    tmp_path: Path, damage: bytes, closed: bool
) -> None:
    store = open_store(tmp_path)
    results = fill(store, 400, queues=1)
    flush_all(store)
    store.close() if closed else crash(store)
    overwrite(_log_file(tmp_path), results[10].commit_log_offset + 100, damage)
    before = tree_of(tmp_path / "commitlog")
    with pytest.raises(StoreError) as caught:
        open_store(tmp_path, is_strict=True)
    assert str(results[10].commit_log_offset) in caught.value.text
    assert _log_file(tmp_path).name in caught.value.text
    assert tree_of(tmp_path / "commitlog") == before
    with pytest.raises(StoreError):  # and the lock was let go
        open_store(tmp_path, is_strict=True)


@pytest.mark.parametrize("damage", [b"\xff", bytes(300)])
@pytest.mark.parametrize("closed", [False, True])
def test_damage_before_flushed_records_is_passed_over_and_reported(
    tmp_path: Path, damage: bytes, closed: bool
) -> None:
    store = open_store(tmp_path)
    results = fill(store, 400, queues=3)
    flush_all(store)
    store.close() if closed else crash(store)
    overwrite(_log_file(tmp_path), results[10].commit_log_offset + 100, damage)
    lost = {10} if len(damage) == 1 else {10, 11}
    store = open_store(tmp_path)
    assert store.recovery is not None and store.recovery.lost_bytes == 0
    assert store.recovery.damaged[0][0] == results[10].commit_log_offset
    for queue_id in range(3):
        numbers, damages = consume(store, queue_id=queue_id)
        assert numbers == [number for number in range(queue_id, 400, 3) if number not in lost]
        assert [item.queue_offset * 3 + queue_id for item in damages] == [
            number for number in sorted(lost) if number % 3 == queue_id
        ]
    assert put(store, draft(400)).commit_log_offset >= results[-1].commit_log_offset + results[-1].size
    store.close()


@pytest.mark.parametrize("at", [0, 4, 20, 60, 100])
def test_a_queue_is_rebuilt_around_damage(tmp_path: Path, at: int) -> None:
    """Size, magic, queue offset, store time or body of one record; and its queue is gone."""
    store = open_store(tmp_path, verify_on_open_bytes=1)
    results = fill(store, 400, queues=2)
    store.close()
    place = results[20].commit_log_offset
    overwrite(_log_file(tmp_path), place + at, b"\x5a")
    shutil.rmtree(tmp_path / "consumequeue" / "Orders" / "0")
    store = open_store(tmp_path, verify_on_open_bytes=1)
    numbers, damages = consume(store)
    whole = [number for number in range(0, 400, 2) if number != 20]
    if at == 60:
        assert (numbers, damages) == (list(range(0, 400, 2)), [])  # no checksum covers a store time
    else:
        assert numbers == whole and [item.queue_offset for item in damages] == [10]
        assert [item.commit_log_offset for item in damages] == [place]
    assert consume(store, queue_id=1) == (list(range(1, 400, 2)), [])
    store.close()


def test_damage_of_the_last_flushed_record_is_cut_and_reported(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    results = fill(store, 10, queues=1)
    store.close()
    overwrite(_log_file(tmp_path), results[-1].commit_log_offset + 100, b"\xff")
    store = open_store(tmp_path)
    assert drain(store) == list(range(9))
    assert store.recovery is not None and store.recovery.lost_bytes == results[-1].size
    store.close()


def test_a_missing_segment_is_refused(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    fill(store, 1000)
    store.close()
    _log_file(tmp_path, SEGMENT_SIZE).unlink()
    with pytest.raises(StoreError, match="hole"):
        open_store(tmp_path)


def test_missing_last_segments_are_refused(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    fill(store, 1000)
    store.close()
    sorted((tmp_path / "commitlog").iterdir())[-1].unlink()
    with pytest.raises(StoreError, match="segments are missing"):
        open_store(tmp_path)


def test_a_truncated_last_segment_is_cut_to_whole_records(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    results = fill(store, 100, queues=1)
    store.close()
    os.truncate(_log_file(tmp_path), results[80].commit_log_offset + 10)
    store = open_store(tmp_path)
    assert drain(store) == list(range(80))
    assert _log_file(tmp_path).stat().st_size == SEGMENT_SIZE
    store.close()


def test_a_truncated_middle_segment_is_refused(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    fill(store, 1000)
    store.close()
    os.truncate(_log_file(tmp_path), 1000)
    with pytest.raises(StoreError, match="1000 bytes"):
        open_store(tmp_path)


def test_a_half_written_batch_disappears_whole(tmp_path: Path) -> None:
    """Killed in the middle of an append: everything is there but the size of the first record."""
    store = open_store(tmp_path)
    put(store, draft(0))
    batch = store.log.put_batch(
        draft(), batch_of(*[BatchItem(0, b"%08d" % n, b"") for n in (1, 2, 3)]), NOW_MS
    )
    crash(store)
    overwrite(_log_file(tmp_path), batch.commit_log_offset, bytes(4))
    store = open_store(tmp_path)
    assert drain(store) == [0]
    assert not any(_log_file(tmp_path).read_bytes()[batch.commit_log_offset :])
    store.close()


@pytest.mark.parametrize("closed", [False, True])
def test_deleted_queues_come_back_from_the_log(tmp_path: Path, closed: bool) -> None:
    store = open_store(tmp_path, verify_on_open_bytes=1)
    fill(store, 500)
    flush_all(store)
    before = tree_of(tmp_path / "consumequeue")
    store.close() if closed else crash(store)
    for path in (tmp_path / "consumequeue" / "Orders" / "2").iterdir():
        path.unlink()
    (tmp_path / "consumequeue" / "Orders" / "2").rmdir()
    store = open_store(tmp_path, verify_on_open_bytes=1)
    assert tree_of(tmp_path / "consumequeue") == before
    store.close()


def _first_file(root: Path) -> Path:
    return root / "consumequeue" / "Orders" / "1" / "00000000000000000000"


def _last_file(root: Path) -> Path:
    return sorted((root / "consumequeue" / "Orders" / "1").iterdir())[-1]


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("kind", ["short", "short last", "hole", "beyond", "zeroed", "flipped end"])
def test_a_damaged_queue_is_rebuilt(tmp_path: Path, kind: str, closed: bool) -> None:
    store = open_store(tmp_path, verify_on_open_bytes=1)
    fill(store, 1000)
    flush_all(store)
    before = tree_of(tmp_path / "consumequeue")
    store.close() if closed else crash(store)
    if kind == "short":
        os.truncate(_first_file(tmp_path), 300)
    elif kind == "short last":
        os.truncate(_last_file(tmp_path), 300)
    elif kind == "hole":
        _first_file(tmp_path).with_name(f"{2000:020d}").unlink()
    elif kind == "beyond":
        overwrite(_last_file(tmp_path), 50 * 20, struct.pack(">qiq", 1 << 40, 200, 0))
    elif kind == "zeroed":
        overwrite(_last_file(tmp_path), 0, bytes(2000))
    elif kind == "flipped end":
        overwrite(_last_file(tmp_path), 49 * 20 + 6, b"\x01")
    store = open_store(tmp_path, verify_on_open_bytes=1)
    assert tree_of(tmp_path / "consumequeue") == before
    assert drain_all(store) == list(range(1000))
    store.close()


def test_a_store_of_another_engine_is_read_by_its_times(tmp_path: Path) -> None:
    """Its checkpoint has times only; after its crash the scan starts at a segment from before them."""
    store = open_store(tmp_path)
    fill(store, 1500)
    flush_all(store)
    before = tree_of(tmp_path / "consumequeue")
    crash(store)
    times = struct.pack(">5q", NOW_MS + 1400, NOW_MS + 1400, NOW_MS + 1400, 0, 0)
    (tmp_path / "checkpoint").write_bytes(times.ljust(4096, b"\0"))
    store = open_store(tmp_path)
    assert tree_of(tmp_path / "consumequeue") == before
    assert store.search.query("Orders", "K0000003", 5, 0, NOW_MS * 2).offsets
    assert store.search.query("Orders", "K0001499", 5, 0, NOW_MS * 2).offsets
    store.close()


def test_a_clean_store_of_another_engine_may_have_old_bytes_behind_its_end(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    results = fill(store, 100, queues=1)
    store.replica.truncate(results[60].commit_log_offset)
    store.close()
    (tmp_path / "checkpoint").write_bytes(struct.pack(">5q", *[NOW_MS] * 3, 0, 0).ljust(4096, b"\0"))
    overwrite(_log_file(tmp_path), results[60].commit_log_offset, b"\x11" * 300)
    store = open_store(tmp_path)
    assert drain(store) == list(range(60))
    store.close()


def test_progress_is_told(tmp_path: Path) -> None:
    from engine.store.message_store import MessageStore
    from tests.engine.store.samples import small_options

    store = open_store(tmp_path)
    fill(store, 50)
    end = store.log.max_offset
    crash(store)
    told: list[int] = []
    store = MessageStore.open(small_options(tmp_path), NOW_MS, lambda done, _: told.append(done))
    assert told[-1] == end
    store.close()


def test_store_times_do_not_go_back_over_a_restart(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    put(store, draft(0), NOW_MS + 9_000)
    store.close()
    store = open_store(tmp_path)
    assert put(store, draft(1), NOW_MS).store_timestamp == NOW_MS + 9_000
    store.close()
