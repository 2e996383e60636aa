"""Where the messages of a topic may go, with the fixed part of each request's header already written.

A plan is made from a route and replaced when the route changes. Queues are taken in turn, beginning anywhere;
a retry avoids the broker that failed, and brokers that were slow lately are avoided while others are there.

The header of a send, as JSON (fields by one letter each, protocol.md §2.2):

    {"code":310,"extFields":{"a":group,"b":topic,"c":defaultTopic,"d":…,"e":queueId,…,   fixed per queue
     "f":sysFlag,"g":bornTimestamp,"h":flag,"i":properties},"flag":0,…,"opaque":…}       per message

A topic that no broker has yet gets a provisional plan: its messages go to brokers that create topics by
themselves (those that serve the default topic), and the real route is requested after the first answer.
Loop thread only.
"""

from __future__ import annotations

import asyncio
import logging
import random
import struct
from collections.abc import Callable, Sequence

import orjson

from engine.client.instance.routes import Routes, master_addresses, publish_queues
from engine.client.messages import Message
from engine.client.options import ProducerOptions
from engine.client.sending.drafts import Draft
from engine.client.sending.latency_faults import LatencyFaults
from engine.errors import BadInput, EngineError, NotFound
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.bodies.routes import TopicRouteData
from engine.protocol.codes import MQ_VERSION, RequestCode, ResponseCode
from engine.protocol.commands import ONEWAY_FLAG, Command, encode_command
from engine.protocol.hashes import java_hash
from engine.protocol.names import check_topic
from engine.protocol.signing import Credentials, sign

Select = Callable[[Sequence[MessageQueue], Message], MessageQueue]
"""A queue selector: given the topic's queues in their order, the one that this message goes to."""

_PREFIX = struct.Struct(">iI")
_HEADER_END = b',"language":"PYTHON","serializeTypeCurrentRPC":"JSON","version":%d}' % MQ_VERSION
_HEADER = b'%b"f":"%d","g":"%d","h":"%d","i":%b},"flag":%d,"opaque":%d' + _HEADER_END.replace(b"%", b"%%")


class SendTarget:
    """One queue that may be written: its broker's address and the fixed part of a header."""

    __slots__ = ("_credentials", "_fields", "address", "batch_head", "broker_name", "head", "queue")

    def __init__(
        self,
        queue: MessageQueue,
        address: str,
        group: str,
        default_topic: str,
        queue_nums: int,
        credentials: Credentials | None = None,
    ) -> None:
        self.queue = queue
        self.broker_name = queue.broker_name
        self.address = address
        fields = {
            "a": group,
            "b": queue.topic,
            "c": default_topic,
            "d": str(queue_nums),
            "e": str(queue.queue_id),
        }
        fields |= {"j": "0", "k": "false", "m": "false", "n": queue.broker_name}
        self._fields = fields
        self._credentials = credentials
        self.head = _head(RequestCode.SEND_MESSAGE_V2, fields)
        self.batch_head = _head(RequestCode.SEND_BATCH_MESSAGE, fields | {"m": "true"})

    def frame(self, draft: Draft, born_ms: int, opaque: int, is_batch: bool, is_oneway: bool) -> bytes:
        """The whole request."""
        if self._credentials is not None:
            return self._signed_frame(self._credentials, draft, born_ms, opaque, is_batch, is_oneway)
        body = draft.body
        header = _HEADER % (
            self.batch_head if is_batch else self.head,
            draft.sys_flag,
            born_ms,
            draft.flag,
            draft.properties,
            ONEWAY_FLAG if is_oneway else 0,
            opaque,
        )
        size = len(header)
        return b"".join((_PREFIX.pack(4 + size + len(body), size), header, body))

    def _signed_frame(
        self,
        credentials: Credentials,
        draft: Draft,
        born_ms: int,
        opaque: int,
        is_batch: bool,
        is_oneway: bool,
    ) -> bytes:
        """A signature is over all values, so there is no fixed part to prepare."""
        fields = self._fields | {
            "f": str(draft.sys_flag),
            "g": str(born_ms),
            "h": str(draft.flag),
            "i": orjson.loads(draft.properties),
            "m": "true" if is_batch else "false",
        }
        code = RequestCode.SEND_BATCH_MESSAGE if is_batch else RequestCode.SEND_MESSAGE_V2
        command = Command(code, opaque, ONEWAY_FLAG if is_oneway else 0, fields=fields, body=draft.body)
        sign(command, credentials)
        return encode_command(command)


def _head(code: RequestCode, fields: dict[str, str]) -> bytes:
    return b'{"code":%d,"extFields":%b,' % (code, orjson.dumps(fields)[:-1])


class SendPlan:
    """The targets of one topic. `choose` for the next message, `target_of` for a given queue."""

    __slots__ = ("_answers", "_brokers", "_next", "_targets", "_untried", "is_provisional", "queues", "topic")

    def __init__(
        self, topic: str, targets: Sequence[SendTarget], first: int, is_provisional: bool = False
    ) -> None:
        if not targets:
            raise NotFound(
                f"the topic {topic} has no queue that may be written", code=ResponseCode.TOPIC_NOT_EXIST
            )
        self.topic = topic
        self.queues = tuple(target.queue for target in targets)
        self.is_provisional = is_provisional
        self._targets = list(targets)
        self._brokers = frozenset(target.broker_name for target in targets)
        self._next = first
        self._untried = set(self._brokers)
        self._answers = 0

    def was_answered_by(self, broker_name: str) -> bool:
        """Of a provisional plan: whether each broker has answered, and so has created the topic. A route that
        is requested earlier would have only the brokers that came first."""
        self._untried.discard(broker_name)
        self._answers += 1
        # A caller that fixes queues may never send to some brokers.
        return not self._untried or self._answers >= len(self._targets)

    def choose(self, faults: LatencyFaults, now_ms: float, failed_broker: str | None = None) -> SendTarget:
        target = self._take()
        if failed_broker is None and not faults:
            return target
        if len(self._brokers) == 1:
            return target
        for _ in self._targets:
            if target.broker_name != failed_broker and faults.is_available(target.broker_name, now_ms):
                return target
            target = self._take()
        wanted = faults.least_bad(self._brokers - {failed_broker})
        return next(found for found in (self._take() for _ in self._targets) if found.broker_name == wanted)

    def _take(self) -> SendTarget:
        self._next = index = (self._next + 1) % len(self._targets)
        return self._targets[index]

    def target_of(self, queue: MessageQueue) -> SendTarget:
        for target in self._targets:
            if target.queue == queue:
                return target
        raise BadInput(f"{queue} is not a queue of {self.topic} that may be written")


def by_sharding_key(sharding_key: str) -> Select:
    """The same key always goes to the same queue while the queues stay the same; as Java's hash selector."""
    return lambda queues, _: queues[abs(java_hash(sharding_key)) % len(queues)]


log = logging.getLogger(__name__)


class TopicPlans:
    """`known` is the cached plan, `make` requests the route. `on_route_changed` must be called for every
    change."""

    def __init__(
        self, group: str, routes: Routes, options: ProducerOptions, credentials: Credentials | None = None
    ) -> None:
        self._group = group
        self._credentials = credentials
        self._routes = routes
        self._default_topic = options.default_topic
        self._default_queue_nums = options.default_topic_queue_nums
        self._plans: dict[str, SendPlan] = {}
        self._refreshing: dict[str, asyncio.Task[None]] = {}

    def known(self, topic: str) -> SendPlan | None:
        return self._plans.get(topic)

    async def make(self, topic: str) -> SendPlan:
        check_topic(topic)
        route = await self._routes.get(topic)
        if route is not None:
            plan = self.plan_of(topic, route, random.randrange(1 << 16))
        else:
            plan = await self._provisional(topic)
        self._plans[topic] = plan
        return plan

    async def _provisional(self, topic: str) -> SendPlan:
        route = await self._routes.get(self._default_topic)
        if route is None:
            text = f"no broker has the topic {topic}, and none creates topics by itself"
            raise NotFound(text, code=ResponseCode.TOPIC_NOT_EXIST)
        return self.plan_of(topic, route, random.randrange(1 << 16), is_provisional=True)

    def plan_of(
        self, topic: str, route: TopicRouteData, first: int, *, is_provisional: bool = False
    ) -> SendPlan:
        """Begins after the `first` queue; a provisional plan has no more than the default queues."""
        masters = master_addresses(route)
        queues = publish_queues(topic, route)
        if is_provisional:
            queues = [queue for queue in queues if queue.queue_id < self._default_queue_nums]
        fixed = (self._group, self._default_topic, self._default_queue_nums, self._credentials)
        targets = [
            SendTarget(queue, masters[queue.broker_name], *fixed)
            for queue in queues
            if masters.get(queue.broker_name)
        ]
        return SendPlan(topic, targets, first, is_provisional)

    def on_route_changed(self, topic: str) -> None:
        self._plans.pop(topic, None)
        if topic == self._default_topic:
            self._plans = {name: plan for name, plan in self._plans.items() if not plan.is_provisional}

    def refresh_soon(self, topic: str) -> None:
        """Request the route again, once for all sends that need it."""
        if topic not in self._refreshing:
            task = asyncio.get_running_loop().create_task(self._refresh(topic))
            self._refreshing[topic] = task
            task.add_done_callback(lambda _: self._refreshing.pop(topic, None))

    async def _refresh(self, topic: str) -> None:
        try:
            await self._routes.refresh(topic)
        except EngineError as error:
            log.info("route of %s: %s", topic, error.text)

    def close(self) -> None:
        for task in list(self._refreshing.values()):
            task.cancel()
