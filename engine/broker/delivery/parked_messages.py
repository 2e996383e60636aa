"""Messages that wait in a system topic: how they are put there, and what consumers get later. Pure.

`Parking` decides after the checks of a send and before the append; a refusal means that nothing is stored.
The restored message is the sender's: same body, flags, born data, reconsume count and unique key, in the
topic and queue that it was sent to.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from engine.broker.delivery.delay_levels import level_of, park_delayed
from engine.broker.delivery.timed_messages import asked_time_ms, park_timed, recall_handle
from engine.broker.settings.options import LiveOptions
from engine.errors import Refused
from engine.protocol.hosts import pack_host
from engine.protocol.names import TIMER_TOPIC, is_valid_topic
from engine.protocol.properties import Property, decode_properties, encode_properties
from engine.protocol.records import Record, decode_record, decode_records, encode_record
from engine.protocol.sys_flags import TRANSACTION_COMMIT, TRANSACTION_MASK, TRANSACTION_NONE
from engine.store.queues.message_queues import MessageQueues
from engine.store.results import ColdBody, GetStatus, MessageDraft


def restored(
    record: Record, dropped: Iterable[str], added: dict[str, str] | None = None
) -> MessageDraft | None:
    """The message in its real place, without the properties `dropped`; None when it names none."""
    properties = record.properties
    topic, queue_text = properties.get(Property.REAL_TOPIC), properties.get(Property.REAL_QID, "")
    if not is_valid_topic(topic) or not queue_text.isdecimal():
        return None
    assert topic is not None
    without = frozenset(dropped)
    kept: dict[str, str | None] = {name: value for name, value in properties.items() if name not in without}
    if added:
        kept.update(added)
    return draft_of(record, topic, int(queue_text), encode_properties(kept).encode())


def timed_draft(record: Record, now_ms: int) -> MessageDraft | None:
    """The message that consumers of a timed message get; None when it names no real topic."""
    dropped = Property.REAL_TOPIC, Property.REAL_QID
    return restored(record, dropped, {Property.TIMER_DEQUEUE_MS: str(now_ms)})


def draft_of(record: Record, topic: str, queue_id: int, properties: bytes) -> MessageDraft:
    """The record's message once more, elsewhere and with other properties."""
    return MessageDraft(
        topic,
        queue_id,
        record.flag,
        record.sys_flag,
        record.born_timestamp,
        pack_host(record.born_host),
        record.reconsume_times,
        record.prepared_transaction_offset,
        record.body,
        properties,
    )


def encoded_as(record: Record, topic: str, queue_id: int, properties: Mapping[str, str]) -> bytes:
    """The record as clients see it in another place, with other properties."""
    return encode_record(
        topic=topic,
        body=record.body,
        properties=properties,
        queue_id=queue_id,
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


def read_queue(queues: MessageQueues, topic: str, queue_id: int, queue_offset: int) -> Iterator[Record]:
    """All messages of a system queue from an offset on; damaged ones are left out. May wait for the disk."""
    while queue_offset < queues.max_offset(topic, queue_id):
        result = queues.get(topic, queue_id, queue_offset, _READ_COUNT)
        read = ColdBody(result.body, result.damage)
        if result.cold is not None:
            read = queues.read_cold(result.cold)
        if result.status is GetStatus.FOUND:
            yield from decode_records(read.body, check_crc=False)
        if read.damage is not None:
            log.error("a message of %s is skipped: %s", topic, read.damage)
            queue_offset = read.damage.queue_offset + 1
            continue
        queue_offset = max(result.next_begin_offset, queue_offset + 1)


def was_delivered(found: Iterable[bytes], draft: MessageDraft, due_ms: int) -> bool:
    """Whether one of these records is the draft's delivery: same queue and reconsume count, stored when due.
    (A recall has the key of its message, but not its body.)

    Only used after a start: deliveries of the seconds before a crash are in the log, but not yet in the file
    of offsets.
    """
    for data in found:
        record = decode_record(data, 0, False)
        if (
            record.queue_id == draft.queue_id
            and record.reconsume_times == draft.reconsume_times
            and record.store_timestamp >= due_ms
            and record.body == draft.body
        ):
            return True
    return False


log = logging.getLogger(__name__)

_READ_COUNT = 64
_MAY_WAIT = (TRANSACTION_NONE, TRANSACTION_COMMIT)


@dataclass(eq=False, repr=False)
class Parking:
    """`plan(draft, now_ms)`: the message as it is to be stored, in a system topic if it has to wait."""

    broker_name: str
    level_count: int
    live: LiveOptions
    has_timers: bool

    def plan(self, draft: MessageDraft, now_ms: int) -> MessageDraft:
        if draft.topic == TIMER_TOPIC or draft.sys_flag & TRANSACTION_MASK not in _MAY_WAIT:
            return draft
        properties = decode_properties(draft.properties.decode("utf-8", "replace"))
        level = level_of(properties, self.level_count)
        if level:
            return _moved(draft, *park_delayed(draft, properties, level))
        deliver_ms = asked_time_ms(properties, now_ms)
        if deliver_ms is None:
            return draft
        if not self.has_timers:
            raise Refused("timed messages are switched off: timerWheelEnable=false")
        parked = park_timed(draft, properties, deliver_ms, now_ms, self.live.timer_max_delay_sec)
        return draft if parked is None else _moved(draft, *parked)

    def recall_handle(self, parked: MessageDraft) -> str | None:
        """The handle with which the producer of a timed message can recall it."""
        if parked.topic != TIMER_TOPIC:
            return None
        properties = decode_properties(parked.properties.decode("utf-8", "replace"))
        return recall_handle(properties, self.broker_name)


def _moved(draft: MessageDraft, topic: str, queue_id: int, properties: Mapping[str, str]) -> MessageDraft:
    return draft._replace(
        topic=topic, queue_id=queue_id, properties=encode_properties(dict(properties)).encode()
    )
