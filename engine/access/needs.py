"""What a request needs, read from it with the very decoders of its handler, so that both see the same names.

A retry topic is its group's: who may subscribe with the group may use it, nobody else (RocketMQ lets anybody
read another group's retries by pulling them with a group of their own). Pure; raises BadRequest for bodies
that cannot be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from engine.access.resources import Action, Kind, Need
from engine.protocol.bodies.clients import CheckClientRequestBody, HeartbeatData
from engine.protocol.bodies.groups import (
    LockBatchRequestBody,
    QueryAssignmentRequestBody,
    SetMessageRequestModeRequestBody,
    SubscriptionGroupConfig,
    SubscriptionGroupList,
)
from engine.protocol.bodies.pop import BatchAckMessageRequestBody
from engine.protocol.bodies.topics import CreateTopicListRequestBody
from engine.protocol.codes import RequestCode
from engine.protocol.commands import Command
from engine.protocol.names import (
    DEFAULT_TOPIC,
    REPLY_TOPIC_SUFFIX,
    RETRY_PREFIX,
    group_of,
    is_retry_topic,
)

Needs = Callable[[Command], Iterable[Need]]
Actions = tuple[Action, ...]

SUB: Actions = (Action.SUB,)
PUB: Actions = (Action.PUB,)
_LONG_NAMES = (RequestCode.SEND_MESSAGE, RequestCode.SEND_REPLY_MESSAGE)


def on_topic(name: str, actions: Actions) -> Need:
    if is_retry_topic(name):
        return Need(Kind.GROUP, group_of(name) or "", actions)
    return Need(Kind.TOPIC, name, actions)


def on_group(name: str, actions: Actions) -> Need:
    return Need(Kind.GROUP, name, actions)


def on_subscription(topic: str, group: str, actions: Actions) -> list[Need]:
    """Group and topic; for a retry topic the group that owns it, and the topic whose messages are retried."""
    needs = [on_group(group, actions)]
    if not is_retry_topic(topic):
        return [*needs, Need(Kind.TOPIC, topic, actions)]
    owner, _, retried = topic[len(RETRY_PREFIX) :].partition("+")
    if owner == group:
        return [*needs, Need(Kind.TOPIC, retried, actions)] if retried else needs
    if topic.startswith(f"{RETRY_PREFIX}{group}_"):
        # Pop's retry topics of version 1.
        return [*needs, Need(Kind.TOPIC, topic[len(RETRY_PREFIX) + len(group) + 1 :], actions)]
    return [*needs, on_group(owner, actions)]


# -- by fields of the header --------------------------------------------------------------------------------


def topic_field(name: str, *actions: Action) -> Needs:
    return lambda request: (on_topic(request.fields.get(name, ""), actions),)


def group_field(name: str, *actions: Action) -> Needs:
    return lambda request: (on_group(request.fields.get(name, ""), actions),)


def subscription_fields(topic: str, group: str, *actions: Action) -> Needs:
    return lambda request: on_subscription(
        request.fields.get(topic, ""), request.fields.get(group, ""), actions
    )


def optional(name: str, needs: Needs) -> Needs:
    """Only when the field is given."""
    return lambda request: needs(request) if request.fields.get(name) else ()


def listed(name: str, separator: str, kind: Kind, *actions: Action) -> Needs:
    return lambda request: [
        on_topic(item, actions) if kind is Kind.TOPIC else on_group(item, actions)
        for item in request.fields.get(name, "").split(separator)
        if item
    ]


def all_of(*parts: Needs) -> Needs:
    def needs(request: Command) -> Iterator[Need]:
        for part in parts:
            yield from part(request)

    return needs


def of_send(request: Command) -> tuple[Need, ...]:
    name = "topic" if request.code in _LONG_NAMES else "b"
    topic = request.fields.get(name, "")
    return (on_topic(topic, SUB if is_retry_topic(topic) else PUB),)


def of_reply(request: Command) -> tuple[Need, ...]:
    """A reply topic is everybody's: what is sent there goes to the one client that asked."""
    name = "topic" if request.code in _LONG_NAMES else "b"
    if request.fields.get(name, "").endswith(REPLY_TOPIC_SUFFIX):
        return ()
    return of_send(request)


def of_route(request: Command) -> tuple[Need, ...]:
    """The topic that new ones are made after is everybody's to look at."""
    topic = request.fields.get("topic", "")
    if topic == DEFAULT_TOPIC:
        return ()
    return (on_topic(topic, (Action.PUB, Action.SUB, Action.GET)),)


# -- by bodies ----------------------------------------------------------------------------------------------


def of_heartbeat(request: Command) -> Iterator[Need]:
    for consumer in HeartbeatData.decode(request.body).consumer_data_set:
        yield on_group(consumer.group_name, SUB)
        for subscription in consumer.subscription_data_set:
            yield from on_subscription(subscription.topic, consumer.group_name, SUB)


def of_client_check(request: Command) -> Iterable[Need]:
    if not request.body:
        return ()
    asked = CheckClientRequestBody.decode(request.body)
    if asked.subscription_data is None:
        return (on_group(asked.group, SUB),)
    return on_subscription(asked.subscription_data.topic, asked.group, SUB)


def of_locks(request: Command) -> Iterator[Need]:
    asked = LockBatchRequestBody.decode(request.body)
    yield on_group(asked.consumer_group, SUB)
    for topic in {queue.topic for queue in asked.mq_set}:
        yield from on_subscription(topic, asked.consumer_group, SUB)


def of_assignment(request: Command) -> Iterable[Need]:
    asked = QueryAssignmentRequestBody.decode(request.body)
    return on_subscription(asked.topic, asked.consumer_group, SUB)


def of_request_mode(request: Command) -> Iterable[Need]:
    asked = SetMessageRequestModeRequestBody.decode(request.body)
    return on_subscription(asked.topic, asked.consumer_group, (Action.UPDATE,))


def of_batch_ack(request: Command) -> Iterator[Need]:
    """Every single acknowledgement: one request may hold those of several groups."""
    seen = {(ack.topic, ack.consumer_group) for ack in BatchAckMessageRequestBody.decode(request.body).acks}
    for topic, group in seen:
        yield from on_subscription(topic, group, SUB)


def of_topic_list(request: Command) -> list[Need]:
    asked = CreateTopicListRequestBody.decode(request.body).topic_config_list
    return [on_topic(topic.topic_name or "", (Action.CREATE,)) for topic in asked]


def of_group_config(request: Command) -> tuple[Need, ...]:
    config = SubscriptionGroupConfig.decode(request.body)
    return (on_group(config.group_name, (Action.CREATE, Action.UPDATE)),)


def of_group_list(request: Command) -> list[Need]:
    asked = SubscriptionGroupList.decode(request.body).group_config_list
    return [on_group(config.group_name, (Action.CREATE, Action.UPDATE)) for config in asked]
