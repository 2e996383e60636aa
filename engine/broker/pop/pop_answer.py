"""What one pop has gathered from several queues, and the answer that tells the client about it. Pure.

Messages from the group's retry topic are shown under the topic that was asked for, with their receipt handle
among the properties: that is how the client tells them from the others.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.net.outcomes import Reply
from engine.protocol.codes import ResponseCode
from engine.protocol.headers.pop import PopMessageResponse
from engine.protocol.pop_handles import (
    NORMAL,
    PopHandle,
    QueueMark,
    encode_offsets,
    encode_order_counts,
    encode_start_offsets,
    retry_flag,
)
from engine.protocol.properties import Property
from engine.protocol.records import Record, decode_records, encode_record


class PopAnswer:
    def __init__(
        self,
        topic: str,
        group: str,
        broker_name: str,
        *,
        pop_time_ms: int,
        invisible_ms: int,
        revive_queue_id: int,
    ) -> None:
        self._topic = topic
        self._group = group
        self._broker_name = broker_name
        self.pop_time_ms = pop_time_ms
        self.invisible_ms = invisible_ms
        self.revive_queue_id = revive_queue_id
        self._bodies: list[bytes] = []
        self._starts: dict[QueueMark, int] = {}
        self._offsets: dict[QueueMark, Sequence[int]] = {}
        self._counts: dict[QueueMark, dict[int, int]] = {}
        self.count = 0
        self.rest = 0

    def add(
        self,
        topic: str,
        queue_id: int,
        start_offset: int,
        queue_offsets: Sequence[int],
        body: bytes,
        counts: dict[int, int] | None = None,
    ) -> None:
        mark = retry_flag(topic, self._group), queue_id
        if mark[0] != NORMAL and topic != self._topic:
            body = self._shown(mark, start_offset, body)
        self._bodies.append(body)
        self._starts[mark] = start_offset
        self._offsets[mark] = queue_offsets
        if counts:
            self._counts[mark] = counts
        self.count += len(queue_offsets)

    def _shown(self, mark: QueueMark, start_offset: int, body: bytes) -> bytes:
        """The same records as messages of the topic that was asked for."""
        flag, queue_id = mark
        shown: list[bytes] = []
        for record in decode_records(body, check_crc=False):
            handle = PopHandle(
                start_offset,
                self.pop_time_ms,
                self.invisible_ms,
                self.revive_queue_id,
                flag,
                self._broker_name,
                queue_id,
                record.queue_offset,
            )
            shown.append(under_topic(record, self._topic, {Property.POP_CK: handle.encode()}))
        return b"".join(shown)

    def reply(self) -> Reply:
        header = PopMessageResponse(
            self.pop_time_ms,
            self.invisible_ms,
            self.revive_queue_id,
            self.rest,
            encode_start_offsets(self._starts),
            encode_offsets(self._offsets),
            encode_order_counts(self._counts),
        )
        return Reply(ResponseCode.SUCCESS, "FOUND", header.encode(), b"".join(self._bodies))

    def nothing(self, code: ResponseCode) -> Reply:
        header = PopMessageResponse(self.pop_time_ms, self.invisible_ms, self.revive_queue_id, self.rest)
        return Reply(code, "NO_MESSAGE_IN_QUEUE", header.encode())


def under_topic(record: Record, topic: str, added: dict[str, str]) -> bytes:
    return encode_record(
        topic=topic,
        body=record.body,
        properties={**record.properties, **added},
        queue_id=record.queue_id,
        flag=record.flag,
        queue_offset=record.queue_offset,
        commit_log_offset=record.commit_log_offset,
        sys_flag=record.sys_flag,
        born_timestamp=record.born_timestamp,
        born_host=record.born_host,
        store_timestamp=record.store_timestamp,
        store_host=record.store_host,
        reconsume_times=record.reconsume_times,
        prepared_transaction_offset=record.prepared_transaction_offset,
    )
