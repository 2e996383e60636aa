"""Single messages: by id, by key, by place; and having a consumer take one.

An offset message id names the address of a broker. It comes from outside, so it is only followed when that
address is a broker of this cluster: a forged id must not make us dial anything else.
"""

from __future__ import annotations

from typing import NamedTuple

from engine.client.admin.name_servers import ClusterAdmin
from engine.client.admin.part import AdminPart
from engine.client.consuming.offsets import QueueOffsets
from engine.client.consuming.pull_requests import PullResult, Pulls, PullStatus
from engine.client.consuming.subscriptions import subscription
from engine.client.instance.answers import unless_absent
from engine.client.instance.instance import ClientInstance
from engine.client.instance.routes import subscribe_queues
from engine.client.messages import ReceivedMessage
from engine.client.options import PullOptions
from engine.errors import BadInput, NotFound
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.bodies.clients import ConsumeMessageDirectlyResult
from engine.protocol.bodies.routes import MASTER_ID, BrokerData
from engine.protocol.bodies.stats import QueryConsumeQueueResponseBody
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.headers.groups import ConsumeMessageDirectlyRequest
from engine.protocol.headers.pull import (
    FROM_THE_NEWEST,
    QueryConsumeQueueRequest,
    QueryMessageRequest,
    QueryMessageResponse,
    ViewMessageRequest,
)
from engine.protocol.message_ids import parse_offset_msg_id
from engine.protocol.names import TOOLS_GROUP
from engine.protocol.records import Record, decode_record, decode_records

FOREVER_MS = (1 << 63) - 1
RELAY_TIMEOUT_MS = 15_000
_PAGE = 64


SearchPlace = tuple[tuple[str, str], ...]
"""Broker names, and where each goes on: to be handed back as it is."""


class SearchPage(NamedTuple):
    messages: list[ReceivedMessage]
    following: SearchPlace | None
    is_cut: bool


class MessageAdmin(AdminPart):
    def __init__(self, instance: ClientInstance) -> None:
        super().__init__(instance)
        self._pulls = Pulls(instance, TOOLS_GROUP, PullOptions())
        self._offsets = QueueOffsets(instance)

    async def by_offset_id(self, offset_msg_id: str, topic: str | None = None) -> ReceivedMessage:
        """33: the message at the place that its id names."""
        (host, port), commit_log_offset = parse_offset_msg_id(offset_msg_id)
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        broker_name = await self._broker_at(address)
        header = ViewMessageRequest(commit_log_offset, topic)
        answer = await self._call(address, RequestCode.VIEW_MESSAGE_BY_ID, header)
        return _received(decode_record(answer.body), broker_name)

    async def by_unique_key(
        self, topic: str, msg_id: str, begin_ms: int = 0, end_ms: int = FOREVER_MS
    ) -> list[ReceivedMessage]:
        """12: the messages with this producer's id; more than one when it was sent again."""
        found = await self._query(topic, msg_id, 32, begin_ms, end_ms, is_unique_key=True)
        return [message for message in found if message.record.uniq_key == msg_id]

    async def by_key(
        self, topic: str, key: str, max_messages: int = 32, begin_ms: int = 0, end_ms: int = FOREVER_MS
    ) -> list[ReceivedMessage]:
        """12: the messages with this business key, the oldest first."""
        found = await self._query(topic, key, max_messages, begin_ms, end_ms, is_unique_key=False)
        return [message for message in found if key in message.keys]

    async def search(
        self,
        topic: str,
        key: str,
        *,
        after: SearchPlace | None = None,
        begin_ms: int = 0,
        end_ms: int = FOREVER_MS,
    ) -> SearchPage:
        """12: up to 64 messages of each broker with this key, the newest first; `after=page.following` goes
        on. Brokers of another make cannot go on: with them, `is_cut` means that there may be more."""
        places = None if after is None else dict(after)
        found: list[ReceivedMessage] = []
        following: list[tuple[str, str]] = []
        is_cut = False
        for broker in (await self._instance.routes.must_get(topic)).broker_datas:
            if places is None or broker.broker_name in places:
                place = FROM_THE_NEWEST if places is None else places[broker.broker_name]
                header = QueryMessageRequest(topic, key, _PAGE, begin_ms, end_ms, False, place)
                some, further = await self._query_broker(broker, header)
                found += [
                    message for message in some if message.record.topic == topic and _is_of(message, key)
                ]
                is_cut |= further is None and len(some) >= _PAGE
                following += [(broker.broker_name, further)] if further else []
        found.sort(key=lambda message: message.store_timestamp, reverse=True)
        return SearchPage(found, tuple(following) or None, is_cut)

    async def stored_between(
        self, topic: str, begin_ms: int, end_ms: int, max_messages: int = 64
    ) -> list[ReceivedMessage]:
        """29 and 11: messages by their store time, the oldest first."""
        wanted = subscription(topic, "*", 0)
        route = await self._instance.routes.must_get(topic)
        found: list[ReceivedMessage] = []
        for queue in subscribe_queues(topic, route):
            offset = await self._offsets.offset_at(queue, begin_ms)
            taken: list[ReceivedMessage] = []
            while len(taken) < max_messages:
                result = await self._pulls.pull(queue, offset, wanted, suspend_ms=0)
                if result.status is not PullStatus.FOUND:
                    break
                inside = [message for message in result.messages if message.store_timestamp < end_ms]
                taken += inside
                offset = result.next_offset
                if len(inside) < len(result.messages):
                    break
            found += taken
        return sorted(found, key=lambda message: message.store_timestamp)[:max_messages]

    async def at(self, queue: MessageQueue, queue_offset: int) -> ReceivedMessage:
        """11: the message at one place of a queue."""
        result = await self.read(queue, queue_offset, max_messages=1)
        if result.status is not PullStatus.FOUND or result.messages[0].queue_offset != queue_offset:
            kept = f"{result.min_offset} to {result.max_offset}"
            raise NotFound(
                f"no message at {queue_offset} of {queue} ({kept})", code=ResponseCode.QUERY_NOT_FOUND
            )
        return result.messages[0]

    async def queues(self, topic: str) -> list[MessageQueue]:
        """105: the queues that may be read, sorted; requested anew, because queues come and go."""
        await self._instance.routes.refresh(topic)
        return subscribe_queues(topic, await self._instance.routes.must_get(topic))

    async def read(
        self, queue: MessageQueue, queue_offset: int, *, max_messages: int = 32, tags: str = "*"
    ) -> PullResult:
        """11: the messages from this offset on, without waiting for more. Messages with other tags are
        skipped, up to `next_offset`."""
        await self._instance.routes.must_get(queue.topic)
        wanted = subscription(queue.topic, tags, 0)
        return await self._pulls.pull(queue, queue_offset, wanted, suspend_ms=0, max_messages=max_messages)

    async def consume_queue(
        self, broker: str, topic: str, queue_id: int, index: int, count: int, group: str | None = None
    ) -> QueryConsumeQueueResponseBody:
        """321: units of a consume queue as they are stored."""
        header = QueryConsumeQueueRequest(topic, queue_id, index, count, group)
        return await self._ask(QueryConsumeQueueResponseBody, broker, RequestCode.QUERY_CONSUME_QUEUE, header)

    async def consume_directly(
        self, broker: str, group: str, client_id: str, offset_msg_id: str, topic: str | None = None
    ) -> ConsumeMessageDirectlyResult:
        """309: have one online consumer run its listener on this message now."""
        header = ConsumeMessageDirectlyRequest(group, client_id, offset_msg_id, None, topic)
        code = RequestCode.CONSUME_MESSAGE_DIRECTLY
        return await self._ask(
            ConsumeMessageDirectlyResult, broker, code, header, timeout_ms=RELAY_TIMEOUT_MS
        )

    async def _query(
        self, topic: str, key: str, most: int, begin_ms: int, end_ms: int, *, is_unique_key: bool
    ) -> list[ReceivedMessage]:
        route = await self._instance.routes.must_get(topic)
        header = QueryMessageRequest(topic, key, most, begin_ms, end_ms, is_unique_key)
        found: list[ReceivedMessage] = []
        for broker in route.broker_datas:
            found += (await self._query_broker(broker, header))[0]
        found = [message for message in found if message.record.topic == topic]
        return sorted(found, key=lambda message: message.store_timestamp)

    async def _query_broker(
        self, broker: BrokerData, header: QueryMessageRequest
    ) -> tuple[list[ReceivedMessage], str | None]:
        """The messages found, and the continuation if the broker sent one."""
        if not broker.broker_addrs:
            return [], None
        address = broker.broker_addrs.get(MASTER_ID) or broker.broker_addrs[min(broker.broker_addrs)]
        answer = await unless_absent(self._call(address, RequestCode.QUERY_MESSAGE, header))
        if answer is None:
            return [], None
        found = [_received(record, broker.broker_name) for record in decode_records(answer.body)]
        return found, QueryMessageResponse.decode(answer.fields).continuation

    async def _broker_at(self, address: str) -> str:
        for data in (await ClusterAdmin(self._instance).info()).broker_addr_table.values():
            if address in data.broker_addrs.values():
                return data.broker_name
        raise BadInput(f"the message id names {address}, which is not a broker of this cluster")


def _is_of(message: ReceivedMessage, key: str) -> bool:
    return key in message.keys or key == message.record.uniq_key


def _received(record: Record, broker_name: str) -> ReceivedMessage:
    return ReceivedMessage(record, MessageQueue(record.topic, broker_name, record.queue_id))
