"""Plain puts against ordinary ones: the same messages into two stores must leave the same files."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.protocol._sends_cy import PlainSend
from engine.store.message_store import MessageStore
from tests.engine.store.samples import BORN_HOST, NOW_MS, SEGMENT_SIZE, dispatch_all, draft, open_store, put

STORE_HOST = bytes.fromhex("7f00000100002a9f")
PLAIN = PlainSend("Orders", 4, STORE_HOST, b"", (b"<", b",", b",", b",", b",", b">"))


def put_plain(store: MessageStore, number: int, now_ms: int = NOW_MS) -> tuple[bytes, int] | None:
    message = draft(number, queue_id=number % 4)
    fields = {
        "a": "group",
        "b": "Orders",
        "c": "TBW102",
        "d": "4",
        "e": str(number % 4),
        "f": "0",
        "g": str(message.born_timestamp),
        "h": "0",
        "i": message.properties.decode(),
    }
    return store.log.put_plain(PLAIN, fields, bytes(message.body), 9, BORN_HOST, now_ms)


def put_somehow(store: MessageStore, number: int, now_ms: int) -> bool:
    if put_plain(store, number, now_ms) is not None:
        return True
    put(store, draft(number, queue_id=number % 4), now_ms)
    return False


def files_of(root: Path) -> dict[str, bytes]:
    folders = (root / "commitlog", root / "consumequeue")
    return {str(p.relative_to(root)): p.read_bytes() for f in folders for p in f.rglob("*") if p.is_file()}


@pytest.mark.parametrize("is_pooled", [False, True], ids=["mapped", "transient pool"])
def test_log_and_queues_are_the_same_over_several_segments(tmp_path: Path, is_pooled: bool) -> None:
    count = 3 * SEGMENT_SIZE // 200
    one = open_store(tmp_path / "plain", transient_store_pool_enable=is_pooled)
    other = open_store(tmp_path / "ordinary", transient_store_pool_enable=is_pooled)
    # The clock goes back now and then; store times must not.
    times = [NOW_MS + number % 50 for number in range(count)]
    were_plain = [put_somehow(one, number, times[number]) for number in range(count)]
    for number in range(count):
        put(other, draft(number, queue_id=number % 4), times[number])
    segments = one.log.max_offset // SEGMENT_SIZE
    assert segments >= 2
    # The first of each queue, and the first of each further segment, are the ordinary path's.
    assert were_plain.count(False) == 4 + segments
    assert one.stats.put_count == other.stats.put_count == count
    assert one.stats.put_bytes == other.stats.put_bytes
    for store in (one, other):
        store.flush.commit_transient()
        dispatch_all(store)
        store.close()
    assert files_of(tmp_path / "plain") == files_of(tmp_path / "ordinary")


def test_the_answer_names_the_place(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    first = put(store, draft(0))
    answer, size = put_plain(store, 0) or (b"", 0)
    assert answer[8:] == b"<%016X,0,1,K0000000,9>" % first.size
    assert store.log.max_offset == first.size + size
    store.close()


def test_a_fenced_store_takes_no_plain_put(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    put(store, draft(0))
    end = store.log.max_offset
    store.log.fence()
    assert put_plain(store, 0) is None
    assert store.log.max_offset == end
    store.close()
