"""What requests need: read with the handlers' own decoders, retry topics as their group's."""

from __future__ import annotations

import pytest

from engine.access.resources import Action, Kind, Need
from engine.access.rules import BROKER_RULES, NAMESRV_RULES
from engine.errors import BadRequest
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.bodies.clients import ConsumerData, HeartbeatData, ProducerData, SubscriptionData
from engine.protocol.bodies.groups import LockBatchRequestBody
from engine.protocol.codes import RequestCode as Q
from engine.protocol.commands import Command


def needs(code: int, body: bytes = b"", **fields: str) -> set[str]:
    rule = (NAMESRV_RULES if code == Q.GET_ROUTEINFO_BY_TOPIC else BROKER_RULES)[code]
    assert rule.needs is not None
    return {shown(need) for need in rule.needs(Command(code, fields=fields, body=body))}


def shown(need: Need) -> str:
    return f"{need} {'/'.join(action.value for action in need.actions)}"


@pytest.mark.parametrize(
    ("code", "fields", "expected"),
    [
        (Q.SEND_MESSAGE, {"topic": "t", "b": "other"}, {"Topic:t Pub"}),
        (Q.SEND_MESSAGE_V2, {"b": "t", "topic": "other"}, {"Topic:t Pub"}),
        (Q.SEND_BATCH_MESSAGE, {"b": "t"}, {"Topic:t Pub"}),
        # the group that owns the retry topic, not the one that the request names as its producer's
        (Q.SEND_MESSAGE_V2, {"b": "%RETRY%g", "a": "mine"}, {"Group:g Sub"}),
        (Q.SEND_REPLY_MESSAGE_V2, {"b": "C_REPLY_TOPIC"}, set()),
        (Q.SEND_REPLY_MESSAGE_V2, {"b": "t"}, {"Topic:t Pub"}),
        (Q.SEND_REPLY_MESSAGE, {"topic": "t", "b": "C_REPLY_TOPIC"}, {"Topic:t Pub"}),
        (Q.PULL_MESSAGE, {"topic": "t", "consumerGroup": "g"}, {"Topic:t Sub", "Group:g Sub"}),
        (Q.PULL_MESSAGE, {"topic": "%RETRY%g", "consumerGroup": "g"}, {"Group:g Sub"}),
        (
            Q.PULL_MESSAGE,
            {"topic": "%RETRY%theirs", "consumerGroup": "g"},
            {"Group:g Sub", "Group:theirs Sub"},
        ),
        (Q.PULL_MESSAGE, {"topic": "%RETRY%g+t", "consumerGroup": "g"}, {"Group:g Sub", "Topic:t Sub"}),
        (Q.ACK_MESSAGE, {"topic": "%RETRY%g_t", "consumerGroup": "g"}, {"Group:g Sub", "Topic:t Sub"}),
        (Q.PULL_MESSAGE, {}, {"Topic: Sub", "Group: Sub"}),
        (
            Q.UPDATE_CONSUMER_OFFSET,
            {"topic": "t", "consumerGroup": "g"},
            {"Topic:t Sub/Update", "Group:g Sub/Update"},
        ),
        (Q.END_TRANSACTION, {"topic": "t"}, {"Topic:t Pub"}),
        (Q.END_TRANSACTION, {}, set()),
        (Q.UNREGISTER_CLIENT, {"clientID": "c", "producerGroup": "p"}, set()),
        (Q.UNREGISTER_CLIENT, {"consumerGroup": "g"}, {"Group:g Sub"}),
        (Q.GET_ROUTEINFO_BY_TOPIC, {"topic": "t"}, {"Topic:t Pub/Sub/Get"}),
        (Q.GET_ROUTEINFO_BY_TOPIC, {"topic": "%RETRY%g"}, {"Group:g Pub/Sub/Get"}),
        (Q.GET_ROUTEINFO_BY_TOPIC, {"topic": "TBW102"}, set()),
        (
            Q.CLONE_GROUP_OFFSET,
            {"srcGroup": "a", "destGroup": "b", "topic": "t"},
            {"Group:a Get", "Group:b Update", "Topic:t Update"},
        ),
        (
            Q.QUERY_CORRECTION_OFFSET,
            {"topic": "t", "compareGroup": "a", "filterGroups": "b,c"},
            {"Topic:t Get", "Group:a Get", "Group:b Get", "Group:c Get"},
        ),
        (
            Q.GET_CONSUME_STATS,
            {"consumerGroup": "g", "topicList": "t;u"},
            {"Group:g Get", "Topic:t Get", "Topic:u Get"},
        ),
        (Q.UPDATE_AND_CREATE_TOPIC, {"topic": "t"}, {"Topic:t Create"}),
        (Q.DELETE_SUBSCRIPTIONGROUP, {"groupName": "g"}, {"Group:g Delete"}),
    ],
)
def test_fields(code: int, fields: dict[str, str], expected: set[str]) -> None:
    assert needs(code, **fields) == expected


def test_a_heartbeat_needs_each_group_and_each_topic() -> None:
    beat = HeartbeatData(
        "client",
        (ProducerData("p"),),
        (
            ConsumerData("g", subscription_data_set=(SubscriptionData("t"), SubscriptionData("%RETRY%g"))),
            ConsumerData("h", subscription_data_set=(SubscriptionData("%RETRY%g"),)),
        ),
    )
    assert needs(Q.HEART_BEAT, beat.encode()) == {"Group:g Sub", "Topic:t Sub", "Group:h Sub"}


def test_locks_need_the_group_and_every_topic() -> None:
    queues = tuple(MessageQueue(topic, "b", 0) for topic in ("t", "u", "%RETRY%g"))
    asked = LockBatchRequestBody("g", "c", queues).encode()
    for code in (Q.LOCK_BATCH_MQ, Q.UNLOCK_BATCH_MQ):
        assert needs(code, asked) == {"Group:g Sub", "Topic:t Sub", "Topic:u Sub"}


@pytest.mark.parametrize(
    "body",
    [
        b'{"brokerName":"b","acks":[{"c":"g","t":"t"},{"c":"theirs","t":"t"}]}',
        b'{"brokerName":"b","acks":[{"c":"g","t":"t"},{"consumerGroup":"theirs","topic":"t"}]}',
    ],
)
def test_a_batch_of_acknowledgements_needs_every_group_in_it(body: bytes) -> None:
    assert needs(Q.BATCH_ACK_MESSAGE, body) == {"Group:g Sub", "Topic:t Sub", "Group:theirs Sub"}


@pytest.mark.parametrize("code", [Q.HEART_BEAT, Q.LOCK_BATCH_MQ, Q.BATCH_ACK_MESSAGE, Q.QUERY_ASSIGNMENT])
def test_a_body_that_cannot_be_read_is_refused(code: int) -> None:
    with pytest.raises(BadRequest):
        needs(code, b"[1,")


def test_needs_are_kept_under_their_values() -> None:
    assert Need(Kind.TOPIC, "t", (Action.PUB,)) == Need(Kind.TOPIC, "t", (Action.PUB,))
