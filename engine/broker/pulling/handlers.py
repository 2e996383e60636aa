"""Pulls: PULL_MESSAGE (11) and LITE_PULL_MESSAGE (361), with long polling.

The order of checks and the table from read status to response code are RocketMQ's. Every answer carries the
four offset fields: the C++ client throws without them. A pull that finds nothing is parked under its queue
and run again, without parking, when a wanted message arrives or its time is up.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from msgspec import Struct

from engine.broker.clients.client_tables import ConsumerTable
from engine.broker.damage.damaged_reads_io import DamagedReads, skip_remark, wait_remark
from engine.broker.failover.role import Role
from engine.broker.groups.group_table import GroupAdmission
from engine.broker.offsets.offset_table import ConsumerOffsets
from engine.broker.pulling.filters import FilteredRead, MessageFilter, announced_filter, subscription_filter
from engine.broker.pulling.slave_reads import (
    check_slave_readable,
    is_corrected,
    slave_code,
    suggested_broker,
)
from engine.broker.settings.options import LiveOptions
from engine.broker.stats.traffic import Traffic
from engine.broker.topics.topic_rules import (
    check_broker_readable,
    check_group_enabled,
    check_queue_readable,
    check_topic_readable,
    forbidden,
    no_such_topic,
)
from engine.broker.topics.topic_table import TopicTable
from engine.errors import NotPermitted, Refused
from engine.net.connection import Connection
from engine.net.outcomes import ColdRead, Handler, Hold, Outcome, Reply
from engine.protocol.bodies.clients import MessageModel
from engine.protocol.bodies.groups import SubscriptionGroupConfig
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Command
from engine.protocol.headers.pull import ForbiddenType, PullMessageRequest
from engine.store.log.message_log import MessageLog
from engine.store.queues.message_queues import MessageQueues
from engine.store.reading.cold_reads import count_records
from engine.store.results import Arrival, Damage, GetResult, GetStatus

_MAX_SUSPEND_MS = 60_000
_NOT_FOUND = {GetStatus.OFFSET_OVERFLOW_ONE, GetStatus.OFFSET_FOUND_NULL}
_EMPTY = {GetStatus.NO_MATCHED_LOGIC_QUEUE, GetStatus.NO_MESSAGE_IN_QUEUE}
_RETRY = {GetStatus.NO_MATCHED_MESSAGE, GetStatus.MESSAGE_WAS_REMOVING}


def response_code(status: GetStatus, queue_offset: int) -> ResponseCode:
    """The response code of a read; an empty queue is an error only for a pull beyond its start."""
    if status is GetStatus.FOUND:
        return ResponseCode.SUCCESS
    if status in _RETRY:
        return ResponseCode.PULL_RETRY_IMMEDIATELY
    if status in _NOT_FOUND or (status in _EMPTY and queue_offset == 0):
        return ResponseCode.PULL_NOT_FOUND
    return ResponseCode.PULL_OFFSET_MOVED


class _HeldPull(Struct, frozen=True, eq=False, gc=False):
    """A pull that waits (see `outcomes.Poll`)."""

    handlers: PullHandlers
    group: SubscriptionGroupConfig
    group_name: str
    topic: str
    queue_id: int
    queue_offset: int
    max_msg_nums: int
    max_msg_bytes: int | None
    wanted: MessageFilter

    @property
    def shared(self) -> MessageFilter | None:
        return self.wanted if self.wanted.weight else None

    def parked_under(self) -> tuple[Hashable, ...]:
        return ((self.topic, self.queue_id),)

    def accepts(self, arrival: object, /) -> bool:
        return self.handlers.accepts(self, arrival)

    def resume(self) -> Outcome:
        return self.handlers.read_again(self.header(), self.group, self.wanted)

    def header(self) -> PullMessageRequest:
        """The request once more, as far as reading needs it."""
        return PullMessageRequest(
            self.group_name,
            self.topic,
            self.queue_id,
            self.queue_offset,
            self.max_msg_nums,
            sys_flag=0,
            commit_offset=0,
            suspend_timeout_millis=0,
            sub_version=0,
            max_msg_bytes=self.max_msg_bytes,
        )


@dataclass(eq=False, repr=False)
class PullHandlers:
    topics: TopicTable
    groups: GroupAdmission
    consumers: ConsumerTable[Connection]
    offsets: ConsumerOffsets
    log: MessageLog
    queues: MessageQueues
    live: LiveOptions
    traffic: Traffic
    role: Role
    damaged: DamagedReads
    hot_window_bytes: int
    allows_sql: bool
    now_ms: Callable[[], int]

    def routes(self) -> dict[int, Handler]:
        return {RequestCode.PULL_MESSAGE: self.pull, RequestCode.LITE_PULL_MESSAGE: self.lite_pull}

    def lite_pull(self, request: Command, client: Connection) -> Outcome:
        if not self.live.lite_pull_message_enable:
            raise NotPermitted("lite pull is disabled on this broker (litePullMessageEnable=false)")
        return self.pull(request, client)

    def pull(self, request: Command, client: Connection) -> Outcome:
        header = PullMessageRequest.decode(request.fields)
        check_slave_readable(self.role, self.live.slave_read_enable)
        try:
            group = self._admit(header, client.remote[0])
            wanted = self._filter(header, group)
        except NotPermitted as error:
            fields = _fields(0, 0, 0, 0)
            fields["forbiddenType"] = str(error.data.get("forbidden_type", 0))
            return Reply(error.code, error.text, fields)
        outcome = self._moved(header)
        if outcome is not None:
            return outcome
        outcome = self._read(header, group, wanted, may_hold=header.may_suspend)
        # A slave stores offsets only from UPDATE_CONSUMER_OFFSET, never from pulls.
        if header.commits_offset and self.role.is_master:
            self.offsets.commit(header.topic, header.consumer_group, header.queue_id, header.commit_offset)
        return outcome

    # -- may this group pull this queue? --------------------------------------------------------------------

    def _admit(self, header: PullMessageRequest, host: str) -> SubscriptionGroupConfig:
        check_broker_readable(self.live.broker_permission)
        name = header.consumer_group
        group = self.groups.table.get(name) or self.groups.admit(name, self.now_ms(), host)
        check_group_enabled(group)
        topic = self.topics.get(header.topic)
        if topic is None:
            raise no_such_topic(header.topic)
        check_topic_readable(topic)
        check_queue_readable(topic, header.queue_id)
        return group

    def _filter(self, header: PullMessageRequest, group: SubscriptionGroupConfig) -> MessageFilter:
        """The filter of this pull: its own subscription, or the one that the group's heartbeats announced."""
        if header.has_subscription:
            return subscription_filter(
                header.subscription, header.expression_type, allows_sql=self.allows_sql
            )
        name, topic = header.consumer_group, header.topic
        online = self.consumers.group(name)
        if online is None:
            raise _no_subscription(f"the consumer's group info not exist, {name} has no online member")
        if online.message_model is MessageModel.BROADCASTING and not group.consume_broadcast_enable:
            raise forbidden(f"the consumer group {name} may not broadcast", ForbiddenType.BROADCASTING)
        if self.groups.table.is_read_forbidden(name, topic):
            raise forbidden(f"the consumer group {name} may not read {topic}", ForbiddenType.SUBSCRIPTION)
        subscription = online.subscriptions.get(topic)
        if subscription is None:
            raise _no_subscription(f"the consumer's subscription not exist, {name} does not read {topic}")
        if subscription.sub_version < header.sub_version:
            raise Refused("the consumer's subscription not latest", code=ResponseCode.SUBSCRIPTION_NOT_LATEST)
        return announced_filter(subscription, allows_sql=self.allows_sql)

    # -- reading --------------------------------------------------------------------------------------------

    def _read(
        self,
        header: PullMessageRequest,
        group: SubscriptionGroupConfig,
        wanted: MessageFilter,
        may_hold: bool,
        is_second: bool = False,
    ) -> Outcome:
        """`is_second`: a damaged record was found before, and its repair has been tried."""
        result = self.queues.get(
            header.topic,
            header.queue_id,
            header.queue_offset,
            max(1, header.max_msg_nums),
            header.max_msg_bytes,
            wanted.tags,
            wanted.wanted,
        )
        if result.status is GetStatus.FOUND:
            if result.cold is not None:
                return self._read_cold(header, group, result, wanted, is_second)
            return self._found(header, group, result, result.body, result.count)
        self.traffic.pulls_missed += 1
        if result.damage is not None:
            return self._damaged_first(header, group, result, wanted, result.damage, is_second)
        code = response_code(result.status, header.queue_offset)
        if not self.role.is_master:
            is_alive = self.role.is_master_alive
            lacks_front = result.status is GetStatus.OFFSET_TOO_SMALL and self.role.lacks_front()
            code = slave_code(result.status, code, is_alive, lacks_front=lacks_front)
            if not is_corrected(result.status, is_alive, lacks_front=lacks_front):
                result = result._replace(next_begin_offset=header.queue_offset)
        if code is ResponseCode.PULL_NOT_FOUND and may_hold:
            return self._hold(header, group, wanted)
        return Reply(code, result.status.value, self._offset_fields(group, result))

    def _hold(
        self, header: PullMessageRequest, group: SubscriptionGroupConfig, wanted: MessageFilter
    ) -> Hold:
        timeout_ms = header.suspend_timeout_millis
        if not self.live.long_polling_enable:
            timeout_ms = self.live.short_polling_time_mills
        held = _HeldPull(
            self,
            group,
            sys.intern(header.consumer_group),
            sys.intern(header.topic),
            header.queue_id,
            header.queue_offset,
            header.max_msg_nums,
            header.max_msg_bytes,
            wanted,
        )
        return Hold(held, max(0, min(timeout_ms, _MAX_SUSPEND_MS)))

    def accepts(self, held: _HeldPull, arrival: object) -> bool:
        """Whether a held pull wants what arrived."""
        if not isinstance(arrival, Arrival):
            return self.offsets.has_reset(held.topic, held.group_name, held.queue_id)
        at, tags, properties = arrival.next_queue_offset, held.wanted.tags, held.wanted.wanted
        if at <= held.queue_offset or (tags is not None and not tags(arrival.tags_code)):
            return False
        return properties is None or self.queues.wanted_at(held.topic, held.queue_id, at - 1, properties)

    def read_again(
        self, header: PullMessageRequest, group: SubscriptionGroupConfig, wanted: MessageFilter
    ) -> Outcome:
        """A held pull whose message has arrived, or whose time is up."""
        return self._moved(header) or self._read(header, group, wanted, may_hold=False)

    def _read_cold(
        self,
        header: PullMessageRequest,
        group: SubscriptionGroupConfig,
        result: GetResult,
        wanted: MessageFilter,
        is_second: bool,
    ) -> ColdRead:
        assert result.cold is not None
        cold = FilteredRead(self.queues, result.cold, wanted.wanted)

        def finish(body: bytes) -> Outcome:
            count, cut, damage = cold.count or result.count, result, cold.damage
            if damage is not None:
                if damage.queue_offset == header.queue_offset:
                    return self._damaged_first(header, group, result, wanted, damage, is_second)
                # Messages before the damage are delivered first.
                cut = result._replace(next_begin_offset=damage.queue_offset)
                count = cold.count or count_records(body)
            if body:
                return self._found(header, group, cut, body, count)
            is_removed = wanted.wanted is None and damage is None
            gone = GetStatus.MESSAGE_WAS_REMOVING if is_removed else GetStatus.NO_MATCHED_MESSAGE
            return Reply(response_code(gone, 0), gone.value, self._offset_fields(group, cut))

        return ColdRead(cold.read, finish)

    def _damaged_first(
        self,
        header: PullMessageRequest,
        group: SubscriptionGroupConfig,
        result: GetResult,
        wanted: MessageFilter,
        damage: Damage,
        is_second: bool,
    ) -> Outcome:
        """The next message is damaged: read it again after its repair, else continue after it."""

        def answer(remark: str, next_offset: int) -> Reply:
            fields = self._offset_fields(group, result._replace(next_begin_offset=next_offset))
            return Reply(ResponseCode.PULL_RETRY_IMMEDIATELY, remark, fields)

        def again() -> Outcome:
            return self._read(header, group, wanted, may_hold=False, is_second=True)

        return self.damaged.answer(
            damage,
            header.consumer_group,
            "pull",
            again=None if is_second else again,
            later=lambda: answer(wait_remark(damage), header.queue_offset),
            skip=lambda: answer(skip_remark(damage), damage.queue_offset + 1),
        )

    def _found(
        self,
        header: PullMessageRequest,
        group: SubscriptionGroupConfig,
        result: GetResult,
        body: bytes,
        count: int,
    ) -> Reply:
        name = header.consumer_group
        self.traffic.got(header.topic, name, count, len(body))
        self.offsets.note_pulled(header.topic, name, header.queue_id, result.next_begin_offset)
        return Reply(ResponseCode.SUCCESS, "FOUND", self._offset_fields(group, result), body)

    def _moved(self, header: PullMessageRequest) -> Outcome | None:
        """The answer to a group that was reset in the meantime."""
        topic, queue_id = header.topic, header.queue_id
        reset = self.offsets.take_reset(topic, header.consumer_group, queue_id)
        if reset is None:
            return None
        queues = self.queues
        low, high = queues.min_offset(topic, queue_id), queues.max_offset(topic, queue_id)
        return Reply(ResponseCode.PULL_OFFSET_MOVED, "OFFSET_RESET", _fields(0, reset, low, high))

    def _offset_fields(self, group: SubscriptionGroupConfig, result: GetResult) -> dict[str, str]:
        broker_id = 0
        if self.live.slave_read_enable:
            behind = self.log.max_offset - result.first_commit_log_offset
            is_slow = result.first_commit_log_offset >= 0 and behind > self.hot_window_bytes
            broker_id = suggested_broker(self.role, group, is_slow=is_slow)
        return _fields(broker_id, result.next_begin_offset, result.min_offset, result.max_offset)


def _fields(broker_id: int, next_offset: int, low: int, high: int) -> dict[str, str]:
    return {
        "maxOffset": str(high),
        "minOffset": str(low),
        "nextBeginOffset": str(next_offset),
        "suggestWhichBrokerId": str(broker_id),
    }


def _no_subscription(text: str) -> Refused:
    return Refused(text, code=ResponseCode.SUBSCRIPTION_NOT_EXIST)
