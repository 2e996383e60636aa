"""Puts: checks a draft, gives it its queue offset, and appends it.

Every refusal is decided before the first byte is written and means "not stored, and never will be". After the
append nothing here can fail. One caller at a time.
"""

from __future__ import annotations

from engine.errors import BadInput, DiskFull, StoreError
from engine.protocol._batches_cy import Batch, encode_batch_records
from engine.protocol._sends_cy import PlainSend
from engine.protocol.names import is_valid_topic
from engine.protocol.record_layout import MAX_PROPERTIES_BYTES
from engine.protocol.records import RecordForm
from engine.protocol.sys_flags import TRANSACTION_COMMIT, TRANSACTION_MASK, TRANSACTION_NONE
from engine.store.log.commit_log import CommitLog
from engine.store.queues.queue_offsets import QueueKey, QueueOffsets
from engine.store.results import MessageDraft, PutResult, PutStatus, StoreStats

# Half the time of calling the named tuple, on the path of every single put.
_new_tuple = tuple.__new__
_MAX_QUEUE_ID = 0x7FFF_FFFF
_MAX_FORMS = 16_384
_ROLL_AGAIN_MS = 250
"""How long puts are refused unseen after a roll found no room: each try may fill the disk to the brim."""
_QUEUED = (TRANSACTION_NONE, TRANSACTION_COMMIT)
"""Prepared and rolled-back messages lie in the log only."""


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
        self._forms: dict[str, RecordForm] = {}
        self.refusal: PutResult | None = None
        """Set when nothing may be written any more (fenced) or for the moment (disk full)."""
        self._no_roll: PutResult | None = None
        self._no_roll_ms = 0

    def put(self, draft: MessageDraft, now_ms: int) -> PutResult:
        if self.refusal is not None and not self._may_roll_again(now_ms):
            return self._refuse(self.refusal)
        topic, queue_id, flag, sys_flag, born_timestamp, born_host, retries, prepared, body, properties, _ = (
            draft
        )
        key = (topic, queue_id)
        queue_offset = self._offsets.next.get(key, -1)
        if queue_offset < 0 or len(properties) > MAX_PROPERTIES_BYTES or len(body) > self._max_message_size:
            fault = self._fault(key, len(body), len(properties))
            if fault is not None:
                return self._refuse(fault)
            queue_offset = max(queue_offset, 0)
        is_queued = sys_flag & TRANSACTION_MASK in _QUEUED
        if not is_queued:
            queue_offset = 0
        log = self._log
        if now_ms < log.last_store_timestamp:
            now_ms = log.last_store_timestamp
        try:
            form = self._forms.get(topic)
            if form is None or form.born_host_bytes != len(born_host):
                form = self._form(topic, len(born_host))
            size = form.overhead + len(body) + len(properties)
            offset = log.make_room(size)
            # fmt: off
            record = form.encode(
                0, queue_id, flag, queue_offset, offset, sys_flag, born_timestamp, born_host, now_ms,
                retries, prepared, body, properties,
            )
            # fmt: on
        except (BadInput, StoreError) as error:
            return self._refuse(self._refusal_of(error, now_ms))
        log.last_store_timestamp = now_ms
        if is_queued:
            self._offsets.next[key] = queue_offset + 1
        log.write(record, size)
        stats = self._stats
        stats.put_count += 1
        stats.put_bytes += size
        return _new_tuple(PutResult, (PutStatus.PUT_OK, offset, size, queue_offset, now_ms, (), ""))

    def put_plain(
        self,
        plain: PlainSend,
        fields: dict[str, str],
        body: bytes,
        opaque: int,
        born_host: bytes,
        now_ms: int,
    ) -> tuple[bytes, int] | None:
        """A plain send from its header's fields to its answer: the answer's frame and the record's size. None
        when anything stands in its way (a refusal, a new queue, the end of a segment): nothing has been done
        then, and `put` knows what to do."""
        log = self._log
        if self.refusal is not None or len(body) > self._max_message_size:
            return None
        if now_ms < log.last_store_timestamp:
            now_ms = log.last_store_timestamp
        next_offsets = self._offsets.next
        made = plain.put(fields, body, opaque, born_host, next_offsets, log.end_offset, log.room_end, now_ms)
        if made is None:
            return None
        record, answer, key, queue_offset = made
        size = len(record)
        log.last_store_timestamp = now_ms
        next_offsets[key] = queue_offset + 1
        log.write(record, size)
        stats = self._stats
        stats.put_count += 1
        stats.put_bytes += size
        return answer, size

    def put_batch(self, draft: MessageDraft, batch: Batch, now_ms: int) -> PutResult:
        """All messages or none, in one stretch of one segment, at consecutive queue offsets."""
        if self.refusal is not None and not self._may_roll_again(now_ms):
            return self._refuse(self.refusal)
        key = (draft.topic, draft.queue_id)
        fault = self._fault(key, batch.body_bytes, 0)
        if fault is not None:
            return self._refuse(fault)
        first_queue_offset = self._offsets.next.get(key, 0)
        store_timestamp = max(now_ms, self._log.last_store_timestamp)
        try:
            form = self._form(draft.topic, len(draft.born_host))
            offset = self._log.make_room(batch.count * form.overhead + batch.content_bytes)
            template = _template(form, draft, store_timestamp)
            records, offsets = encode_batch_records(
                batch, template, form.fixed_bytes, first_queue_offset, offset
            )
        except (BadInput, StoreError) as error:
            return self._refuse(self._refusal_of(error, now_ms))
        self._log.last_store_timestamp = store_timestamp
        self._offsets.next[key] = first_queue_offset + batch.count
        self._log.write(records, offsets[1] - offset)
        self._stats.put_count += batch.count
        self._stats.put_bytes += len(records)
        self._stats.batch_count += 1
        return PutResult(
            PutStatus.PUT_OK,
            offset,
            len(records),
            first_queue_offset,
            store_timestamp,
            tuple(offsets[:-1]),
        )

    def _form(self, topic: str, born_host_bytes: int) -> RecordForm:
        """The topic's form, made anew when its producers change between kinds of address."""
        form = self._forms.get(topic)
        if form is None or form.born_host_bytes != born_host_bytes:
            form = RecordForm(topic.encode(), born_host_bytes, self._store_host)
            if len(self._forms) >= _MAX_FORMS:
                self._forms.clear()
            self._forms[topic] = form
        return form

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

    def _may_roll_again(self, now_ms: int) -> bool:
        """Lifts the refusal of a roll without room: when a segment is ready, or enough time has passed."""
        if self.refusal is not self._no_roll:
            return False
        if not self._log.next_segment.is_ready and 0 <= now_ms - self._no_roll_ms < _ROLL_AGAIN_MS:
            return False
        self.refusal = self._no_roll = None
        return True

    def _refusal_of(self, error: BadInput | StoreError, now_ms: int) -> PutResult:
        if isinstance(error, BadInput):
            return PutResult(PutStatus.MESSAGE_ILLEGAL, remark=error.text)
        status = PutStatus.DISK_FULL if isinstance(error, DiskFull) else PutStatus.SERVICE_NOT_AVAILABLE
        self.refusal = self._no_roll = PutResult(status, remark=error.text)
        self._no_roll_ms = now_ms
        return self.refusal

    def _refuse(self, refusal: PutResult) -> PutResult:
        self._stats.put_failed_count += 1
        return refusal


def _template(form: RecordForm, draft: MessageDraft, store_timestamp: int) -> bytes:
    """What all records of a batch have in common."""
    _, queue_id, _, sys_flag, born_timestamp, born_host, retries, prepared, _, _, _ = draft
    # fmt: off
    return form.encode(
        0, queue_id, 0, 0, 0, sys_flag, born_timestamp, born_host, store_timestamp, retries, prepared, b"",
        b"",
    )
    # fmt: on
