"""A log that has lost its first segments is opened with a word about it, or refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.errors import StoreError
from engine.store.recovery.log_start import LOG_START_FILE, missing_segments
from tests.engine.store.samples import (
    NOW_MS,
    SEGMENT_SIZE,
    consume,
    crash,
    expire,
    fill,
    flush_all,
    open_store,
)

DAY_MS = 86_400_000


@pytest.mark.parametrize(
    ("known", "start", "words"),
    [
        (None, 0, None),
        (None, 5 * SEGMENT_SIZE, None),
        (0, 0, None),
        (2 * SEGMENT_SIZE, SEGMENT_SIZE, None),
        (0, SEGMENT_SIZE, "1 segment is gone"),
        (SEGMENT_SIZE, 4 * SEGMENT_SIZE, "3 segments are gone"),
    ],
)
def test_what_is_missing(known: int | None, start: int, words: str | None) -> None:
    found = missing_segments(known, start, SEGMENT_SIZE)
    assert found is None if words is None else found is not None and words in found


@pytest.mark.parametrize("is_first_life", [True, False])
def test_a_missing_first_segment_is_named(tmp_path: Path, is_first_life: bool) -> None:
    store = open_store(tmp_path)
    fill(store, 1000)
    flush_all(store)
    crash(store) if is_first_life else store.close()
    (tmp_path / "commitlog" / f"{0:020d}").unlink()
    with pytest.raises(StoreError, match="started with 00000000000000000000") as caught:
        open_store(tmp_path, is_strict=True)
    assert "--strict" in caught.value.text
    store = open_store(tmp_path)
    assert store.missing is not None and "00000000000000065536" in store.missing
    for queue_id in range(4):
        numbers, damages = consume(store, queue_id=queue_id)
        assert numbers[-1] == 996 + queue_id and len(numbers) > 100 and damages == []
    store.close()
    store = open_store(tmp_path, is_strict=True)
    assert store.missing is None
    store.close()


def test_segments_that_expired_are_not_missed(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    fill(store, 1000)
    flush_all(store)
    assert expire(store, NOW_MS * 10, 4, 0.1, manual=True)
    assert store.log.min_offset > 0
    crash(store)
    store = open_store(tmp_path, is_strict=True)
    assert store.missing is None
    assert (tmp_path / LOG_START_FILE).stat().st_mode & 0o777 == 0o600
    store.close()


@pytest.mark.parametrize("page", [b"", b"{", b'{"logStart":"x"}', b"\0" * 4096])
def test_a_page_that_cannot_be_read_says_nothing(tmp_path: Path, page: bytes) -> None:
    store = open_store(tmp_path)
    fill(store, 1000)
    store.close()
    (tmp_path / LOG_START_FILE).write_bytes(page)
    (tmp_path / "commitlog" / f"{0:020d}").unlink()
    store = open_store(tmp_path, is_strict=True)
    assert store.missing is None
    store.close()
