"""Timed messages beside sending them: 370 calls one back, 60 and 61 tell slaves and tools how they stand.

A call-back is a message of its own that waits for the same second: both are gone when it has passed. It is
refused (604) once that second is over, and then changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.broker.delivery.parked_messages import Parking
from engine.broker.delivery.timed_messages import RECALL_TAG, TimerCounts, delete_key
from engine.broker.sending.admission import check_disk, not_stored
from engine.broker.sending.durability import Durability
from engine.broker.settings.options import LiveOptions
from engine.broker.storage.disk_room import DiskRoom
from engine.broker.topics.topic_rules import no_such_topic
from engine.broker.topics.topic_table import TopicTable
from engine.errors import BadInput, NotPermitted, Refused
from engine.net.connection import Connection
from engine.net.outcomes import Handler, Outcome, Reply
from engine.protocol import fastjson
from engine.protocol.bodies.topics import PERM_WRITE
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Command
from engine.protocol.headers.send import RecallMessageRequest, RecallMessageResponse
from engine.protocol.hosts import pack_host
from engine.protocol.layouts.checkpoints import TimerCheck, encode_timer_check
from engine.protocol.message_ids import RecallHandle, decode_recall_handle
from engine.protocol.properties import Property, encode_properties
from engine.store.message_store import MessageStore
from engine.store.results import MessageDraft, PutStatus


@dataclass(eq=False, repr=False)
class TimerHandlers:
    broker_name: str
    region: str
    topics: TopicTable
    parking: Parking
    store: MessageStore
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
        result = self.store.put(self.parking.plan(_recall_draft(handle, client, now_ms), now_ms), now_ms)
        if result.status is not PutStatus.PUT_OK:
            raise not_stored(result, ResponseCode.SERVICE_NOT_AVAILABLE)
        # Producers trace a recall only when they are told the region.
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
