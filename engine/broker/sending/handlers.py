"""Sends: SEND_MESSAGE (10), SEND_MESSAGE_V2 (310), SEND_BATCH_MESSAGE (320); each may carry the batch flag.

Every refusal is decided before the append (`admission`); after it the only answers are 0, 10, 11 and 12. A
topic that is created by a send is on disk before anything is stored in it: the send waits for that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.broker.delivery.parked_messages import Parking
from engine.broker.delivery.retries import RetryRule, retrying_group
from engine.broker.sending.admission import (
    Admission,
    check_batch_kinds,
    check_kind,
    check_open,
    choose_queue,
    illegal,
    is_transactional,
    not_stored,
)
from engine.broker.sending.durability import Durability
from engine.broker.settings.options import LiveOptions
from engine.broker.stats.put_times import Appends
from engine.broker.stats.traffic import Traffic
from engine.broker.topics.topic_rules import check_broker_takes, no_such_topic
from engine.broker.topics.topic_table import TOPICS_FILE, TopicTable, plan_auto_creation, retry_topic_config
from engine.broker.transactions.half_messages import half_draft
from engine.broker.transactions.transaction_log_io import TransactionLog
from engine.errors import NotPermitted, Refused
from engine.net.connection import Connection
from engine.net.outcomes import Announce, Handler, Outcome, Reply
from engine.protocol._batches_cy import measure_batch, message_ids
from engine.protocol.batches import decode_batch
from engine.protocol.bodies.topics import PERM_READ_WRITE, TOPIC_FLAG_UNIT, TopicConfig, TopicFilterType
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Buffer, Command
from engine.protocol.headers.send import SendMessageRequest, decode_send
from engine.protocol.hosts import pack_host
from engine.protocol.names import (
    check_topic,
    is_retry_topic,
    retry_topic,
)
from engine.protocol.properties import Property, find_property
from engine.protocol.sys_flags import MULTI_TAGS
from engine.store.results import MessageDraft, PutResult, PutStatus

_REFUSALS = {
    PutStatus.MESSAGE_ILLEGAL: ResponseCode.MESSAGE_ILLEGAL,
    PutStatus.PROPERTIES_SIZE_EXCEEDED: ResponseCode.MESSAGE_ILLEGAL,
}


@dataclass(eq=False, repr=False)
class SendHandlers:
    store_host: bytes
    region: str
    topics: TopicTable
    store: Appends
    live: LiveOptions
    admission: Admission
    parking: Parking
    durability: Durability
    retries: RetryRule
    transactions: TransactionLog
    traffic: Traffic
    now_ms: Callable[[], int]
    draw: Callable[[int], int]
    appended: Callable[[], None]

    def __post_init__(self) -> None:
        self._id_prefix = self.store_host.hex().upper()

    def routes(self) -> dict[int, Handler]:
        codes = (RequestCode.SEND_MESSAGE, RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE)
        return dict.fromkeys(codes, self.send)

    def send(self, request: Command, client: Connection) -> Outcome:
        live, now_ms = self.live, self.now_ms()
        refusal = self.admission.refusal(client.read_at, client.last_read_at, now_ms)
        if refusal is not None:
            raise self._refused(refusal)
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
        """The topic is not on disk yet; another send may already have created it."""
        check_topic(header.topic)
        check_open(header.topic)
        config = self.topics.get(header.topic) or self._plan_topic(header)
        check_kind(header.sys_flag, header.properties or "")
        if header.topic not in self.topics:
            self._create_topic(config, client.remote[0], now_ms)
        return self._append_announced(header, body, client, config)

    def _append_announced(
        self, header: SendMessageRequest, body: Buffer, client: Connection, config: TopicConfig
    ) -> Announce:
        """Once the topic is on disk."""
        return Announce(TOPICS_FILE, resume=lambda: self._append(header, body, client, config, self.now_ms()))

    def _create_topic(self, config: TopicConfig, host: str, now_ms: int) -> None:
        """Refused above the limit of auto-created topics. A retry topic of a group is created in any case."""
        topic = config.topic_name
        group = retrying_group(topic) if is_retry_topic(topic) else None
        is_limited = group is None or topic != retry_topic(group)
        if is_limited:
            self.topics.check_room(topic, host)  # before its group is created
        if group is not None:
            self.retries.groups.admit(group, now_ms, host)
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
        topic, queue_id = header.topic, header.queue_id
        check_open(topic)
        if not 0 <= queue_id < config.write_queue_nums:
            queue_id = choose_queue(config, queue_id, self.draw)
        if (
            topic[0] == "%"
            and (dead_letter := self.retries.dead_letter(header, now_ms, client.remote[0])) is not None
        ):
            return self._send_dead(dead_letter, body, client, now_ms)
        given = header.properties or ""
        may_wait = check_kind(header.sys_flag, given)
        draft, unique_key = self.admission.draft(header, body, queue_id, pack_host(client.remote), now_ms)
        if config.topic_filter_type is TopicFilterType.MULTI_TAG:
            draft = draft._replace(sys_flag=draft.sys_flag | MULTI_TAGS)
        if not self.durability.is_instant and _waits(given):
            self.durability.check()
        if header.batch:
            return self._append_batch(draft, given, now_ms)
        if may_wait:
            if is_transactional(given):
                return self._append_half(draft, header.producer_group, unique_key, now_ms)
            draft = self.parking.plan(draft, now_ms)
        result = self.store.put(draft, now_ms)
        if result.status is not PutStatus.PUT_OK:
            raise self._refused(result)
        if may_wait:  # the answer names the queue that was asked for
            recall = self.parking.recall_handle(draft)
            return self._stored(result, draft._replace(queue_id=queue_id), unique_key, given, recall)
        return self._stored(result, draft, unique_key, given)

    def _send_dead(
        self, header: SendMessageRequest, body: Buffer, client: Connection, now_ms: int
    ) -> Outcome:
        config = self.topics.get(header.topic)
        if config is not None and header.topic not in self.topics.unsaved:
            return self._append(header, body, client, config, now_ms)
        config = config or self.topics.create_unsaved(retry_topic_config(header.topic), now_ms)
        return self._append_announced(header, body, client, config)

    def _append_half(self, draft: MessageDraft, group: str, unique_key: str, now_ms: int) -> Outcome:
        """Invisible to consumers until its producer decides. Under SYNC_FLUSH the answer always waits for the
        disk: the decision that follows must find the message."""
        if self.live.reject_transaction_message:
            raise NotPermitted("the broker takes no transactional messages (rejectTransactionMessage=true)")
        half = half_draft(draft, unique_key, group)
        self.parking.plan(
            half, now_ms
        )  # a delivery time that is not allowed is refused now, not at the commit
        result = self.store.put(half, now_ms)
        if result.status is not PutStatus.PUT_OK:
            raise self._refused(result)
        self.transactions.note(half, result)
        return self._stored(result, half._replace(queue_id=draft.queue_id), unique_key, "")

    def _append_batch(self, draft: MessageDraft, given: str, now_ms: int) -> Outcome:
        """All or nothing; each record keeps exactly the properties that its item came with."""
        if is_retry_topic(draft.topic):
            raise illegal("a batch cannot be sent to a retry topic")
        batch = measure_batch(bytes(draft.body))
        if batch.has_marks:
            check_batch_kinds(decode_batch(batch.body))
        result = self.store.put_batch(draft, batch, now_ms)
        if result.status is not PutStatus.PUT_OK:
            raise self._refused(result)
        unique_key = find_property(given, Property.UNIQ_KEY)
        return self._stored(result, draft, unique_key, given, count=batch.count)

    def _stored(
        self,
        result: PutResult,
        draft: MessageDraft,
        unique_key: str | None,
        given: str,
        recall_handle: str | None = None,
        count: int = 1,
    ) -> Outcome:
        """The answer to what is in the log now: nothing below may fail."""
        self.appended()
        self.traffic.put(draft.topic, count, result.size)
        fields = {
            "MSG_REGION": self.region,
            "TRACE_ON": "true" if self.live.trace_on else "false",
            "msgId": message_ids(self._id_prefix, result.offsets or (result.commit_log_offset,)),
            "queueId": str(draft.queue_id),
            "queueOffset": str(result.queue_offset),
        }
        if unique_key is not None:
            fields["transactionId"] = unique_key
        if recall_handle is not None:
            fields["recallHandle"] = recall_handle
        if self.durability.is_instant or not _waits(given):
            return Reply(0, None, fields)
        return self.durability.answer_send(result, fields, alone=ResponseCode.SLAVE_NOT_AVAILABLE)

    def _refused(self, refusal: Refused | PutResult) -> Refused:
        if isinstance(refusal, Refused):
            return refusal
        self.traffic.put_failed += 1
        return not_stored(refusal, _REFUSALS.get(refusal.status, ResponseCode.SERVICE_NOT_AVAILABLE))


def _waits(given: str) -> bool:
    """waitStoreMsgOK: whether the sender wants to know that its message is safe."""
    wait = find_property(given, Property.WAIT)
    return wait is None or wait.lower() == "true"
