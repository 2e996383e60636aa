"""The revive log: checkpoints and acknowledgements as messages of rmq_sys_REVIVE_LOG_<cluster>.

The order that survives kill -9: a checkpoint is appended before the messages are given and before the group's
offset moves; an acknowledgement is appended before it is answered; a message that comes back is appended to
its retry topic before its acknowledgement here. A start reads each revive queue from the committed offset of
the system group and rebuilds the table; for pops newer than the saved offsets it also moves the groups'
offsets, so that acknowledged messages are not given again. The system group's offsets are committed only once
the log is on disk up to the point where they were computed.

Unlike Apache's broker, which lets a timer bring these messages at their time, ours writes them at once and
keeps the times in memory; records that an Apache broker still had on its timers when it handed over its store
arrive later, and are read then. Loop thread only.

`UnfinishedPop` completes what a crash interrupted: a revived message, or a changed invisible time. Each is
a pair of appends, made in one turn of the loop so that nothing else stands between them; a crash in between
leaves the first of the pair as the last record of the log. A start that finds it there appends the second,
the acknowledgement of the older pop: otherwise the message would be open twice and come back twice. Only when
the log began a new file at that moment does the pair stay incomplete, and the message comes twice.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from engine.broker.delivery.parked_messages import draft_of, read_queue
from engine.broker.offsets.offset_table import ConsumerOffsets
from engine.broker.pop.checkpoints import Checkpoints, OpenCheckpoint
from engine.broker.pop.pop_requests import comes_back_in, retry_draft
from engine.broker.settings.options import LiveOptions
from engine.errors import BadRequest
from engine.protocol.bodies.pop import (
    ACK_TAG,
    BATCH_ACK_TAG,
    CHECKPOINT_TAG,
    CheckpointKey,
    PopAck,
    PopCheckpoint,
)
from engine.protocol.names import is_valid_group, is_valid_topic
from engine.protocol.properties import Property, encode_properties
from engine.protocol.records import Record
from engine.store.log.message_log import MessageLog
from engine.store.log.replica_log import ReplicaLog
from engine.store.queues.message_queues import MessageQueues
from engine.store.results import MessageDraft, PutResult, PutStatus

log = logging.getLogger(__name__)

REVIVE_GROUP = "CID_RMQ_SYS_REVIVE_GROUP"
REVIVE_QUEUES = 8
_LATE_ACK_MS = 3_000
"""How long a checkpoint from a timer waits for acknowledgements that are still on the timer."""


@dataclass(eq=False, repr=False)
class ReviveLog:
    log: MessageLog
    queues: MessageQueues
    replica: ReplicaLog
    topic: str
    broker_name: str
    checkpoints: Checkpoints
    offsets: ConsumerOffsets
    appended: Callable[[], None]
    _next: dict[int, int] = field(default_factory=dict, init=False)
    """The first unread message of each revive queue."""
    _own: dict[int, set[int]] = field(
        default_factory=lambda: {queue: set() for queue in range(REVIVE_QUEUES)}, init=False
    )
    _staged: tuple[dict[int, int], int] | None = field(default=None, init=False)

    # -- writing --------------------------------------------------------------------------------------------

    def checkpoint(
        self,
        topic: str,
        group: str,
        queue_id: int,
        start_offset: int,
        queue_offsets: list[int],
        *,
        revive_queue_id: int,
        invisible_ms: int,
        now_ms: int,
        first_pop_ms: int | None = None,
    ) -> PutResult:
        """`first_pop_ms`: the messages were popped then, and only their invisible time is new."""
        checkpoint = PopCheckpoint(
            start_offset,
            now_ms,
            invisible_ms,
            num=len(queue_offsets),
            queue_id=queue_id,
            topic=topic,
            group=group,
            diffs=tuple(offset - start_offset for offset in queue_offsets),
            broker_name=self.broker_name,
        )
        due_ms = checkpoint.revive_time_ms
        first = None if first_pop_ms is None else str(first_pop_ms)
        result = self._put(checkpoint, CHECKPOINT_TAG, revive_queue_id, due_ms, now_ms, first)
        if result.status is PutStatus.PUT_OK:
            self.checkpoints.note(checkpoint, revive_queue_id, result.queue_offset, due_ms)
        return result

    def unacked(self, key: CheckpointKey) -> list[int]:
        entry = self.checkpoints.find(key)
        return [] if entry is None else list(entry.unacked)

    def is_open(self, key: CheckpointKey, queue_offset: int) -> bool:
        return bool(self.checkpoints.unacked_of(key, [queue_offset]))

    def ack(self, key: CheckpointKey, queue_offsets: list[int], now_ms: int) -> PutResult | None:
        """None: none of these messages is open, and nothing changes."""
        topic, group, queue_id, start_offset, pop_time_ms = key
        entry = self.checkpoints.find(key)
        unacked = self.checkpoints.unacked_of(key, queue_offsets)
        if entry is None or not unacked:
            return None
        many = tuple(unacked) if len(unacked) > 1 else None
        ack = PopAck(unacked[0], start_offset, group, topic, queue_id, pop_time_ms, self.broker_name, many)
        result = self._put(ack, ack.tag, entry.revive_queue_id, entry.due_ms, now_ms)
        if result.status is PutStatus.PUT_OK:
            self.checkpoints.ack(key, unacked)
        return result

    def _put(
        self,
        body: PopCheckpoint | PopAck,
        tag: str,
        revive_queue_id: int,
        due_ms: int,
        now_ms: int,
        first_pop_time: str | None = None,
    ) -> PutResult:
        names: dict[str, str | None] = {
            Property.TAGS: tag,
            Property.UNIQ_KEY: body.unique_key(),
            # Apache's broker takes this for the time at which a timer delivered the message.
            Property.TIMER_DELIVER_MS: str(due_ms),
            Property.TIMER_OUT_MS: str(due_ms),
            Property.FIRST_POP_TIME: first_pop_time,
        }
        properties = encode_properties(names).encode()
        host = self.log.store_host
        draft = MessageDraft(self.topic, revive_queue_id, 0, 0, now_ms, host, 0, 0, body.encode(), properties)
        result = self.log.put(draft, now_ms)
        if result.status is PutStatus.PUT_OK:
            self._own[revive_queue_id].add(result.queue_offset)
            self.appended()
        return result

    # -- reading --------------------------------------------------------------------------------------------

    def load(self) -> None:
        """Before requests are served: it may wait for the disk."""
        self.checkpoints.clear()
        self._own = {queue: set() for queue in range(REVIVE_QUEUES)}
        self._staged = None
        # The saved offsets include all pops before this moment.
        known_until_ms = self.offsets.version.timestamp
        for queue_id in range(REVIVE_QUEUES):
            queues = self.queues
            low, high = queues.min_offset(self.topic, queue_id), queues.max_offset(self.topic, queue_id)
            committed = self.offsets.committed(self.topic, REVIVE_GROUP, queue_id) or 0
            begin = min(max(committed, low), high)
            for record in read_queue(queues, self.topic, queue_id, begin):
                checkpoint = self._feed(record, queue_id, 0)
                is_renewed = Property.FIRST_POP_TIME in record.properties
                if checkpoint is not None and checkpoint.pop_time >= known_until_ms and not is_renewed:
                    self._move_group(checkpoint)
            self._next[queue_id] = high
        if len(self.checkpoints):
            log.info("%d pops are not acknowledged", len(self.checkpoints))

    def catch_up(self, now_ms: int) -> None:
        """Read records that others (the timers of an Apache store) have appended to the log."""
        for queue_id, own in self._own.items():
            end = self.queues.max_offset(self.topic, queue_id)
            at = self._next.get(queue_id, 0)
            while at < end and at in own:
                own.remove(at)
                at += 1
            if at < end:
                for record in read_queue(self.queues, self.topic, queue_id, at):
                    if record.queue_offset not in own:
                        self._feed(record, queue_id, now_ms + _LATE_ACK_MS)
                    own.discard(record.queue_offset)
                at = end
            self._next[queue_id] = at

    def _feed(self, record: Record, queue_id: int, earliest_ms: int) -> PopCheckpoint | None:
        """Returns the checkpoint, if it is one."""
        try:
            if record.tags == CHECKPOINT_TAG:
                checkpoint = PopCheckpoint.decode(record.body)
                if is_valid_topic(checkpoint.topic) and is_valid_group(checkpoint.group):
                    due_ms = max(checkpoint.revive_time_ms, earliest_ms)
                    self.checkpoints.note(checkpoint, queue_id, record.queue_offset, due_ms)
                    return checkpoint
            elif record.tags in (ACK_TAG, BATCH_ACK_TAG):
                ack = PopAck.decode(record.body)
                self.checkpoints.ack(ack.key, ack.acked_offsets())
        except BadRequest as error:
            log.warning("message %d of %s@%d: %s", record.queue_offset, self.topic, queue_id, error.text)
        return None

    def _move_group(self, checkpoint: PopCheckpoint) -> None:
        topic, group, queue_id, *_ = checkpoint.key
        committed = self.offsets.committed(topic, group, queue_id) or 0
        behind = max(checkpoint.offsets(), default=-1) + 1
        if committed < behind:
            self.offsets.commit(topic, group, queue_id, behind)

    # -- where a start reads from ---------------------------------------------------------------------------

    def commit_offsets(self) -> None:
        self._commit_staged()
        if self._staged is None:
            self._staged = self._read_from(), self.log.max_offset
            self._commit_staged()

    def _read_from(self) -> dict[int, int]:
        places: dict[int, int] = {}
        for queue_id in range(REVIVE_QUEUES):
            first = self.checkpoints.first_open(queue_id)
            places[queue_id] = self._next.get(queue_id, 0) if first is None else first
        return places

    def _commit_staged(self) -> None:
        if self._staged is None or self.replica.kept_end < self._staged[1]:
            return
        for queue_id, queue_offset in self._staged[0].items():
            if self.offsets.committed(self.topic, REVIVE_GROUP, queue_id) != queue_offset and queue_offset:
                self.offsets.commit(self.topic, REVIVE_GROUP, queue_id, queue_offset)
        self._staged = None


@dataclass(eq=False, repr=False)
class UnfinishedPop:
    log: MessageLog
    queues: MessageQueues
    revive_topic: str
    checkpoints: Checkpoints
    revive_log: ReviveLog
    live: LiveOptions

    def finish(self, now_ms: int) -> None:
        """After the checkpoints are read and before anything is appended."""
        for queue_id in range(REVIVE_QUEUES):
            record = self._last_record(self.revive_topic, queue_id)
            if record is not None:
                self._finish_change(record, now_ms)
                return
        for topic in {self._comes_back_in(entry) for entry in self.checkpoints.open()}:
            record = self._last_record(topic, 0)
            if record is not None:
                self._finish_revival(record, now_ms)
                return

    def _last_record(self, topic: str, queue_id: int) -> Record | None:
        """The queue's last message, if no other record of the log is behind it."""
        last = self.queues.max_offset(topic, queue_id) - 1
        units = self.queues.units(topic, queue_id, last, 1) if last >= 0 else []
        if not units or units[0].commit_log_offset + units[0].size != self.log.max_offset:
            return None
        return self.log.record_at(units[0].commit_log_offset)

    def _comes_back_in(self, entry: OpenCheckpoint) -> str:
        return comes_back_in(entry.topic, entry.group, is_v2=self.live.enable_retry_topic_v2)

    def _finish_change(self, record: Record, now_ms: int) -> None:
        """A checkpoint with the time of an earlier pop replaces the checkpoint of that pop."""
        renewed = self.checkpoints.at(record.queue_id, record.queue_offset)
        first_pop_ms = record.properties.get(Property.FIRST_POP_TIME)
        if renewed is None or first_pop_ms is None:
            return
        for entry in self.checkpoints.open():
            if entry.key[:3] == renewed.key[:3] and str(entry.key[4]) == first_pop_ms:
                self._ack(entry, [offset for offset in renewed.unacked if offset in entry.unacked], now_ms)

    def _finish_revival(self, record: Record, now_ms: int) -> None:
        draft = draft_of(record, record.topic, 0, encode_properties({**record.properties}).encode())
        for entry in self.checkpoints.open():
            if self._comes_back_in(entry) != record.topic or entry.due_ms > record.store_timestamp:
                continue
            for queue_offset in entry.unacked:
                popped = self._popped(entry, queue_offset)
                if popped is not None and retry_draft(popped, record.topic, entry.key[4]) == draft:
                    self._ack(entry, [queue_offset], now_ms)
                    return

    def _popped(self, entry: OpenCheckpoint, queue_offset: int) -> Record | None:
        units = self.queues.units(entry.topic, entry.queue_id, queue_offset, 1)
        return self.log.record_at(units[0].commit_log_offset) if units else None

    def _ack(self, entry: OpenCheckpoint, queue_offsets: list[int], now_ms: int) -> None:
        if queue_offsets and self.revive_log.ack(entry.key, queue_offsets, now_ms) is not None:
            where = f"{entry.topic}@{entry.queue_id}"
            log.warning("a crash left the acknowledgement of %s of %s out: written", queue_offsets, where)
