"""The commit log as the broker uses it: puts, why they are refused, single records, offsets (`store.log`).

A put checks a draft, gives it its queue offset, and appends it. Every refusal is decided before the first
byte is written and means "not stored, and never will be". After the append nothing here can fail. The next
queue offset of every queue is given out here, long before the consume queue holds the unit; the table is
rebuilt from the consume queues at open (and when a slave becomes master) and never written by itself.

A record is asked for by its place, which may come from the wire (a message id): it is believed only when a
whole, readable record lies there that says so itself. One thread; what a `plan_` method returns may run in
any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from engine.errors import BadInput, DiskFull, StoreError
from engine.protocol._batches_cy import Batch, encode_batch_records
from engine.protocol._records_cy import scan_records
from engine.protocol._sends_cy import PlainSend
from engine.protocol.names import is_valid_topic
from engine.protocol.record_layout import MAX_PROPERTIES_BYTES
from engine.protocol.records import Record, RecordForm, decode_record
from engine.protocol.sys_flags import TRANSACTION_COMMIT, TRANSACTION_MASK, TRANSACTION_NONE
from engine.store.log.commit_log import CommitLog
from engine.store.log.log_end import record_after
from engine.store.reading.record_reads import OpenFiles, Place, RecordReads, plan_record_reads, view_log
from engine.store.results import MessageDraft, PutResult, PutStatus, QueueKey, StoreStats

# Half the time of calling the named tuple, on the path of every single put.
_new_tuple = tuple.__new__
_MAX_QUEUE_ID = 0x7FFF_FFFF
_MAX_FORMS = 16_384
_ROLL_AGAIN_MS = 250
"""How long puts are refused unseen after a roll found no room: each try may fill the disk to the brim."""
_QUEUED = (TRANSACTION_NONE, TRANSACTION_COMMIT)
"""Prepared and rolled-back messages lie in the log only."""
_FENCED = PutResult(PutStatus.FENCED, remark="a sync failed: the store takes no more writes")
_DISK_FULL = PutResult(PutStatus.DISK_FULL, remark="no room or no descriptor for queue and index files")
_SIZE_SIZE = 4
_SCAN_ROWS = 4096


class QueueOffsets:
    """The next queue offset of every queue."""

    def __init__(self) -> None:
        self.next: dict[QueueKey, int] = {}

    def adopt(self, ends: Iterable[tuple[QueueKey, int]]) -> None:
        """Forget everything and continue behind these ends."""
        self.next = dict(ends)

    def forget_topic(self, topic: str) -> None:
        for key in [key for key in self.next if key[0] == topic]:
            del self.next[key]


class MessageLog:
    def __init__(
        self, log: CommitLog, stats: StoreStats, *, store_host: bytes, max_message_size: int
    ) -> None:
        self._log = log
        self.queue_offsets = QueueOffsets()
        self._stats = stats
        self.store_host = store_host
        self._max_message_size = max_message_size
        self._forms: dict[str, RecordForm] = {}
        self.refusal: PutResult | None = None
        """What a put is answered at the moment, if that is known before trying."""
        self.is_fenced = False
        self.closed_for: str | None = None
        self._is_full = False
        self._no_roll: PutResult | None = None
        self._no_roll_ms = 0

    def put(self, draft: MessageDraft, now_ms: int) -> PutResult:
        if self.refusal is not None and not self._may_roll_again(now_ms):
            return self._refuse(self.refusal)
        topic, queue_id, flag, sys_flag, born_timestamp, born_host, retries, prepared, body, properties, _ = (
            draft
        )
        key = (topic, queue_id)
        queue_offset = self.queue_offsets.next.get(key, -1)
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
            self.queue_offsets.next[key] = queue_offset + 1
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
        next_offsets = self.queue_offsets.next
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
        first_queue_offset = self.queue_offsets.next.get(key, 0)
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
        self.queue_offsets.next[key] = first_queue_offset + batch.count
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
            form = RecordForm(topic.encode(), born_host_bytes, self.store_host)
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
        if key not in self.queue_offsets.next:
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

    # Why puts are refused: a failed sync (for good), a role that may not write, a full disk

    def fence(self) -> None:
        """A sync failed: nothing is written any more, for good."""
        self.is_fenced = True
        self._set_refusal()

    def note_full(self, is_full: bool) -> None:
        """Whether queues and index found no room on the disk."""
        if self._is_full != is_full:
            self._is_full = is_full
            self._set_refusal()

    def close_writes(self, reason: str) -> None:
        """Until `open_writes`: puts are refused, only `ReplicaLog.append` adds to the log."""
        self.closed_for = reason
        self._set_refusal()

    def open_writes(self) -> None:
        self.closed_for = None
        self._set_refusal()

    def _set_refusal(self) -> None:
        if self.is_fenced:
            self.refusal = _FENCED
        elif self.closed_for is not None:
            self.refusal = PutResult(PutStatus.SERVICE_NOT_AVAILABLE, remark=self.closed_for)
        else:
            self.refusal = _DISK_FULL if self._is_full else None

    # Offsets

    @property
    def min_offset(self) -> int:
        return self._log.min_offset

    @property
    def max_offset(self) -> int:
        return self._log.end_offset

    @property
    def flushed_offset(self) -> int:
        return self._log.flushed_offset

    def readable_end(self) -> int:
        return self._log.readable_end()

    def is_hot(self, commit_log_offset: int) -> bool:
        """Whether the record is likely to be in memory."""
        return commit_log_offset >= self._log.hot_from

    # Single records

    def raw_record_at(self, commit_log_offset: int, size: int | None = None) -> bytes | None:
        """The stored bytes of the whole, readable record at this place (of this size, if one is expected)."""
        readable_end = self._log.readable_end()
        if commit_log_offset < 0:
            return None
        head = self._log.read(commit_log_offset, _SIZE_SIZE)
        length = int.from_bytes(head, "big", signed=True)
        if length <= 0 or commit_log_offset + length > readable_end or (size is not None and size != length):
            return None
        data = self._log.read(commit_log_offset, length)
        rows, _, _ = scan_records(data, 0, len(data), True, 1, commit_log_offset)
        return data if rows else None

    def record_at(self, commit_log_offset: int) -> Record | None:
        data = self.raw_record_at(commit_log_offset)
        return decode_record(data, 0, False) if data is not None else None

    def plan_record(self, commit_log_offset: int) -> Callable[[], bytes | None]:
        """`raw_record_at` in two steps: call the second in any thread."""
        view = view_log(self._log)

        def read() -> bytes | None:
            files = OpenFiles()
            try:
                return view.record(files, commit_log_offset)
            finally:
                files.close()

        return read

    def plan_record_reads(self, places: Sequence[Place]) -> RecordReads:
        """`run` it in any thread; at once only when it is hot."""
        return plan_record_reads(self._log, places, max(self._log.hot_from, self._log.checked_from))

    def commits_from(self, commit_log_offset: int) -> Iterator[int]:
        """For each committed transaction from this record on: where its half record lies. Reads it all."""
        end_offset = self._log.readable_end()
        while commit_log_offset < end_offset:
            begin = commit_log_offset
            rows, commit_log_offset, _ = self._log.scan(begin, end_offset, _SCAN_ROWS, check_crc=False)
            for _, _, _, _, _, place, sys_flag, *_ in rows:
                if sys_flag & TRANSACTION_MASK == TRANSACTION_COMMIT:
                    record = self.record_at(place)
                    if record is not None:
                        yield record.prepared_transaction_offset
            if commit_log_offset == begin:
                follower = record_after(self._log.files, begin, end_offset)
                if follower is None:
                    return
                commit_log_offset = follower[0]


def _template(form: RecordForm, draft: MessageDraft, store_timestamp: int) -> bytes:
    """What all records of a batch have in common."""
    _, queue_id, _, sys_flag, born_timestamp, born_host, retries, prepared, _, _, _ = draft
    # fmt: off
    return form.encode(
        0, queue_id, 0, 0, 0, sys_flag, born_timestamp, born_host, store_timestamp, retries, prepared, b"",
        b"",
    )
    # fmt: on
