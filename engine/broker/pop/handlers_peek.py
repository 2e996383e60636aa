"""Looking without popping: PEEK_MESSAGE (200052), NOTIFICATION (200054), POLLING_INFO (200055).

Nothing changes: a peek shows what the next pop would give, a notification answers (and waits) whether there
is a message, and the polling info counts waiting pops.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from msgspec import Struct

from engine.broker.pop.orders import OrderTable
from engine.broker.pop.pop_reads import QueueReads
from engine.broker.pop.pop_requests import (
    Place,
    PopAdmission,
    admitted_attempt,
    poll_deadline_ms,
    queues_of,
    retry_topics,
    waited_for,
    waiting_key,
)
from engine.broker.pulling.filters import NO_FILTER
from engine.broker.pulling.long_polls import Holds
from engine.broker.settings.options import LiveOptions
from engine.broker.topics.topic_table import TopicTable
from engine.net.connection import Connection
from engine.net.outcomes import ColdRead, Handler, Hold, Outcome, Reply
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Command
from engine.protocol.headers.pop import (
    NotificationRequest,
    NotificationResponse,
    PeekMessageRequest,
    PollingInfoRequest,
    PollingInfoResponse,
    PopMessageResponse,
)
from engine.store.message_store import MessageStore
from engine.store.results import GetResult, GetStatus


class _Notification(Struct, frozen=True, eq=False, gc=False):
    """A NOTIFICATION that waits for a message (see `outcomes.Poll`)."""

    handlers: PopLookHandlers
    client: Connection
    topic: str
    group: str
    queue_id: int
    deadline_ms: int
    is_ordered: bool
    attempt_id: str | None

    @property
    def shared(self) -> None:
        return None

    @property
    def waiting_key(self) -> Hashable:
        return "notification", self.topic, self.group, self.queue_id

    def parked_under(self) -> tuple[Hashable, ...]:
        return (*waited_for(self.topic, self.group, self.queue_id), self.waiting_key)

    def accepts(self, arrival: object, /) -> bool:
        return True

    def resume(self) -> Outcome:
        """Checked again each time: an ordered queue may still be blocked."""
        return self.handlers.notify(self)


@dataclass(eq=False, repr=False)
class PopLookHandlers:
    admission: PopAdmission
    topics: TopicTable
    store: MessageStore
    reads: QueueReads
    orders: OrderTable
    holds: Holds
    live: LiveOptions
    now_ms: Callable[[], int]
    draw: Callable[[int], int]
    can_park: Callable[[Connection], bool]

    def routes(self) -> dict[int, Handler]:
        return {
            RequestCode.PEEK_MESSAGE: self.peek,
            RequestCode.NOTIFICATION: self.notification,
            RequestCode.POLLING_INFO: self.polling_info,
        }

    # -- peek -----------------------------------------------------------------------------------------------

    def peek(self, request: Command, client: Connection) -> Outcome:
        header = PeekMessageRequest.decode(request.fields)
        topic, group = header.topic, header.consumer_group
        config = self.admission.admit(topic, header.queue_id, group, client.remote[0], header.max_msg_nums)
        places = self._retry_places(topic, group)
        places += queues_of(topic, header.queue_id, config.read_queue_nums, self.draw(100))
        bodies: list[bytes] = []
        missing, rest = max(1, header.max_msg_nums), 0
        for place in places:
            result = self._peek_queue(place, group, missing) if missing else None
            if result is not None and result.cold is not None:
                if not bodies:
                    return self._peek_cold(result)
            elif result is not None:
                bodies.append(result.body)
                missing -= result.count
            rest += self.reads.rest(place[0], group, place[1])
        return self._peeked(b"".join(bodies), rest)

    def _peek_queue(self, place: Place, group: str, count: int) -> GetResult | None:
        topic, queue_id = place
        begin = self.store.queues.max_offset(topic, queue_id) - self.reads.rest(topic, group, queue_id)
        result = self.store.queues.get(topic, queue_id, begin, count, None, NO_FILTER.tags, NO_FILTER.wanted)
        if result.status is GetStatus.OFFSET_TOO_SMALL:
            result = self.store.queues.get(topic, queue_id, result.next_begin_offset, count)
        return result if result.status is GetStatus.FOUND else None

    def _peek_cold(self, result: GetResult) -> ColdRead:
        cold = result.cold
        assert cold is not None
        rest = result.max_offset - result.next_begin_offset
        return ColdRead(lambda: self.store.queues.read_cold(cold).body, lambda body: self._peeked(body, rest))

    def _peeked(self, body: bytes, rest: int) -> Reply:
        fields = PopMessageResponse(self.now_ms(), 0, 0, rest).encode()
        if body:
            return Reply(ResponseCode.SUCCESS, "FOUND", fields, body)
        return Reply(ResponseCode.PULL_NOT_FOUND, "NO_MESSAGE_IN_QUEUE", fields)

    # -- notification ---------------------------------------------------------------------------------------

    def notification(self, request: Command, client: Connection) -> Outcome:
        header = NotificationRequest.decode(request.fields)
        topic, group = header.topic, header.consumer_group
        self.admission.admit(topic, header.queue_id, group, client.remote[0])
        asked = _Notification(
            self,
            client,
            sys.intern(topic),
            sys.intern(group),
            header.queue_id,
            poll_deadline_ms(header.poll_time, self.now_ms()) if header.poll_time > 0 else 0,
            bool(header.order),
            admitted_attempt(header.attempt_id, is_ordered=bool(header.order)),
        )
        return self.notify(asked)

    def notify(self, asked: _Notification) -> Outcome:
        config = self.topics.get(asked.topic)
        places = queues_of(asked.topic, asked.queue_id, config.read_queue_nums if config is not None else 1)
        places += self._retry_places(asked.topic, asked.group)
        if any(self._has_message(asked, place) for place in places):
            return Reply(fields=NotificationResponse(has_msg=True).encode())
        remaining_ms = asked.deadline_ms - self.now_ms()
        if remaining_ms <= 0 or not self.can_park(asked.client):
            return Reply(fields=NotificationResponse().encode())
        if self.holds.count_at(asked.waiting_key) >= self.live.pop_polling_size:
            return Reply(fields=NotificationResponse(polling_full=True).encode())
        return Hold(asked, remaining_ms)

    def _has_message(self, asked: _Notification, place: Place) -> bool:
        (topic, queue_id), group = place, asked.group
        if asked.is_ordered:
            blocked = self.orders.blocked_until_ms(topic, group, queue_id, asked.attempt_id, self.now_ms())
            if blocked is not None:
                return False
        return self.reads.rest(topic, group, queue_id) > 0

    # -- waiting pops ---------------------------------------------------------------------------------------

    def polling_info(self, request: Command, client: Connection) -> Outcome:
        header = PollingInfoRequest.decode(request.fields)
        self.admission.admit(header.topic, header.queue_id, header.consumer_group, client.remote[0])
        key = waiting_key(header.topic, header.consumer_group, header.queue_id)
        return Reply(fields=PollingInfoResponse(self.holds.count_at(key)).encode())

    def _retry_places(self, topic: str, group: str) -> list[Place]:
        return [(retry, 0) for retry in retry_topics(topic, group) if retry in self.topics]
