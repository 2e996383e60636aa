"""transientStorePoolEnable: what is committed survives the process, what is not was never readable."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.errors import BadInput
from tests.engine.store.samples import (
    crash,
    dispatch_all,
    draft,
    drain,
    open_store,
    put,
    small_options,
)


def test_nothing_uncommitted_is_readable(tmp_path: Path) -> None:
    store = open_store(tmp_path, transient_store_pool_enable=True)
    result = put(store, draft(0))
    assert not store.queues.has_undispatched() and store.log.record_at(0) is None
    store.flush.commit_transient()
    assert store.log.readable_end() == result.size
    dispatch_all(store)
    assert drain(store) == [0]
    store.close()


def test_a_kill_loses_what_was_not_committed_and_nothing_else(tmp_path: Path) -> None:
    store = open_store(tmp_path, transient_store_pool_enable=True)
    for n in range(5):
        put(store, draft(n))
    store.flush.commit_transient()
    for n in range(5, 8):
        put(store, draft(n))
    crash(store)
    store = open_store(tmp_path, transient_store_pool_enable=True)
    assert drain(store) == [0, 1, 2, 3, 4]
    assert put(store, draft(5)).queue_offset == 5
    store.close()
    store = open_store(tmp_path)
    assert drain(store) == [0, 1, 2, 3, 4, 5]
    store.close()


def test_segments_roll_and_a_reused_buffer_leaves_no_old_bytes(tmp_path: Path) -> None:
    store = open_store(tmp_path, transient_store_pool_enable=True)
    plain = open_store(tmp_path / "plain")
    for n in range(1000):
        message = draft(n, body_size=n % 50 * 8 + 8)
        put(store, message)
        put(plain, message)
        if n % 37 == 0:
            store.flush.commit_transient()
    store.close()
    plain.close()
    for path in (tmp_path / "plain" / "commitlog").iterdir():
        assert (tmp_path / "commitlog" / path.name).read_bytes() == path.read_bytes()


def test_it_needs_asynchronous_flush(tmp_path: Path) -> None:
    with pytest.raises(BadInput):
        small_options(tmp_path, sync=True, transient_store_pool_enable=True)
