"""Transactions and the log: rebuilds the table at a start, writes op messages, commits read positions.

The order that survives kill -9: the real message is appended first and names its half record; the op messages
of one turn of the loop follow together. A start reads the half queue and the op queue from the committed
offsets of the system group, then searches the log after the last complete op messages for committed messages
without one, so a commit is never repeated; a rollback without its op message is checked again. The group's
offsets are committed only once the log is on disk up to the point where they were computed: a power cut must
not undo a decision that they depend on. Loop thread only.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from engine.broker.delivery.parked_messages import read_queue
from engine.broker.offsets.offset_table import ConsumerOffsets
from engine.broker.transactions.half_messages import (
    HALF_QUEUE,
    ReadFrom,
    TransactionTable,
    is_half,
    op_batch,
    op_offsets,
    origin_of,
)
from engine.protocol.names import TRANS_GROUP, TRANS_HALF_TOPIC, TRANS_OP_HALF_TOPIC
from engine.protocol.properties import decode_properties
from engine.store.log.message_log import MessageLog
from engine.store.log.replica_log import ReplicaLog
from engine.store.queues.message_queues import MessageQueues
from engine.store.results import MessageDraft, PutResult, PutStatus

log = logging.getLogger(__name__)

RETRY_S = 1.0
_OPS_PER_BATCH = 1_000
_TURN_MS = 2_000
"""The longest time from a commit to its op message."""


@dataclass(eq=False, repr=False)
class TransactionLog:
    """`load` whenever the broker becomes master, `decided` after every change of the table."""

    loop: asyncio.AbstractEventLoop
    log: MessageLog
    queues: MessageQueues
    replica: ReplicaLog
    table: TransactionTable
    offsets: ConsumerOffsets
    now_ms: Callable[[], int]
    appended: Callable[[], None]
    _writing: asyncio.Handle | None = field(default=None, init=False)
    _staged: ReadFrom | None = field(default=None, init=False)

    def note(self, half: MessageDraft, result: PutResult) -> None:
        """A half message has just been appended."""
        properties = decode_properties(half.properties.decode())
        self.table.note(properties, half.born_timestamp, result.queue_offset, result.commit_log_offset)

    # -- while running --------------------------------------------------------------------------------------

    def decided(self) -> None:
        """Decisions of one turn of the loop share an op message."""
        if self._writing is None and self.table.unwritten:
            self._writing = self.loop.call_soon(self.write_ops)

    def write_ops(self) -> None:
        self._writing = None
        table = self.table
        while table.unwritten:
            done = table.unwritten[:_OPS_PER_BATCH]
            draft, batch = op_batch(done, self.now_ms(), self.log.store_host)
            result = self.log.put_batch(draft, batch, draft.born_timestamp)
            if result.status is not PutStatus.PUT_OK:
                log.warning("%d op messages not stored, retrying: %s", len(table.unwritten), result.remark)
                self._writing = self.loop.call_later(RETRY_S, self.write_ops)
                return
            for number, half_offset in enumerate(done):
                table.op_written(result.queue_offset + number, [half_offset])
            self.appended()
        self.commit_offsets()

    def commit_offsets(self) -> None:
        self._commit_staged()
        if self._staged is None:
            self._staged = self.table.read_from(self.log.max_offset)
            self._commit_staged()

    def _commit_staged(self) -> None:
        staged = self._staged
        if staged is not None and self.replica.kept_end >= staged.commit_log_end:
            self.offsets.commit(TRANS_HALF_TOPIC, TRANS_GROUP, HALF_QUEUE, staged.half_offset)
            self.offsets.commit(TRANS_OP_HALF_TOPIC, TRANS_GROUP, HALF_QUEUE, staged.op_offset)
            self._staged = None

    def stop(self) -> None:
        """Writes the last op messages; nothing may be decided afterwards."""
        if self._writing is not None:
            self._writing.cancel()
        self.write_ops()
        if self._writing is not None:
            self._writing.cancel()

    # -- the start ------------------------------------------------------------------------------------------

    def load(self) -> None:
        """Before requests are served: it may wait for the disk."""
        table, self._staged = self.table, None
        half_offset, op_offset = self._begin(TRANS_HALF_TOPIC), self._begin(TRANS_OP_HALF_TOPIC)
        table.start_at(half_offset, op_offset)
        done: set[int] = set()
        ops: list[tuple[int, int]] = []
        for op in read_queue(self.queues, TRANS_OP_HALF_TOPIC, HALF_QUEUE, op_offset):
            offsets = op_offsets(op)
            done.update(offsets)
            table.op_written(op.queue_offset, offsets)
            ops.append((op.store_timestamp, op.commit_log_offset))
        for half in read_queue(self.queues, TRANS_HALF_TOPIC, HALF_QUEUE, half_offset):
            origin = origin_of(half.properties, half.queue_offset)
            if not is_half(half) or half.queue_offset in done or origin in done:
                table.skip(half.queue_offset, half.properties)
            else:
                table.note(half.properties, half.born_timestamp, half.queue_offset, half.commit_log_offset)
        self._close_committed(_scan_from(ops))
        if len(table):
            log.info("%d transactions are open", len(table))
        self.decided()

    def _begin(self, topic: str) -> int:
        queues = self.queues
        low, high = queues.min_offset(topic, HALF_QUEUE), queues.max_offset(topic, HALF_QUEUE)
        return min(max(self.offsets.committed(topic, TRANS_GROUP, HALF_QUEUE) or 0, low), high)

    def _close_committed(self, settled_at: int) -> None:
        """Commits whose op message did not make it into the log."""
        entries = self.table.open()
        if not entries:
            return
        origin_at = {entry.commit_log_offset: entry.origin for entry in entries}
        for entry in entries:
            for unit in (self.queues.units(TRANS_HALF_TOPIC, HALF_QUEUE, q, 1) for q in entry.copies):
                origin_at |= {place.commit_log_offset: entry.origin for place in unit}
        for prepared_offset in self.log.commits_from(max(settled_at, min(origin_at))):
            origin = origin_at.get(prepared_offset)
            if origin is not None and self.table.close(origin):
                log.info("the half message at log offset %d was committed before the stop", prepared_offset)


def _scan_from(ops: list[tuple[int, int]]) -> int:
    """The op message after which to search for commits without one, given (store time, commit-log offset) of
    all. A power cut may tear the last batch, so it is the last op message written clearly before that."""
    last_ms = ops[-1][0] if ops else 0
    return max((place for stored_ms, place in ops if stored_ms <= last_ms - _TURN_MS), default=0)
