"""Messages delivered later: 36 sends one back, 370 recalls a timed one, 60 and 61 show how the timers stand.

CONSUMER_SEND_MSG_BACK (36) is answered once the message is stored again (under SYNC_FLUSH: on disk), so that
the consumer may then forget it. A refusal means that nothing was stored: the message is still the consumer's.

A recall (370) is a message of its own that waits for the same second: both are gone when it has passed. It is
refused (604) once that second is over, and then changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.access.gate import RecordCheck, unchecked
from engine.access.resources import Action
from engine.broker.delivery.parked_messages import Parking
from engine.broker.delivery.retries import RetryRule, SendBackPlan, plan_send_back
from engine.broker.delivery.timed_messages import RECALL_TAG, TimerCounts, delete_key
from engine.broker.sending.admission import check_disk, check_stored, not_stored
from engine.broker.sending.durability import Durability
from engine.broker.settings.options import LiveOptions
from engine.broker.stats.traffic import Traffic
from engine.broker.storage.disk_room import DiskRoom
from engine.broker.topics.topic_rules import no_such_topic
from engine.broker.topics.topic_table import TOPICS_FILE, TopicTable, retry_topic_config
from engine.broker.transactions.half_messages import topic_of
from engine.errors import BadInput, NotFound, NotPermitted, Refused
from engine.net.connection import Connection
from engine.net.outcomes import Announce, ColdRead, Handler, Outcome, Reply
from engine.protocol import fastjson
from engine.protocol.bodies.groups import SubscriptionGroupConfig
from engine.protocol.bodies.topics import PERM_WRITE
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Command
from engine.protocol.headers.send import (
    ConsumerSendMsgBackRequest,
    RecallMessageRequest,
    RecallMessageResponse,
)
from engine.protocol.hosts import pack_host
from engine.protocol.layouts.checkpoints import TimerCheck, encode_timer_check
from engine.protocol.message_ids import RecallHandle, decode_recall_handle
from engine.protocol.properties import Property, encode_properties
from engine.protocol.records import decode_record
from engine.store.log.message_log import MessageLog
from engine.store.results import MessageDraft, PutStatus


@dataclass(eq=False, repr=False)
class SendBackHandlers:
    topics: TopicTable
    retries: RetryRule
    parking: Parking
    log: MessageLog
    live: LiveOptions
    traffic: Traffic
    disk: DiskRoom
    durability: Durability
    now_ms: Callable[[], int]
    draw: Callable[[int], int]
    appended: Callable[[], None]
    check_record: RecordCheck = unchecked

    def routes(self) -> dict[int, Handler]:
        return {RequestCode.CONSUMER_SEND_MSG_BACK: self.send_back}

    def send_back(self, request: Command, client: Connection) -> Outcome:
        header = ConsumerSendMsgBackRequest.decode(request.fields)
        group = self.retries.groups.admit(header.group, self.now_ms(), client.remote[0])
        if not self.live.broker_permission & PERM_WRITE:
            raise NotPermitted("the broker sending message is forbidden")
        check_disk(self.disk)
        if group.retry_queue_nums <= 0:
            return Reply()
        reads = self.log.plan_record_reads([(header.offset, 0)])
        if reads.is_hot:
            return self._take(self.log.raw_record_at(header.offset), header, group, request, client)
        return ColdRead(
            lambda: reads.run()[0] or b"",
            lambda data: self._take(data, header, group, request, client),
        )

    def _take(
        self,
        data: bytes | None,
        header: ConsumerSendMsgBackRequest,
        group: SubscriptionGroupConfig,
        request: Command,
        client: Connection,
    ) -> Outcome:
        if not data:
            raise NotFound(f"look message by offset failed, {header.offset}", code=ResponseCode.SYSTEM_ERROR)
        record = decode_record(data, 0, False)
        self.check_record(request, client, topic_of(record), Action.SUB, header.group)
        plan = plan_send_back(record, group, header, request.version, self.draw)
        topic = plan.draft.topic
        first_topic = record.properties.get(Property.RETRY_TOPIC) or record.topic
        if topic in self.topics and topic not in self.topics.unsaved:
            return self._append(plan, first_topic, header.group)
        if topic not in self.topics:
            config = retry_topic_config(topic, plan.queue_nums, header.unit_mode)
            self.topics.create_unsaved(config, self.now_ms())
        return Announce(TOPICS_FILE, resume=lambda: self._append(plan, first_topic, header.group))

    def _append(self, plan: SendBackPlan, first_topic: str, group: str) -> Outcome:
        self.durability.check()
        now_ms = self.now_ms()
        draft = self.parking.plan(plan.draft, now_ms)
        result = self.log.put(draft, now_ms)
        if result.status is not PutStatus.PUT_OK:
            self.traffic.put_failed += 1
            raise not_stored(result)
        self.appended()
        self.traffic.put(draft.topic, 1, result.size)
        self.traffic.sent_back(first_topic, group, result.size)
        return self.durability.answer_or_fail(result.commit_log_offset + result.size, Reply())


@dataclass(eq=False, repr=False)
class TimerHandlers:
    broker_name: str
    region: str
    topics: TopicTable
    parking: Parking
    log: MessageLog
    live: LiveOptions
    disk: DiskRoom
    counts: TimerCounts
    durability: Durability
    check: Callable[[], TimerCheck]
    now_ms: Callable[[], int]
    appended: Callable[[], None]

    def routes(self) -> dict[int, Handler]:
        return {
            RequestCode.RECALL_MESSAGE: self.recall,
            RequestCode.GET_TIMER_CHECK_POINT: self.check_point,
            RequestCode.GET_TIMER_METRICS: self.metrics,
        }

    def check_point(self, request: Command, client: Connection) -> Outcome:
        return Reply(body=encode_timer_check(self.check()))

    def metrics(self, request: Command, client: Connection) -> Outcome:
        return Reply(body=fastjson.dumps_pretty(self.counts.table()))

    def recall(self, request: Command, client: Connection) -> Outcome:
        if not self.live.recall_message_enable:
            raise NotPermitted("recall failed, operation is forbidden: recallMessageEnable=false")
        header = RecallMessageRequest.decode(request.fields)
        if not self.live.broker_permission & PERM_WRITE:
            raise Refused(
                "recall failed, the broker is not writable", code=ResponseCode.SERVICE_NOT_AVAILABLE
            )
        check_disk(self.disk)
        if header.topic not in self.topics:
            raise no_such_topic(header.topic)
        self.durability.check()
        now_ms = self.now_ms()
        handle = self._checked(header, now_ms)
        result = self.log.put(self.parking.plan(_recall_draft(handle, client, now_ms), now_ms), now_ms)
        check_stored(result, ResponseCode.SERVICE_NOT_AVAILABLE)
        # Producers trace a recall only if the answer names the region.
        fields = {**RecallMessageResponse(handle.uniq_key).encode(), Property.MSG_REGION: self.region}
        self.appended()
        return self.durability.answer_send(result, fields)

    def _checked(self, header: RecallMessageRequest, now_ms: int) -> RecallHandle:
        try:
            handle = decode_recall_handle(header.recall_handle)
        except BadInput as error:
            raise _illegal(error.text) from None
        if handle.topic != header.topic:
            raise _illegal("the topic does not match the handle")
        if handle.broker_name != self.broker_name:
            raise _illegal("the handle is for another broker")
        if not 0 < handle.deliver_ms - now_ms < self.live.timer_max_delay_sec * 1000:
            raise _illegal("the time of delivery has passed, or is too far ahead")
        return handle


def _recall_draft(handle: RecallHandle, client: Connection, now_ms: int) -> MessageDraft:
    properties = {
        Property.TIMER_DEL_UNIQKEY: delete_key(handle.topic, handle.uniq_key),
        Property.TIMER_DELIVER_MS: str(handle.deliver_ms),
        Property.UNIQ_KEY: handle.uniq_key,
        Property.TAGS: RECALL_TAG,
    }
    text = encode_properties(properties).encode()
    return MessageDraft(handle.topic, 0, 0, 0, now_ms, pack_host(client.remote), 0, 0, b"0", text)


def _illegal(text: str) -> Refused:
    return Refused(f"recall failed: {text}", code=ResponseCode.ILLEGAL_OPERATION)
