"""The one table: what each request code needs, on brokers and on name servers.

Every code that is handled has a row (a test compares them with the handlers); what has none is refused. A row
gives needs, all of which must be allowed; no needs and a reason means that any known user may ask. Each row
also says what the request does (`Effect`): where access control is `administration`, changes need a signature
and everything else is open (docs/adr/0018). `is_admin` rows are changes and all about users: an address on a
white list does not make them free (docs/adr/0010). `is_peer` rows are for brokers of the cluster: a super
user, which the cluster's own credential is. Rows about users need a super user where policies are not looked
at (authorizationEnabled=false).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import Enum

from engine.access import needs as n
from engine.access.resources import Action, Kind
from engine.protocol.codes import RequestCode as Q

CLUSTER_READ = (Action.GET, Action.LIST)


class Effect(Enum):
    """What a request does. There is no default: whoever adds a row decides."""

    READ = "tells something and changes nothing"
    CLIENT = "what producers and consumers do: send, receive, acknowledge, commit, lock, come and go"
    CHANGE = "changes the cluster, its topics, groups, offsets of others or users, or speaks as a broker"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """`cluster` are actions on the cluster itself; `why` is for who reads the table."""

    effect: Effect
    needs: n.Needs | None = None
    cluster: tuple[Action, ...] = ()
    is_peer: bool = False
    is_about_users: bool = False
    why: str = ""

    @property
    def is_change(self) -> bool:
        return self.effect is Effect.CHANGE

    @property
    def is_admin(self) -> bool:
        return self.is_change or self.is_about_users


def guarded_codes(rules: Mapping[int, Rule], handled: Collection[int]) -> frozenset[int]:
    """What needs a signature where only administration is guarded: changes, and what the table forgot."""
    return frozenset(code for code in handled if code not in rules or rules[code].is_change)


def _read(needs: n.Needs, why: str = "") -> Rule:
    return Rule(effect=Effect.READ, needs=needs, why=why)


def _client(needs: n.Needs, why: str = "") -> Rule:
    return Rule(effect=Effect.CLIENT, needs=needs, why=why)


def _change(needs: n.Needs, why: str = "") -> Rule:
    return Rule(effect=Effect.CHANGE, needs=needs, why=why)


def _topic(field: str, *actions: Action) -> n.Needs:
    return n.topic_field(field, *actions)


def _group(field: str, *actions: Action) -> n.Needs:
    return n.group_field(field, *actions)


def _both(group: str, *actions: Action) -> n.Needs:
    return n.subscription_fields("topic", group, *actions)


_GET, _SUB, _UPDATE = Action.GET, Action.SUB, Action.UPDATE
_READ = Rule(effect=Effect.READ, cluster=CLUSTER_READ, why="tells about the whole broker")
_CHANGE = Rule(effect=Effect.CHANGE, cluster=(_UPDATE,), why="changes the whole broker")
_USERS = Rule(effect=Effect.CHANGE, cluster=(_UPDATE,), is_about_users=True, why="changes who may do what")
_USERS_READ = Rule(
    effect=Effect.READ, cluster=(_GET,), is_about_users=True, why="tells who may do what, never a secret"
)
_PEER = Rule(effect=Effect.CHANGE, is_peer=True, why="from broker to broker")
_SEND = _client(n.of_send)
_PULL = _client(_both("consumerGroup", _SUB))

DECLINED = Rule(
    effect=Effect.READ, why="known and declined: the answer is the reason, for anybody who is known here"
)

BROKER_RULES: dict[int, Rule] = {
    # sends
    Q.SEND_MESSAGE: _SEND,
    Q.SEND_MESSAGE_V2: _SEND,
    Q.SEND_BATCH_MESSAGE: _SEND,
    Q.SEND_REPLY_MESSAGE: _client(n.of_reply),
    Q.SEND_REPLY_MESSAGE_V2: _client(n.of_reply),
    Q.CONSUMER_SEND_MSG_BACK: _client(
        n.group_field("group", _SUB), why="and Sub on the topic of the message, once it is read"
    ),
    Q.END_TRANSACTION: _client(
        n.optional("topic", n.topic_field("topic", Action.PUB)),
        why="and Pub on the topic of the half message, once it is read",
    ),
    Q.RECALL_MESSAGE: _client(_topic("topic", Action.PUB)),
    # reads
    Q.PULL_MESSAGE: _PULL,
    Q.LITE_PULL_MESSAGE: _PULL,
    Q.POP_MESSAGE: _PULL,
    Q.PEEK_MESSAGE: _PULL,
    Q.NOTIFICATION: _PULL,
    Q.POLLING_INFO: _client(_both("consumerGroup", _SUB, _GET)),
    Q.ACK_MESSAGE: _PULL,
    Q.BATCH_ACK_MESSAGE: _client(n.of_batch_ack),
    Q.CHANGE_MESSAGE_INVISIBLETIME: _PULL,
    Q.QUERY_MESSAGE: _read(_topic("topic", _SUB, _GET)),
    Q.VIEW_MESSAGE_BY_ID: _read(
        n.optional("topic", n.topic_field("topic", _SUB, _GET)),
        why="and Sub or Get on the topic of the message, once it is read",
    ),
    # clients
    Q.HEART_BEAT: _client(n.of_heartbeat, why="producer groups are no resource"),
    Q.UNREGISTER_CLIENT: _client(n.optional("consumerGroup", n.group_field("consumerGroup", _SUB))),
    Q.CHECK_CLIENT_CONFIG: _client(n.of_client_check),
    Q.GET_CONSUMER_LIST_BY_GROUP: _read(_group("consumerGroup", _SUB, _GET)),
    Q.LOCK_BATCH_MQ: _client(n.of_locks),
    Q.UNLOCK_BATCH_MQ: _client(n.of_locks),
    Q.QUERY_ASSIGNMENT: _client(n.of_assignment),
    # offsets
    Q.QUERY_CONSUMER_OFFSET: _read(_both("consumerGroup", _SUB, _GET)),
    Q.UPDATE_CONSUMER_OFFSET: _client(_both("consumerGroup", _SUB, _UPDATE)),
    Q.SEARCH_OFFSET_BY_TIMESTAMP: _read(_topic("topic", _SUB, _GET)),
    Q.GET_MAX_OFFSET: _read(_topic("topic", Action.PUB, _SUB, _GET)),
    Q.GET_MIN_OFFSET: _read(_topic("topic", Action.PUB, _SUB, _GET)),
    Q.GET_EARLIEST_MSG_STORETIME: _read(_topic("topic", Action.PUB, _SUB, _GET)),
    Q.INVOKE_BROKER_TO_RESET_OFFSET: _change(n.subscription_fields("topic", "group", _UPDATE)),
    Q.CLONE_GROUP_OFFSET: _change(
        n.all_of(
            n.group_field("srcGroup", _GET),
            n.group_field("destGroup", _UPDATE),
            n.optional("topic", n.topic_field("topic", _UPDATE)),
        )
    ),
    Q.QUERY_CORRECTION_OFFSET: _read(
        n.all_of(
            n.topic_field("topic", _GET),
            n.group_field("compareGroup", _GET),
            n.listed("filterGroups", ",", Kind.GROUP, _GET),
        )
    ),
    Q.GET_ALL_CONSUMER_OFFSET: _READ,
    Q.GET_ALL_DELAY_OFFSET: _READ,
    # topics
    Q.UPDATE_AND_CREATE_TOPIC: _change(n.topic_field("topic", Action.CREATE)),
    Q.UPDATE_AND_CREATE_TOPIC_LIST: _change(n.of_topic_list),
    Q.DELETE_TOPIC_IN_BROKER: _change(n.topic_field("topic", Action.DELETE)),
    Q.GET_ALL_TOPIC_CONFIG: _READ,
    Q.GET_TOPIC_CONFIG: _read(_topic("topic", _GET)),
    Q.GET_TOPIC_STATS_INFO: _read(_topic("topic", _GET)),
    Q.GET_SYSTEM_TOPIC_LIST_FROM_BROKER: _READ,
    Q.QUERY_TOPIC_CONSUME_BY_WHO: _read(_topic("topic", _GET)),
    Q.QUERY_CONSUME_QUEUE: _read(
        n.all_of(
            n.topic_field("topic", _GET), n.optional("consumerGroup", n.group_field("consumerGroup", _GET))
        )
    ),
    # groups
    Q.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: _change(n.of_group_config),
    Q.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST: _change(n.of_group_list),
    Q.DELETE_SUBSCRIPTIONGROUP: _change(n.group_field("groupName", Action.DELETE)),
    Q.GET_ALL_SUBSCRIPTIONGROUP_CONFIG: _READ,
    Q.GET_SUBSCRIPTIONGROUP_CONFIG: _read(_group("group", _GET)),
    Q.UPDATE_AND_GET_GROUP_FORBIDDEN: _change(n.subscription_fields("topic", "group", _UPDATE)),
    Q.SET_MESSAGE_REQUEST_MODE: _change(n.of_request_mode),
    Q.GET_ALL_MESSAGE_REQUEST_MODE: _READ,
    Q.GET_CONSUME_STATS: _read(
        n.all_of(
            n.group_field("consumerGroup", _GET),
            n.optional("topic", n.topic_field("topic", _GET)),
            n.listed("topicList", ";", Kind.TOPIC, _GET),
        )
    ),
    Q.GET_BROKER_CONSUME_STATS: _READ,
    Q.QUERY_CONSUME_TIME_SPAN: _read(_both("group", _GET)),
    Q.QUERY_TOPICS_BY_CONSUMER: _read(_group("group", _GET)),
    Q.QUERY_SUBSCRIPTION_BY_CONSUMER: _read(
        n.all_of(n.group_field("group", _GET), n.optional("topic", n.topic_field("topic", _GET)))
    ),
    Q.GET_CONSUMER_CONNECTION_LIST: _read(_group("consumerGroup", _GET)),
    Q.GET_PRODUCER_CONNECTION_LIST: _READ,
    Q.GET_ALL_PRODUCER_INFO: _READ,
    Q.INVOKE_BROKER_TO_GET_CONSUMER_STATUS: _read(_both("group", _GET)),
    Q.GET_CONSUMER_RUNNING_INFO: _read(_group("consumerGroup", _GET)),
    Q.CONSUME_MESSAGE_DIRECTLY: _client(
        n.all_of(n.group_field("consumerGroup", _SUB), n.optional("topic", n.topic_field("topic", _SUB))),
        # Whoever may send to the group's retry topic gets a message consumed, too.
        why="and Sub on the topic of the message, once it is read",
    ),
    # the broker
    Q.UPDATE_BROKER_CONFIG: _CHANGE,
    Q.GET_BROKER_CONFIG: _READ,
    Q.GET_BROKER_RUNTIME_INFO: _READ,
    Q.VIEW_BROKER_STATS_DATA: _READ,
    Q.CLEAN_EXPIRED_CONSUMEQUEUE: _CHANGE,
    Q.CLEAN_UNUSED_TOPIC: _CHANGE,
    Q.DELETE_EXPIRED_COMMITLOG: _CHANGE,
    Q.RESUME_CHECK_HALF_MESSAGE: _CHANGE,
    Q.GET_TIMER_CHECK_POINT: _READ,
    Q.GET_TIMER_METRICS: _READ,
    Q.SIGNALBOX_COLLECTOR_SNAPSHOT: _READ,
    Q.SIGNALBOX_DAMAGED_RECORDS: _READ,
    Q.SIGNALBOX_REPLICA_STATE: _PEER,
    Q.GET_BROKER_HA_STATUS: _READ,
    Q.GET_BROKER_EPOCH_CACHE: _READ,
    Q.EXCHANGE_BROKER_HA_INFO: _PEER,
    Q.RESET_MASTER_FLUSH_OFFSET: _PEER,
    Q.SIGNALBOX_GROUP_STATUS: _READ,
    Q.SIGNALBOX_GROUP_PROMISE: _PEER,
    Q.SIGNALBOX_GROUP_CROWN: _PEER,
    Q.SIGNALBOX_GROUP_FOLLOW: _PEER,
    Q.SIGNALBOX_GROUP_HAND_OVER: _PEER,
    Q.SIGNALBOX_GROUP_RECORD: _PEER,
    Q.SIGNALBOX_GROUP_SKIPS: _PEER,
    Q.SIGNALBOX_GROUP_PROMOTE: _CHANGE,
    # users and policies
    Q.AUTH_CREATE_USER: _USERS,
    Q.AUTH_UPDATE_USER: _USERS,
    Q.AUTH_DELETE_USER: _USERS,
    Q.AUTH_GET_USER: _USERS_READ,
    Q.AUTH_LIST_USER: _USERS_READ,
    Q.AUTH_CREATE_ACL: _USERS,
    Q.AUTH_UPDATE_ACL: _USERS,
    Q.AUTH_DELETE_ACL: _USERS,
    Q.AUTH_GET_ACL: _USERS_READ,
    Q.AUTH_LIST_ACL: _USERS_READ,
    Q.UPDATE_AND_CREATE_ACL_CONFIG: _USERS,
    Q.DELETE_ACL_CONFIG: _USERS,
    Q.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG: _USERS,
    Q.GET_BROKER_CLUSTER_ACL_INFO: _USERS_READ,
    Q.GET_BROKER_CLUSTER_ACL_CONFIG: _USERS_READ,
}

USER_CODES = frozenset(code for code, rule in BROKER_RULES.items() if rule.is_about_users)
"""No white list may name these: whoever may change users may become anybody."""

NAMESRV_RULES: dict[int, Rule] = {
    Q.REGISTER_BROKER: _PEER,
    Q.UNREGISTER_BROKER: _PEER,
    Q.BROKER_HEARTBEAT: _PEER,
    Q.QUERY_DATA_VERSION: _PEER,
    Q.GET_BROKER_MEMBER_GROUP: _READ,
    Q.GET_ROUTEINFO_BY_TOPIC: _read(n.of_route),
    Q.GET_BROKER_CLUSTER_INFO: _READ,
    Q.PUT_KV_CONFIG: _CHANGE,
    Q.GET_KV_CONFIG: _READ,
    Q.DELETE_KV_CONFIG: _CHANGE,
    Q.GET_KVLIST_BY_NAMESPACE: _READ,
    Q.WIPE_WRITE_PERM_OF_BROKER: _CHANGE,
    Q.ADD_WRITE_PERM_OF_BROKER: _CHANGE,
    Q.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: _READ,
    Q.GET_TOPICS_BY_CLUSTER: _READ,
    Q.GET_SYSTEM_TOPIC_LIST_FROM_NS: _READ,
    Q.GET_UNIT_TOPIC_LIST: _READ,
    Q.GET_HAS_UNIT_SUB_TOPIC_LIST: _READ,
    Q.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST: _READ,
    Q.DELETE_TOPIC_IN_NAMESRV: _CHANGE,
    Q.REGISTER_TOPIC_IN_NAMESRV: _CHANGE,
    Q.UPDATE_NAMESRV_CONFIG: _CHANGE,
    Q.GET_NAMESRV_CONFIG: _READ,
}
