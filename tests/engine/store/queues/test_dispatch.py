"""What follows from the log: queue units, index entries, arrivals; the same however often it is done."""

from __future__ import annotations

import struct
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.protocol.hashes import tags_code
from engine.protocol.names import SCHEDULE_TOPIC
from engine.store.results import Arrival
from tests.engine.store.samples import (
    NOW_MS,
    crash,
    dispatch_all,
    draft,
    drain,
    fill,
    flush,
    open_store,
    put,
    tree_of,
)


def _unit_file(root: Path, topic: str, queue_id: int, base: int = 0) -> bytes:
    return (root / "consumequeue" / topic / str(queue_id) / f"{base:020d}").read_bytes()


def test_a_unit_says_where_how_long_and_which_tag(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    first, second = put(store, draft(0, TAGS="a")), put(store, draft(1))
    dispatch_all(store)
    data = _unit_file(tmp_path, "Orders", 0)
    golden = struct.pack(">qiq", 0, first.size, 97) + struct.pack(">qiq", first.size, second.size, 0)
    assert data[:40] == golden
    assert len(data) == 2000 and not any(data[40:])
    store.close()


def test_arrivals_are_reported_in_log_order(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    put(store, draft(0, TAGS="x"))
    put(store, draft(1, queue_id=2))
    assert dispatch_all(store) == [Arrival("Orders", 0, 1, tags_code("x")), Arrival("Orders", 2, 1, 0)]
    assert store.queues.dispatch(10) == []
    store.close()


def test_a_slice_is_bounded(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for n in range(10):
        put(store, draft(n))
    assert len(store.queues.dispatch(4)) == 4
    assert store.queues.max_offset("Orders", 0) == 4
    assert store.queues.has_undispatched()
    store.close()


def test_a_delayed_message_carries_its_deliver_time(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    put(store, draft(0, topic=SCHEDULE_TOPIC, queue_id=2, DELAY="3", TAGS="a"))
    put(store, draft(1, topic=SCHEDULE_TOPIC, queue_id=17, DELAY="99"))
    put(store, draft(2, topic="Orders", DELAY="3", TAGS="a"))
    codes = [arrival.tags_code for arrival in dispatch_all(store)]
    assert codes == [NOW_MS + 10_000, NOW_MS + 7_200_000, 97]
    store.close()


def test_prepared_and_rolled_back_messages_get_no_unit(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for n, flag in enumerate((0x0, 0x4, 0x8, 0xC)):
        put(store, draft(n, sys_flag=flag))
    dispatch_all(store)
    assert drain(store) == [0, 2]
    assert store.search.query("Orders", "K0000001", 10, 0, NOW_MS * 2).offsets
    assert not store.search.query("Orders", "K0000003", 10, 0, NOW_MS * 2).offsets
    store.close()


def test_nothing_unflushed_is_readable_under_sync_flush(tmp_path: Path) -> None:
    store = open_store(tmp_path, sync=True)
    put(store, draft(0))
    assert store.log.readable_end() == 0 and not store.queues.has_undispatched()
    assert store.queues.max_offset("Orders", 0) == 0
    flush(store)
    put(store, draft(1))
    dispatch_all(store)
    assert store.queues.max_offset("Orders", 0) == 1
    assert store.log.record_at(store.log.readable_end()) is None
    store.close()


def test_nothing_unconfirmed_is_readable_when_replicated(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    first = put(store, draft(0))
    put(store, draft(1))
    store.replica.confirmed_offset = first.size
    dispatch_all(store)
    assert store.queues.max_offset("Orders", 0) == 1
    store.replica.confirmed_offset = None
    dispatch_all(store)
    assert store.queues.max_offset("Orders", 0) == 2
    store.close()


def test_a_queue_restarts_when_its_topic_was_deleted(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    fill(store, 250, queues=1)
    assert store.queues.delete_topic("Orders") == 1
    assert not (tmp_path / "consumequeue" / "Orders").exists()
    fill(store, 5, start=1000, queues=1)
    assert drain(store) == list(range(1000, 1005))
    crash(store)
    (tmp_path / "checkpoint").unlink(missing_ok=True)
    store = open_store(tmp_path)
    assert drain(store) == list(range(1000, 1005))
    store.close()


_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 3), st.integers(0, 300)),
        st.tuples(st.just("dispatch"), st.integers(1, 5), st.just(0)),
        st.tuples(st.just("crash"), st.booleans(), st.just(0)),
        st.tuples(st.just("close"), st.just(0), st.just(0)),
    ),
    max_size=40,
)


@settings(max_examples=40, deadline=None)
@given(steps=_STEPS)
def test_the_files_depend_on_the_log_alone(steps: list[tuple[str, int, int]]) -> None:
    """However dispatch was sliced, repeated, interrupted and recovered: the same queues as in one go."""
    with TemporaryDirectory() as folder:
        root, twin_root = Path(folder) / "one", Path(folder) / "two"
        store, twin = open_store(root), open_store(twin_root)
        number = 0
        for kind, value, size in steps:
            if kind == "put":
                for target in (store, twin):
                    put(target, draft(number, queue_id=value, body_size=size * 8), NOW_MS)
                number += 1
            elif kind == "dispatch":
                store.queues.dispatch(value)
            else:
                crash(store) if kind == "crash" else store.close()
                if kind == "crash" and value:
                    (root / "checkpoint").unlink(missing_ok=True)
                store = open_store(root)
        dispatch_all(store)
        dispatch_all(twin, max_records=1000)
        assert tree_of(root / "consumequeue") == tree_of(twin_root / "consumequeue")
        assert _used(root / "commitlog") == _used(twin_root / "commitlog")
        store.close()
        twin.close()


def _used(folder: Path) -> dict[str, bytes]:
    return {name: data.rstrip(b"\0") for name, data in tree_of(folder).items() if any(data)}
