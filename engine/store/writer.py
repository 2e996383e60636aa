"""Puts: checks a draft, gives it its queue offset, and appends it.

Every refusal is decided before the first byte is written and means "not stored, and never will be". After the
append nothing here can fail. One caller at a time.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.errors import BadInput, DiskFull, StoreError
from engine.protocol.batches import BatchItem
from engine.protocol.names import is_valid_topic
from engine.protocol.records import MAX_PROPERTIES_BYTES, encode_draft, stamp
from engine.protocol.sys_flags import TRANSACTION_COMMIT, TRANSACTION_MASK
from engine.store.commit_log import CommitLog
from engine.store.queue_offsets import QueueKey, QueueOffsets
from engine.store.results import MessageDraft, PutResult, PutStatus, StoreStats

# Half the time of calling the named tuple, on the path of every single put.
_new_tuple = tuple.__new__
_MAX_QUEUE_ID = 0x7FFF_FFFF


class Writer:
    def __init__(
        self,
        log: CommitLog,
        offsets: QueueOffsets,
        stats: StoreStats,
        *,
        store_host: bytes,
        max_message_size: int,
    ) -> None:
        self._log = log
        self._offsets = offsets
        self._stats = stats
        self._store_host = store_host
        self._max_message_size = max_message_size
        self.refusal: PutResult | None = None
        """Set when nothing may be written any more (fenced) or for the moment (disk full)."""

    def put(self, draft: MessageDraft, now_ms: int) -> PutResult:
        if self.refusal is not None:
            return self._refuse(self.refusal)
        topic, queue_id, body, properties = draft.topic, draft.queue_id, draft.body, draft.properties
        sys_flag = draft.sys_flag
        log = self._log
        key = (topic, queue_id)
        queue_offset = self._offsets.next.get(key, -1)
        if queue_offset < 0 or len(properties) > MAX_PROPERTIES_BYTES or len(body) > self._max_message_size:
            fault = self._fault(key, len(body), len(properties))
            if fault is not None:
                return self._refuse(fault)
            queue_offset = max(queue_offset, 0)
        try:
            record = encode_draft(
                topic=topic.encode(),
                queue_id=queue_id,
                flag=draft.flag,
                sys_flag=sys_flag,
                born_timestamp=draft.born_timestamp,
                born_host=draft.born_host,
                store_host=self._store_host,
                reconsume_times=draft.reconsume_times,
                prepared_transaction_offset=draft.prepared_transaction_offset,
                body=body,
                properties=properties,
            )
            offset = log.make_room(len(record))
        except (BadInput, StoreError) as error:
            return self._refuse(_refusal_of(error))
        if now_ms < log.last_store_timestamp:
            now_ms = log.last_store_timestamp
        else:
            log.last_store_timestamp = now_ms
        if not sys_flag & TRANSACTION_MASK or sys_flag & TRANSACTION_MASK == TRANSACTION_COMMIT:
            self._offsets.next[key] = queue_offset + 1
        else:  # prepared and rolled-back messages lie in the log only
            queue_offset = 0
        stamp(record, 0, queue_offset, offset, now_ms, sys_flag)
        size = len(record)
        log.write(record, size)
        stats = self._stats
        stats.put_count += 1
        stats.put_bytes += size
        return _new_tuple(PutResult, (PutStatus.PUT_OK, offset, size, queue_offset, now_ms, (), ""))

    def put_batch(self, draft: MessageDraft, items: Sequence[BatchItem], now_ms: int) -> PutResult:
        """All items or none, in one stretch of one segment, at consecutive queue offsets."""
        if self.refusal is not None:
            return self._refuse(self.refusal)
        key = (draft.topic, draft.queue_id)
        fault = self._batch_fault(key, items)
        if fault is not None:
            return self._refuse(fault)
        try:
            records = self._encode_items(draft, items)
            batch_size = sum(map(len, records))
            first_offset = self._log.make_room(batch_size)
        except (BadInput, StoreError) as error:
            return self._refuse(_refusal_of(error))
        first_queue_offset = self._offsets.next.get(key, 0)
        store_timestamp = max(now_ms, self._log.last_store_timestamp)
        offsets: list[int] = []
        offset = first_offset
        for number, record in enumerate(records):
            stamp(record, 0, first_queue_offset + number, offset, store_timestamp, draft.sys_flag)
            offsets.append(offset)
            offset += len(record)
        self._log.last_store_timestamp = store_timestamp
        self._offsets.next[key] = first_queue_offset + len(records)
        self._log.write(bytearray().join(records), len(records[0]))
        self._stats.put_count += len(records)
        self._stats.put_bytes += batch_size
        self._stats.batch_count += 1
        return PutResult(
            PutStatus.PUT_OK, first_offset, batch_size, first_queue_offset, store_timestamp, tuple(offsets)
        )

    def _encode_items(self, draft: MessageDraft, items: Sequence[BatchItem]) -> list[bytearray]:
        topic = draft.topic.encode()
        return [
            encode_draft(
                topic=topic,
                queue_id=draft.queue_id,
                flag=item.flag,
                sys_flag=draft.sys_flag,
                born_timestamp=draft.born_timestamp,
                born_host=draft.born_host,
                store_host=self._store_host,
                reconsume_times=draft.reconsume_times,
                prepared_transaction_offset=draft.prepared_transaction_offset,
                body=item.body,
                properties=item.properties,
            )
            for item in items
        ]

    def _batch_fault(self, key: QueueKey, items: Sequence[BatchItem]) -> PutResult | None:
        if not items:
            return PutResult(PutStatus.MESSAGE_ILLEGAL, remark="the batch is empty")
        whole = sum(len(item.body) for item in items)
        if whole > self._max_message_size:
            return PutResult(PutStatus.MESSAGE_ILLEGAL, remark=f"the batch has {whole} bytes")
        return self._fault(key, whole, max(len(item.properties) for item in items))

    def _fault(self, key: QueueKey, body_size: int, properties_size: int) -> PutResult | None:
        """What forbids the draft. The name is checked for a queue's first message only: it becomes a path."""
        if properties_size > MAX_PROPERTIES_BYTES:
            return PutResult(
                PutStatus.PROPERTIES_SIZE_EXCEEDED, remark=f"the properties have {properties_size} bytes"
            )
        if body_size > self._max_message_size:
            return PutResult(PutStatus.MESSAGE_ILLEGAL, remark=f"the body has {body_size} bytes")
        if key not in self._offsets.next:
            topic, queue_id = key
            if not is_valid_topic(topic) or not 0 <= queue_id <= _MAX_QUEUE_ID:
                return PutResult(PutStatus.MESSAGE_ILLEGAL, remark="the topic or queue id cannot be stored")
        return None

    def _refuse(self, refusal: PutResult) -> PutResult:
        self._stats.put_failed_count += 1
        return refusal


def _refusal_of(error: BadInput | StoreError) -> PutResult:
    if isinstance(error, BadInput):
        return PutResult(PutStatus.MESSAGE_ILLEGAL, remark=error.text)
    if isinstance(error, DiskFull):
        return PutResult(PutStatus.DISK_FULL, remark=error.text)
    return PutResult(PutStatus.SERVICE_NOT_AVAILABLE, remark=error.text)
