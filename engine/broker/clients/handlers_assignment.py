"""Queues assigned to clients: 41 and 42 lock and unlock, 400 assigns, 401 and 402 set pull or pop.

Clients that do not rebalance themselves send 400. The queues of a topic lie on several brokers, so a name
server is asked for its route first; without any name server only this broker's own queues are known. In POP
mode queues are shared: by all consumers (each then pops all queues of every broker, queue id -1) or by as
many neighbours as the mode allows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.broker.clients.client_tables import ConsumerTable
from engine.broker.clients.queue_assignment import REQUEST_MODES_FILE, QueueLocks, RequestModes
from engine.broker.groups.group_table import SubscriptionGroupTable
from engine.broker.topics.topic_rules import no_such_group, no_such_topic
from engine.broker.topics.topic_table import TopicTable
from engine.errors import BadRequest, NotPermitted, Refused
from engine.net.connection import Connection
from engine.net.outcomes import Handler, Outcome, Persist, Relay, Reply
from engine.protocol.allocation import Allocate, average, average_by_circle
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.bodies.clients import MessageModel
from engine.protocol.bodies.groups import (
    LockBatchRequestBody,
    LockBatchResponseBody,
    MessageQueueAssignment,
    MessageRequestMode,
    QueryAssignmentRequestBody,
    QueryAssignmentResponseBody,
    SetMessageRequestModeRequestBody,
)
from engine.protocol.bodies.routes import TopicRouteData
from engine.protocol.bodies.topics import PERM_READ
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Command
from engine.protocol.headers.namesrv import GetRouteInfoRequest
from engine.protocol.names import check_group, check_topic, is_retry_topic

ALL_QUEUES = -1
_ROUTE_TIMEOUT_MS = 3_000
_STRATEGIES = {"": average, "AVG": average, "AVG_BY_CIRCLE": average_by_circle}


@dataclass(eq=False, repr=False)
class AssignmentHandlers:
    broker_name: str
    topics: TopicTable
    groups: SubscriptionGroupTable
    consumers: ConsumerTable[Connection]
    modes: RequestModes
    locks: QueueLocks
    name_server: Callable[[], Connection | None]
    now_ms: Callable[[], int]

    def routes(self) -> dict[int, Handler]:
        return {
            RequestCode.LOCK_BATCH_MQ: self.lock,
            RequestCode.UNLOCK_BATCH_MQ: self.unlock,
            RequestCode.QUERY_ASSIGNMENT: self.assign,
            RequestCode.SET_MESSAGE_REQUEST_MODE: self.set_mode,
            RequestCode.GET_ALL_MESSAGE_REQUEST_MODE: self.all_modes,
        }

    def assign(self, request: Command, client: Connection) -> Outcome:
        asked = QueryAssignmentRequestBody.decode(request.body)
        check_topic(asked.topic)
        check_group(asked.consumer_group)
        if asked.strategy_name not in _STRATEGIES:
            raise BadRequest(f"the strategy {asked.strategy_name:.80} is neither AVG nor AVG_BY_CIRCLE")
        name_server = self.name_server()
        if name_server is None:
            return self._share_out(asked, self._own_queues(asked.topic))
        fields = GetRouteInfoRequest(asked.topic, accept_standard_json_only=True).encode()
        question = Command(RequestCode.GET_ROUTEINFO_BY_TOPIC, fields=fields)
        return Relay(name_server, question, _ROUTE_TIMEOUT_MS, lambda answer: self._routed(asked, answer))

    def _routed(self, asked: QueryAssignmentRequestBody, answer: Command | None) -> Outcome:
        if answer is None:
            raise Refused("no name server answered with the route of the topic")
        if answer.code != ResponseCode.SUCCESS:
            raise no_such_topic(asked.topic)
        return self._share_out(asked, readable_queues(asked.topic, TopicRouteData.decode(answer.body)))

    def _share_out(self, asked: QueryAssignmentRequestBody, queues: list[MessageQueue]) -> Outcome:
        queues, mode = sorted(queues), MessageRequestMode.PULL
        if asked.message_model is MessageModel.CLUSTERING:
            group = self.consumers.group(asked.consumer_group)
            members = [] if group is None else sorted(group.client_ids())
            allocate = _STRATEGIES[asked.strategy_name]
            chosen = self.modes.get(asked.topic, asked.consumer_group)
            if chosen is not None and chosen.mode is MessageRequestMode.POP:
                mode = MessageRequestMode.POP
                queues = shared_queues(allocate, asked.client_id, queues, members, chosen.pop_share_queue_num)
            else:
                queues = allocate(asked.client_id, queues, members)
        assignments = tuple(MessageQueueAssignment(queue, mode) for queue in queues)
        return Reply(body=QueryAssignmentResponseBody(assignments).encode())

    def _own_queues(self, topic: str) -> list[MessageQueue]:
        config = self.topics.get(topic)
        if config is None:
            raise no_such_topic(topic)
        return [MessageQueue(topic, self.broker_name, queue_id) for queue_id in range(config.read_queue_nums)]

    def set_mode(self, request: Command, client: Connection) -> Outcome:
        mode = SetMessageRequestModeRequestBody.decode(request.body)
        if is_retry_topic(mode.topic):
            raise NotPermitted("retry topic is not allowed to set mode")
        if mode.topic not in self.topics:
            raise no_such_topic(mode.topic)
        if mode.consumer_group not in self.groups:
            raise no_such_group(mode.consumer_group)
        self.modes.put(mode)
        return Persist(REQUEST_MODES_FILE, Reply())

    def all_modes(self, request: Command, client: Connection) -> Outcome:
        return Reply(body=self.modes.snapshot().encode())

    # -- locks ----------------------------------------------------------------------------------------------

    def lock(self, request: Command, client: Connection) -> Outcome:
        asked = _decode_locks(request)
        held = self.locks.lock(asked.consumer_group, asked.client_id, asked.mq_set, self.now_ms())
        return Reply(body=LockBatchResponseBody(tuple(held)).encode())

    def unlock(self, request: Command, client: Connection) -> Outcome:
        asked = _decode_locks(request)
        self.locks.unlock(asked.consumer_group, asked.client_id, asked.mq_set)
        return Reply()


def shared_queues(
    allocate: Allocate, client_id: str, queues: list[MessageQueue], members: list[str], neighbours: int
) -> list[MessageQueue]:
    """The queues that a client pops: all, or its own and those of the next members."""
    if client_id not in members:
        return []
    if neighbours <= 0 or neighbours >= len(members) - 1:
        return sorted({MessageQueue(queue.topic, queue.broker_name, ALL_QUEUES) for queue in queues})
    place = members.index(client_id)
    sharing = [members[(place + step) % len(members)] for step in range(neighbours + 1)]
    return sorted({queue for member in sharing for queue in allocate(member, queues, members)})


def readable_queues(topic: str, route: TopicRouteData) -> list[MessageQueue]:
    return [
        MessageQueue(topic, place.broker_name, queue_id)
        for place in route.queue_datas
        if place.perm & PERM_READ
        for queue_id in range(place.read_queue_nums)
    ]


MAX_QUEUES_PER_REQUEST = 65_536


def _decode_locks(request: Command) -> LockBatchRequestBody:
    asked = LockBatchRequestBody.decode(request.body)
    check_group(asked.consumer_group)
    if not asked.client_id:
        raise BadRequest("clientId is missing", code=ResponseCode.INVALID_PARAMETER)
    if len(asked.mq_set) > MAX_QUEUES_PER_REQUEST:
        raise BadRequest("too many queues in one request", code=ResponseCode.INVALID_PARAMETER)
    for topic in {queue.topic for queue in asked.mq_set}:
        check_topic(topic)
    return asked
