"""What a put leaves in the commit log."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from engine.protocol.batches import BatchItem
from engine.protocol.records import decode_record
from engine.store.results import PutStatus
from tests.engine.store.samples import NOW_MS, SEGMENT_SIZE, batch_of, draft, open_store, put


def test_the_stored_bytes_are_the_record(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    message = draft(7, body_size=8)._replace(topic="T", queue_id=3, flag=9, properties=b"TAGS\x01a\x02")
    result = put(store, message)
    golden = (
        struct.pack(">iI", 91 + 8 + 1 + 7, 0xDAA320A7)
        + bytes.fromhex("7bd4ddc1")  # CRC32 of the body without the top bit
        + struct.pack(">iiqqi", 3, 9, 0, 0, 0)
        + struct.pack(">q", NOW_MS - 5)
        + bytes.fromhex("7f00000100001000")
        + struct.pack(">q", NOW_MS)
        + bytes.fromhex("7f00000100002a9f")
        + struct.pack(">iq", 0, 0)
        + struct.pack(">i", 8)
        + b"00000007"
        + b"\x01T"
        + struct.pack(">h", 7)
        + b"TAGS\x01a\x02"
    )
    stored = (tmp_path / "commitlog" / "00000000000000000000").read_bytes()
    assert (result.commit_log_offset, result.size, result.queue_offset) == (0, len(golden), 0)
    assert stored[:8] + stored[12:107] == golden[:8] + golden[12:]
    assert decode_record(stored, 0, True).body == b"00000007"
    assert not any(stored[107:])
    store.close()


def test_queue_offsets_count_by_queue(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    offsets = [put(store, draft(n, queue_id=n % 2)).queue_offset for n in range(6)]
    assert offsets == [0, 0, 1, 1, 2, 2]
    store.close()


def test_a_record_that_does_not_fit_starts_the_next_segment_behind_a_blank(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    results = [put(store, draft(n, body_size=8000)) for n in range(9)]
    last_of_first, first_of_second = results[7], results[8]
    assert first_of_second.commit_log_offset == SEGMENT_SIZE
    blank_at = last_of_first.commit_log_offset + last_of_first.size
    stored = (tmp_path / "commitlog" / "00000000000000000000").read_bytes()
    assert stored[blank_at : blank_at + 8] == struct.pack(">iI", SEGMENT_SIZE - blank_at, 0xCBD43194)
    assert sorted(path.name for path in (tmp_path / "commitlog").iterdir()) == [
        "00000000000000000000",
        f"{SEGMENT_SIZE:020d}",
    ]
    store.close()


def test_a_record_that_leaves_just_room_for_a_blank_stays(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    message = draft(0, body_size=0)
    overhead = put(store, message).size
    room = SEGMENT_SIZE - overhead - 4 * (overhead + 15000)
    for _ in range(4):
        put(store, message._replace(body=bytes(15000)))
    exact = put(store, message._replace(body=bytes(room - overhead - 8)))
    assert exact.commit_log_offset + exact.size == SEGMENT_SIZE - 8
    assert put(store, message).commit_log_offset == SEGMENT_SIZE
    store.close()


def test_store_times_never_go_back(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    times = [put(store, draft(n), now_ms).store_timestamp for n, now_ms in enumerate((100, 90, 110, 0))]
    assert times == [100, 100, 110, 110]
    store.close()


def test_a_batch_is_one_stretch_with_consecutive_queue_offsets(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    put(store, draft(0))
    items = [BatchItem(n, b"%08d" % n, b"") for n in range(1, 4)]
    result = store.log.put_batch(draft(), batch_of(*items), NOW_MS)
    records = [store.log.record_at(offset) for offset in result.offsets]
    assert result.queue_offset == 1
    assert [record.queue_offset for record in records if record] == [1, 2, 3]
    assert [record.flag for record in records if record] == [1, 2, 3]
    assert result.offsets[0] == result.commit_log_offset
    assert sum(record.size for record in records if record) == result.size
    store.close()


def test_a_batch_never_crosses_a_segment(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for n in range(7):
        put(store, draft(n, body_size=8000))
    items = [BatchItem(0, bytes(5000), b"") for _ in range(3)]
    result = store.log.put_batch(draft(), batch_of(*items), NOW_MS)
    assert result.commit_log_offset == SEGMENT_SIZE
    assert result.offsets[-1] < 2 * SEGMENT_SIZE
    store.close()


def test_a_batch_of_too_many_bytes_stores_nothing(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    items = [BatchItem(0, bytes(9000), b""), BatchItem(0, bytes(9000), b"")]
    assert store.log.put_batch(draft(), batch_of(*items), NOW_MS).status is PutStatus.MESSAGE_ILLEGAL
    assert store.log.max_offset == 0
    assert put(store, draft()).queue_offset == 0
    store.close()


@pytest.mark.parametrize(
    ("message", "status"),
    [
        (draft(body_size=16 << 10)._replace(body=bytes((16 << 10) + 1)), PutStatus.MESSAGE_ILLEGAL),
        (draft()._replace(properties=bytes(32768)), PutStatus.PROPERTIES_SIZE_EXCEEDED),
        (draft(topic="../etc"), PutStatus.MESSAGE_ILLEGAL),
        (draft(topic="a/b"), PutStatus.MESSAGE_ILLEGAL),
        (draft(topic=""), PutStatus.MESSAGE_ILLEGAL),
        (draft(queue_id=-1), PutStatus.MESSAGE_ILLEGAL),
        (draft(queue_id=1 << 31), PutStatus.MESSAGE_ILLEGAL),
        (draft()._replace(flag=1 << 40), PutStatus.MESSAGE_ILLEGAL),
        (draft()._replace(born_host=b"123"), PutStatus.MESSAGE_ILLEGAL),
    ],
)
def test_what_cannot_be_stored_is_refused_before_the_append(
    tmp_path: Path, message: object, status: PutStatus
) -> None:
    store = open_store(tmp_path)
    assert store.log.put(message, NOW_MS).status is status  # type: ignore[arg-type]
    assert store.log.max_offset == 0
    store.close()


def test_a_message_larger_than_a_segment_is_refused(tmp_path: Path) -> None:
    store = open_store(tmp_path, max_message_size=1 << 20)
    result = store.log.put(draft()._replace(body=bytes(SEGMENT_SIZE)), NOW_MS)
    assert result.status is PutStatus.MESSAGE_ILLEGAL
    assert put(store, draft()).commit_log_offset == 0
    store.close()


def test_prepared_messages_take_no_queue_offset(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    put(store, draft(0))
    assert put(store, draft(1, sys_flag=0x4)).queue_offset == 0
    assert put(store, draft(2)).queue_offset == 1
    store.close()


def test_a_longer_topic_name_uses_the_second_magic(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    topic = "%RETRY%" + "g" * 200
    put(store, draft(1, topic=topic))
    record = store.log.record_at(0)
    assert record is not None and record.topic == topic and record.magic & 0xFFFFFFFF == 0xDAA320AB
    store.close()
