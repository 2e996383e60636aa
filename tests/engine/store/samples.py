"""Small stores and messages for the tests of this folder."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from engine.protocol._batches_cy import Batch, measure_batch
from engine.protocol.batches import BatchItem, encode_batch
from engine.protocol.properties import encode_properties
from engine.store.message_store import MessageStore
from engine.store.options import FlushDiskType, ReadLimits, StoreOptions
from engine.store.recovery.recovery import Recovery
from engine.store.results import (
    Arrival,
    ColdBody,
    Damage,
    GetResult,
    MessageDraft,
    PutResult,
    PutStatus,
)

NOW_MS = 1_700_000_000_000
BORN_HOST = b"\x7f\x00\x00\x01\x00\x00\x10\x00"
SEGMENT_SIZE = 64 << 10


def small_options(root: Path, *, sync: bool = False, **changes: object) -> StoreOptions:
    options = StoreOptions(
        root,
        mapped_file_size_commit_log=SEGMENT_SIZE,
        mapped_file_size_consume_queue=100 * 20,
        max_hash_slot_num=100,
        max_index_num=1000,
        max_message_size=16 << 10,
        pretouch_bytes=8 << 10,
        flush_disk_type=FlushDiskType.SYNC_FLUSH if sync else FlushDiskType.ASYNC_FLUSH,
        reads=ReadLimits(hot_window_bytes=1 << 30),
    )
    return dataclasses.replace(options, **changes)  # type: ignore[arg-type]


def open_store(root: Path, **changes: object) -> MessageStore:
    return MessageStore.open(small_options(root, **changes), NOW_MS)  # type: ignore[arg-type]


def draft(
    number: int = 0,
    *,
    topic: str = "Orders",
    queue_id: int = 0,
    body_size: int = 100,
    sys_flag: int = 0,
    **properties: str,
) -> MessageDraft:
    """A message whose body and unique key tell its number."""
    names = {"UNIQ_KEY": f"K{number:07d}", **properties}
    body = b"%08d" % number
    return MessageDraft(
        topic=topic,
        queue_id=queue_id,
        flag=0,
        sys_flag=sys_flag,
        born_timestamp=NOW_MS - 5,
        born_host=BORN_HOST,
        reconsume_times=0,
        prepared_transaction_offset=0,
        body=body * (body_size // 8),
        properties=encode_properties(names).encode(),
    )


def batch_of(*items: BatchItem) -> Batch:
    return measure_batch(encode_batch(items))


def put(store: MessageStore, message: MessageDraft, now_ms: int = NOW_MS) -> PutResult:
    result = store.log.put(message, now_ms)
    assert result.status is PutStatus.PUT_OK, result
    return result


def fill(
    store: MessageStore, count: int, *, start: int = 0, queues: int = 4, now_ms: int = NOW_MS
) -> list[PutResult]:
    """Messages `start` … round robin over the queues, and their dispatch."""
    results = [
        put(store, draft(number, queue_id=number % queues, TAGS=f"tag{number % 3}"), now_ms + number)
        for number in range(start, start + count)
    ]
    dispatch_all(store)
    return results


def dispatch_all(store: MessageStore, max_records: int = 64) -> list[Arrival]:
    arrivals = []
    while store.queues.has_undispatched():
        found = store.queues.dispatch(max_records)
        if not found and store.queues.has_undispatched():
            break
        arrivals += found
    return arrivals


def flush(store: MessageStore) -> None:
    plan = store.flush.plan_log(NOW_MS, force=True)
    if plan is not None:
        plan.run()
        store.flush.finish(plan, None)


def flush_all(store: MessageStore) -> None:
    """Log, queues, checkpoint: what the broker does every second."""
    flush(store)
    plan = store.flush.plan_queues()
    if plan is not None:
        plan.run()
        store.flush.finish(plan, None)


def crash(store: MessageStore) -> None:
    """Let go of everything as a killed process does: no flush, no checkpoint, the abort file stays."""
    store._release()


def expire(
    store: MessageStore, now_ms: int, hour: int, usage_ratio: float, manual: bool = False
) -> list[str]:
    """Delete what may go, log first; the paths deleted."""
    front = store.front
    start = front.plan(now_ms, hour=hour, disk_usage_ratio=usage_ratio, manual=manual)
    return list(front.delete_to(start, now_ms).paths)


def rebuild_queue(store: MessageStore, topic: str, queue_id: int) -> None:
    """Write a queue anew from the whole log, as recovery does with one that contradicts the log."""
    log, queues, index, dispatcher = store._commit_log, store._queue_table, store._index, store._dispatcher
    recovery = Recovery(log, queues, index, dispatcher, check_crc=True, is_strict=False, on_progress=None)
    recovery.rebuild_queues({(topic, queue_id)}, dispatcher.offset)


def body_of(store: MessageStore, result: GetResult) -> bytes:
    return result.body if result.cold is None else store.queues.read_cold(result.cold).body


def drain(store: MessageStore, topic: str = "Orders", queue_id: int = 0) -> list[int]:
    """Numbers of all messages of a queue, in order, as a consumer sees them."""
    from engine.protocol.records import decode_records

    numbers: list[int] = []
    offset = store.queues.min_offset(topic, queue_id)
    while offset < store.queues.max_offset(topic, queue_id):
        result = store.queues.get(topic, queue_id, offset, 32)
        records = decode_records(body_of(store, result))
        assert records, result
        for record in records:
            assert (record.topic, record.queue_id, record.queue_offset) == (topic, queue_id, offset)
            numbers.append(int(record.body[:8]))
            offset += 1
    return numbers


def drain_all(store: MessageStore, queues: int = 4) -> list[int]:
    return sorted(number for queue_id in range(queues) for number in drain(store, queue_id=queue_id))


def tree_of(folder: Path) -> dict[str, bytes]:
    """Every file below the folder with its content."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def overwrite(path: Path, pos: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(pos)
        file.write(data)


def consume(store: MessageStore, topic: str = "Orders", queue_id: int = 0) -> tuple[list[int], list[Damage]]:
    """Numbers of all messages as a consumer gets them that mends its queue and goes on behind damage."""
    from engine.protocol.records import decode_records

    numbers: list[int] = []
    damages: list[Damage] = []
    offset = store.queues.min_offset(topic, queue_id)
    while offset < store.queues.max_offset(topic, queue_id):
        result = store.queues.get(topic, queue_id, offset, 32)
        read = ColdBody(result.body, result.damage)
        if result.cold is not None:
            read = store.queues.read_cold(result.cold)
        for record in decode_records(read.body):
            assert (record.topic, record.queue_id, record.queue_offset) == (topic, queue_id, offset)
            numbers.append(int(record.body[:8]))
            offset += 1
        if read.damage is not None:
            assert read.damage.queue_offset == offset
            if not store.repairs.mend_queue(topic, queue_id, offset):
                damages.append(read.damage)
                offset += 1
    return numbers, damages
