"""What a crash left half done in the pops: a message that comes back, or a changed invisible time.

Each of the two is a pair of appends, made in one turn of the loop so that nothing else stands between them. A
crash in between therefore leaves the first of the pair as the last record of the log. A start that finds it
there appends the second, the acknowledgement of the pop that is over: otherwise the message would be open
twice and come back twice. Only when the log began a new file just then does the pair stay half done, and the
message comes twice. Loop thread only, before anybody is served.
"""

from __future__ import annotations

import logging

from engine.broker.delivery.parked_messages import draft_of
from engine.broker.pop.checkpoints import Checkpoints, OpenCheckpoint
from engine.broker.pop.pop_requests import comes_back_in, retry_draft
from engine.broker.pop.revive_log import REVIVE_QUEUES, ReviveLog
from engine.broker.settings.options import LiveOptions
from engine.protocol.properties import Property, encode_properties
from engine.protocol.records import Record
from engine.store.message_store import MessageStore

log = logging.getLogger(__name__)


class LastStep:
    def __init__(
        self,
        store: MessageStore,
        revive_topic: str,
        checkpoints: Checkpoints,
        revive_log: ReviveLog,
        live: LiveOptions,
    ) -> None:
        self._store = store
        self._revive_topic = revive_topic
        self._checkpoints = checkpoints
        self._log = revive_log
        self._live = live

    def finish(self, now_ms: int) -> None:
        """Once the checkpoints are read and before anything is appended."""
        for queue_id in range(REVIVE_QUEUES):
            record = self._last_record(self._revive_topic, queue_id)
            if record is not None:
                self._finish_change(record, now_ms)
                return
        for topic in {self._comes_back_in(entry) for entry in self._checkpoints.open()}:
            record = self._last_record(topic, 0)
            if record is not None:
                self._finish_revival(record, now_ms)
                return

    def _last_record(self, topic: str, queue_id: int) -> Record | None:
        """The queue's last message, if no other record of the log is behind it."""
        last = self._store.max_offset(topic, queue_id) - 1
        units = self._store.queue_units(topic, queue_id, last, 1) if last >= 0 else []
        if not units or units[0].commit_log_offset + units[0].size != self._store.commit_log_max_offset:
            return None
        return self._store.record_at(units[0].commit_log_offset)

    def _comes_back_in(self, entry: OpenCheckpoint) -> str:
        return comes_back_in(entry.topic, entry.group, is_v2=self._live.enable_retry_topic_v2)

    def _finish_change(self, record: Record, now_ms: int) -> None:
        """A checkpoint that says when its message was popped first takes the place of that pop's."""
        renewed = self._checkpoints.at(record.queue_id, record.queue_offset)
        first_pop_ms = record.properties.get(Property.FIRST_POP_TIME)
        if renewed is None or first_pop_ms is None:
            return
        for entry in self._checkpoints.open():
            if entry.key[:3] == renewed.key[:3] and str(entry.key[4]) == first_pop_ms:
                self._ack(entry, [offset for offset in renewed.unacked if offset in entry.unacked], now_ms)

    def _finish_revival(self, record: Record, now_ms: int) -> None:
        draft = draft_of(record, record.topic, 0, encode_properties({**record.properties}).encode())
        for entry in self._checkpoints.open():
            if self._comes_back_in(entry) != record.topic or entry.due_ms > record.store_timestamp:
                continue
            for queue_offset in entry.unacked:
                popped = self._popped(entry, queue_offset)
                if popped is not None and retry_draft(popped, record.topic, entry.key[4]) == draft:
                    self._ack(entry, [queue_offset], now_ms)
                    return

    def _popped(self, entry: OpenCheckpoint, queue_offset: int) -> Record | None:
        units = self._store.queue_units(entry.topic, entry.queue_id, queue_offset, 1)
        return self._store.record_at(units[0].commit_log_offset) if units else None

    def _ack(self, entry: OpenCheckpoint, queue_offsets: list[int], now_ms: int) -> None:
        if queue_offsets and self._log.ack(entry.key, queue_offsets, now_ms) is not None:
            where = f"{entry.topic}@{entry.queue_id}"
            log.warning("a crash left the acknowledgement of %s of %s out: made up for", queue_offsets, where)
