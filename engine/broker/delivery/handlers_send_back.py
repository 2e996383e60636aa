"""CONSUMER_SEND_MSG_BACK (36): a message that could not be consumed comes back, to be delivered later.

It is answered once the message is stored again (under SYNC_FLUSH: on disk), so that the consumer may then
forget it. A refusal means that nothing was stored: the message is still the consumer's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.access.gate import RecordCheck, unchecked
from engine.access.resources import Action
from engine.broker.delivery.parked_messages import Parking
from engine.broker.delivery.retries import RetryRule, SendBackPlan, plan_send_back
from engine.broker.sending.admission import check_disk, not_stored
from engine.broker.sending.durability import Durability
from engine.broker.settings.options import LiveOptions
from engine.broker.state.table_files import TOPICS_FILE
from engine.broker.stats.traffic import Traffic
from engine.broker.storage.disk_room import DiskRoom
from engine.broker.topics.topic_table import TopicTable, retry_topic_config
from engine.broker.transactions.half_messages import topic_of
from engine.errors import NotFound, NotPermitted
from engine.net.connection import Connection
from engine.net.outcomes import Announce, ColdRead, Handler, Outcome, Reply
from engine.protocol.bodies.groups import SubscriptionGroupConfig
from engine.protocol.bodies.topics import PERM_WRITE
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Command
from engine.protocol.headers.send import ConsumerSendMsgBackRequest
from engine.protocol.properties import Property
from engine.protocol.records import decode_record
from engine.store.message_store import MessageStore
from engine.store.results import PutStatus


@dataclass(eq=False, repr=False)
class SendBackHandlers:
    topics: TopicTable
    retries: RetryRule
    parking: Parking
    store: MessageStore
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
        group = self.retries.group(header.group, self.now_ms(), client.remote[0])
        if not self.live.broker_permission & PERM_WRITE:
            raise NotPermitted("the broker sending message is forbidden")
        check_disk(self.disk)
        if group.retry_queue_nums <= 0:
            return Reply()
        reads = self.store.plan_record_reads([(header.offset, 0)])
        if reads.is_hot:
            return self._take(self.store.raw_record_at(header.offset), header, group, request, client)
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
        result = self.store.put(draft, now_ms)
        if result.status is not PutStatus.PUT_OK:
            self.traffic.put_failed += 1
            raise not_stored(result)
        self.appended()
        self.traffic.put(draft.topic, 1, result.size)
        self.traffic.sent_back(first_topic, group, result.size)
        return self.durability.answer_or_fail(result.commit_log_offset + result.size, Reply())
