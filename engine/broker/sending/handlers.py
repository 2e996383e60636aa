"""Sends: SEND_MESSAGE (10), SEND_MESSAGE_V2 (310), SEND_BATCH_MESSAGE (320); each may carry the batch flag.

Every refusal is decided before the append (`admission`); behind it the only answers are 0, 10, 11 and 12. A
topic that makes itself is on disk before anything is stored in it: the request then runs on from there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from engine.broker.delivery.parked_messages import Parking
from engine.broker.delivery.retries import RetryRule, retrying_group
from engine.broker.sending.admission import (
    StoredProperties,
    busy,
    check_batch_kinds,
    check_batch_topic,
    check_kind,
    choose_queue,
    closed_topic,
    disk_full,
    is_transactional,
    large_body,
    large_properties,
    no_transactions,
    not_accepting,
)
from engine.broker.sending.durability import Durability
from engine.broker.settings.options import LiveOptions
from engine.broker.state.table_files import TOPICS_FILE
from engine.broker.stats.traffic import Traffic
from engine.broker.storage.disk_room import DiskRoom
from engine.broker.topics.topic_rules import check_broker_takes, no_such_topic
from engine.broker.topics.topic_table import TopicTable, plan_auto_creation, retry_topic_config
from engine.broker.transactions.half_messages import half_draft
from engine.broker.transactions.transaction_log_io import TransactionLog
from engine.errors import Refused
from engine.net.connection import Connection
from engine.net.outcomes import Announce, Handler, Outcome, Reply
from engine.protocol._batches_cy import Batch, measure_batch, message_ids
from engine.protocol.batches import decode_batch
from engine.protocol.bodies.topics import PERM_READ_WRITE, TOPIC_FLAG_UNIT, TopicConfig, TopicFilterType
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Buffer, Command
from engine.protocol.headers.send import SendMessageRequest, decode_send
from engine.protocol.hosts import pack_host
from engine.protocol.names import (
    REVIVE_TOPIC_PREFIX,
    SEND_FORBIDDEN_TOPICS,
    check_topic,
    is_retry_topic,
    retry_topic,
)
from engine.protocol.properties import Property, find_property
from engine.protocol.records import MAX_PROPERTIES_BYTES
from engine.protocol.sys_flags import MULTI_TAGS
from engine.store.results import MessageDraft, PutResult, PutStatus

_REFUSALS = {
    PutStatus.MESSAGE_ILLEGAL: ResponseCode.MESSAGE_ILLEGAL,
    PutStatus.PROPERTIES_SIZE_EXCEEDED: ResponseCode.MESSAGE_ILLEGAL,
}


class Appends(Protocol):
    """What a send asks of the store."""

    @property
    def refusal(self) -> PutResult | None: ...

    def put(self, draft: MessageDraft, now_ms: int) -> PutResult: ...

    def put_batch(self, draft: MessageDraft, batch: Batch, now_ms: int) -> PutResult: ...


@dataclass(frozen=True, slots=True)
class SendPlace:
    """Who answers: facts of this broker that every send answer or record carries."""

    store_host: bytes
    region: str


@dataclass(eq=False)
class SendHandlers:
    place: SendPlace
    topics: TopicTable
    store: Appends
    live: LiveOptions
    properties: StoredProperties
    parking: Parking
    durability: Durability
    retries: RetryRule
    transactions: TransactionLog
    traffic: Traffic
    disk: DiskRoom
    now_ms: Callable[[], int]
    waited_ms: Callable[[float, float], float]
    draw: Callable[[int], int]
    appended: Callable[[], None]

    def __post_init__(self) -> None:
        self._id_prefix = self.place.store_host.hex().upper()

    def routes(self) -> dict[int, Handler]:
        codes = (RequestCode.SEND_MESSAGE, RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE)
        return dict.fromkeys(codes, self.send)

    def send(self, request: Command, client: Connection) -> Outcome:
        live = self.live
        if not self.disk.is_writable:
            raise disk_full(self.disk.usage_ratio)
        if live.broker_fast_failure_enable:
            waited_ms = self.waited_ms(client.read_at, client.last_read_at)
            if waited_ms > live.wait_time_mills_in_send_queue:
                raise self._not_now(waited_ms)
        now_ms = self.now_ms()
        if now_ms < live.start_accept_send_request_time_stamp:
            raise not_accepting(live.start_accept_send_request_time_stamp)
        header = decode_send(request.code, request.fields)
        config = self.topics.get(header.topic)
        if live.broker_permission != PERM_READ_WRITE:
            check_broker_takes(live.broker_permission, config)
        if config is None or header.topic in self.topics.unsaved:
            return self._send_first(header, request.body, client, now_ms)
        outcome = self._append(header, request.body, client, config, now_ms)
        self.traffic.senders.note(header.topic, header.producer_group, now_ms)
        return outcome

    def _send_first(
        self, header: SendMessageRequest, body: Buffer, client: Connection, now_ms: int
    ) -> Outcome:
        """The topic is not on disk yet (perhaps another send is just seeing to it)."""
        check_topic(header.topic)
        if header.topic in SEND_FORBIDDEN_TOPICS or header.topic.startswith(REVIVE_TOPIC_PREFIX):
            raise closed_topic(header.topic)
        config = self.topics.get(header.topic) or self._plan_topic(header)
        check_kind(header.sys_flag, header.properties or "")
        if header.topic not in self.topics:
            self._make_topic(config, client.remote[0], now_ms)
        return Announce(TOPICS_FILE, resume=lambda: self._append(header, body, client, config, self.now_ms()))

    def _make_topic(self, config: TopicConfig, host: str, now_ms: int) -> None:
        """Refused when it is one too many. A group has its retry topic whatever the number of topics is."""
        topic = config.topic_name
        group = retrying_group(topic) if is_retry_topic(topic) else None
        is_limited = group is None or topic != retry_topic(group)
        if is_limited:
            self.topics.check_room(topic, host)  # before a group is made for nothing
        if group is not None:
            self.retries.group(group, now_ms, host)
        self.topics.create_unsaved(config, now_ms, host if is_limited else None)

    def _plan_topic(self, header: SendMessageRequest) -> TopicConfig:
        if is_retry_topic(header.topic):
            return retry_topic_config(header.topic, is_unit=header.unit_mode)
        config = plan_auto_creation(
            header.topic,
            self.topics.get(header.default_topic),
            header.default_topic_queue_nums,
            self.live.auto_create_topic_enable,
            TOPIC_FLAG_UNIT if header.unit_mode else 0,
        )
        if config is None:
            raise no_such_topic(header.topic)
        return config

    def _append(
        self, header: SendMessageRequest, body: Buffer, client: Connection, config: TopicConfig, now_ms: int
    ) -> Outcome:
        live = self.live
        topic, queue_id, sys_flag = header.topic, header.queue_id, header.sys_flag
        # Conditions stand here and refusals in `admission`: most sends pass without a call.
        if topic in SEND_FORBIDDEN_TOPICS or topic.startswith(REVIVE_TOPIC_PREFIX):
            raise closed_topic(topic)
        if not 0 <= queue_id < config.write_queue_nums:
            queue_id = choose_queue(config, queue_id, self.draw)
        if (
            topic[0] == "%"
            and (dead_letter := self.retries.dead_letter(header, now_ms, client.remote[0])) is not None
        ):
            return self._send_dead(dead_letter, body, client, now_ms)
        given = header.properties or ""
        may_wait = check_kind(sys_flag, given)
        if len(body) > live.max_message_size:
            raise large_body(len(body), live.max_message_size)
        if config.topic_filter_type is TopicFilterType.MULTI_TAG:
            sys_flag |= MULTI_TAGS
        properties, unique_key = self.properties.extend(given, live.trace_on, now_ms)
        if len(properties) > MAX_PROPERTIES_BYTES:
            raise large_properties(len(properties))
        if not self.durability.is_instant and _waits(given):
            self.durability.check()
        draft = MessageDraft(
            topic,
            queue_id,
            header.flag,
            sys_flag,
            header.born_timestamp,
            pack_host(client.remote),
            header.reconsume_times or 0,
            0,
            body,
            properties,
        )
        if header.batch:
            return self._append_batch(draft, given, now_ms)
        if may_wait:
            if is_transactional(given):
                return self._append_half(draft, header.producer_group, unique_key, now_ms)
            draft = self.parking.plan(draft, now_ms)
        result = self.store.put(draft, now_ms)
        if result.status is not PutStatus.PUT_OK:
            raise self._refused(result)
        message_id = f"{self._id_prefix}{result.commit_log_offset:016X}"
        if may_wait:  # the answer names the queue that was asked for
            recall = self.parking.recall_handle(draft)
            draft = draft._replace(queue_id=queue_id)
            return self._stored(result, 1, draft, message_id, unique_key, given, recall)
        return self._stored(result, 1, draft, message_id, unique_key, given)

    def _send_dead(
        self, header: SendMessageRequest, body: Buffer, client: Connection, now_ms: int
    ) -> Outcome:
        config = self.topics.get(header.topic)
        if config is not None and header.topic not in self.topics.unsaved:
            return self._append(header, body, client, config, now_ms)
        config = config or self.topics.create_unsaved(retry_topic_config(header.topic), now_ms)
        return Announce(TOPICS_FILE, resume=lambda: self._append(header, body, client, config, self.now_ms()))

    def _append_half(self, draft: MessageDraft, group: str, unique_key: str, now_ms: int) -> Outcome:
        """Shown to nobody until its producer decides. The answer always waits for the disk under
        SYNC_FLUSH: the decision that follows must find the message."""
        if self.live.reject_transaction_message:
            raise no_transactions()
        half = half_draft(draft, unique_key, group)
        self.parking.plan(half, now_ms)  # a time of delivery that is not allowed is refused now
        result = self.store.put(half, now_ms)
        if result.status is not PutStatus.PUT_OK:
            raise self._refused(result)
        self.transactions.note(half, result)
        message_id = f"{self._id_prefix}{result.commit_log_offset:016X}"
        answered = half._replace(queue_id=draft.queue_id)
        return self._stored(result, 1, answered, message_id, unique_key, "")

    def _append_batch(self, draft: MessageDraft, given: str, now_ms: int) -> Outcome:
        """All or nothing; each record keeps exactly the properties that its item came with."""
        check_batch_topic(draft.topic)
        batch = measure_batch(bytes(draft.body))
        if batch.has_marks:
            check_batch_kinds(decode_batch(batch.body))
        result = self.store.put_batch(draft, batch, now_ms)
        if result.status is not PutStatus.PUT_OK:
            raise self._refused(result)
        ids = message_ids(self._id_prefix, result.offsets)
        unique_key = find_property(given, Property.UNIQ_KEY)
        return self._stored(result, batch.count, draft, ids, unique_key, given)

    def _stored(
        self,
        result: PutResult,
        count: int,
        draft: MessageDraft,
        message_ids: str,
        unique_key: str | None,
        given: str,
        recall_handle: str | None = None,
    ) -> Outcome:
        """The answer to what is in the log now: nothing below may fail."""
        self.appended()
        self.traffic.put(draft.topic, count, result.size)
        fields = {
            "MSG_REGION": self.place.region,
            "TRACE_ON": "true" if self.live.trace_on else "false",
            "msgId": message_ids,
            "queueId": str(draft.queue_id),
            "queueOffset": str(result.queue_offset),
        }
        if unique_key is not None:
            fields["transactionId"] = unique_key
        if recall_handle is not None:
            fields["recallHandle"] = recall_handle
        reply = Reply(0, None, fields)
        if self.durability.is_instant or not _waits(given):
            return reply
        end = result.commit_log_offset + result.size
        late_disk = Reply(ResponseCode.FLUSH_DISK_TIMEOUT, "stored, but not known to be on disk", fields)
        late = Reply(ResponseCode.FLUSH_SLAVE_TIMEOUT, "stored, but not known to be on replicas", fields)
        alone = Reply(ResponseCode.SLAVE_NOT_AVAILABLE, "stored, but there is no slave", fields)
        return self.durability.answer(end, reply, late_disk, late, alone)

    def _not_now(self, waited_ms: float) -> Refused:
        """A store that takes nothing says so whoever waited: "busy" would make clients knock again here."""
        refusal = self.store.refusal
        return busy(waited_ms) if refusal is None else self._refused(refusal)

    def _refused(self, result: PutResult) -> Refused:
        self.traffic.put_failed += 1
        code = _REFUSALS.get(result.status, ResponseCode.SERVICE_NOT_AVAILABLE)
        return Refused(result.remark or f"the message was not stored: {result.status.value}", code=code)


def _waits(given: str) -> bool:
    """waitStoreMsgOK: whether the sender wants to know that its message is safe."""
    wait = find_property(given, Property.WAIT)
    return wait is None or wait.lower() == "true"
