"""The one table: what each request code needs, on brokers and on name servers.

Every code that is handled has a row (a test compares them with the handlers); what has none is refused. A row
gives needs, all of which must be allowed; no needs and a reason means that any known user may ask. `is_admin`
rows change the cluster or its users: an address on a white list does not make them free (docs/adr/0010).
`is_peer` rows are for brokers of the cluster: a super user, which the cluster's own credential is. Rows about
users need a super user where policies are not looked at (authorizationEnabled=false).
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.access import needs as n
from engine.access.resources import Action, Kind
from engine.protocol.codes import RequestCode as Q

CLUSTER_READ = (Action.GET, Action.LIST)


@dataclass(frozen=True, slots=True)
class Rule:
    """`cluster` are actions on the cluster itself; `why` is for who reads the table."""

    needs: n.Needs | None = None
    cluster: tuple[Action, ...] = ()
    is_admin: bool = False
    is_peer: bool = False
    is_about_users: bool = False
    why: str = ""


def _open(why: str) -> Rule:
    return Rule(why=why)


def _topic(field: str, *actions: Action) -> Rule:
    return Rule(n.topic_field(field, *actions))


def _group(field: str, *actions: Action) -> Rule:
    return Rule(n.group_field(field, *actions))


def _both(group: str, *actions: Action) -> Rule:
    return Rule(n.subscription_fields("topic", group, *actions))


_GET, _SUB, _UPDATE = Action.GET, Action.SUB, Action.UPDATE
_READ = Rule(cluster=CLUSTER_READ, why="tells about the whole broker")
_CHANGE = Rule(cluster=(_UPDATE,), is_admin=True, why="changes the whole broker")
_USERS = Rule(cluster=(_UPDATE,), is_admin=True, is_about_users=True, why="changes who may do what")
_USERS_READ = Rule(
    cluster=(_GET,), is_admin=True, is_about_users=True, why="tells who may do what, never a secret"
)
_PEER = Rule(is_admin=True, is_peer=True, why="from broker to broker")
_SEND = Rule(n.of_send)
_PULL = _both("consumerGroup", _SUB)

DECLINED = _open("known and declined: the answer is the reason, for anybody who is known here")

BROKER_RULES: dict[int, Rule] = {
    # sends
    Q.SEND_MESSAGE: _SEND,
    Q.SEND_MESSAGE_V2: _SEND,
    Q.SEND_BATCH_MESSAGE: _SEND,
    Q.SEND_REPLY_MESSAGE: Rule(n.of_reply),
    Q.SEND_REPLY_MESSAGE_V2: Rule(n.of_reply),
    Q.CONSUMER_SEND_MSG_BACK: Rule(
        n.group_field("group", _SUB), why="and Sub on the topic of the message, once it is read"
    ),
    Q.END_TRANSACTION: Rule(
        n.optional("topic", n.topic_field("topic", Action.PUB)),
        why="and Pub on the topic of the half message, once it is read",
    ),
    Q.RECALL_MESSAGE: _topic("topic", Action.PUB),
    # reads
    Q.PULL_MESSAGE: _PULL,
    Q.LITE_PULL_MESSAGE: _PULL,
    Q.POP_MESSAGE: _PULL,
    Q.PEEK_MESSAGE: _PULL,
    Q.NOTIFICATION: _PULL,
    Q.POLLING_INFO: _both("consumerGroup", _SUB, _GET),
    Q.ACK_MESSAGE: _PULL,
    Q.BATCH_ACK_MESSAGE: Rule(n.of_batch_ack),
    Q.CHANGE_MESSAGE_INVISIBLETIME: _PULL,
    Q.QUERY_MESSAGE: _topic("topic", _SUB, _GET),
    Q.VIEW_MESSAGE_BY_ID: Rule(
        n.optional("topic", n.topic_field("topic", _SUB, _GET)),
        why="and Sub or Get on the topic of the message, once it is read",
    ),
    # clients
    Q.HEART_BEAT: Rule(n.of_heartbeat, why="producer groups are no resource"),
    Q.UNREGISTER_CLIENT: Rule(n.optional("consumerGroup", n.group_field("consumerGroup", _SUB))),
    Q.CHECK_CLIENT_CONFIG: Rule(n.of_client_check),
    Q.GET_CONSUMER_LIST_BY_GROUP: _group("consumerGroup", _SUB, _GET),
    Q.LOCK_BATCH_MQ: Rule(n.of_locks),
    Q.UNLOCK_BATCH_MQ: Rule(n.of_locks),
    Q.QUERY_ASSIGNMENT: Rule(n.of_assignment),
    # offsets
    Q.QUERY_CONSUMER_OFFSET: _both("consumerGroup", _SUB, _GET),
    Q.UPDATE_CONSUMER_OFFSET: _both("consumerGroup", _SUB, _UPDATE),
    Q.SEARCH_OFFSET_BY_TIMESTAMP: _topic("topic", _SUB, _GET),
    Q.GET_MAX_OFFSET: _topic("topic", Action.PUB, _SUB, _GET),
    Q.GET_MIN_OFFSET: _topic("topic", Action.PUB, _SUB, _GET),
    Q.GET_EARLIEST_MSG_STORETIME: _topic("topic", Action.PUB, _SUB, _GET),
    Q.INVOKE_BROKER_TO_RESET_OFFSET: Rule(n.subscription_fields("topic", "group", _UPDATE), is_admin=True),
    Q.CLONE_GROUP_OFFSET: Rule(
        n.all_of(
            n.group_field("srcGroup", _GET),
            n.group_field("destGroup", _UPDATE),
            n.optional("topic", n.topic_field("topic", _UPDATE)),
        ),
        is_admin=True,
    ),
    Q.QUERY_CORRECTION_OFFSET: Rule(
        n.all_of(
            n.topic_field("topic", _GET),
            n.group_field("compareGroup", _GET),
            n.listed("filterGroups", ",", Kind.GROUP, _GET),
        )
    ),
    Q.GET_ALL_CONSUMER_OFFSET: _READ,
    Q.GET_ALL_DELAY_OFFSET: _READ,
    # topics
    Q.UPDATE_AND_CREATE_TOPIC: Rule(n.topic_field("topic", Action.CREATE), is_admin=True),
    Q.UPDATE_AND_CREATE_TOPIC_LIST: Rule(n.of_topic_list, is_admin=True),
    Q.DELETE_TOPIC_IN_BROKER: Rule(n.topic_field("topic", Action.DELETE), is_admin=True),
    Q.GET_ALL_TOPIC_CONFIG: _READ,
    Q.GET_TOPIC_CONFIG: _topic("topic", _GET),
    Q.GET_TOPIC_STATS_INFO: _topic("topic", _GET),
    Q.GET_SYSTEM_TOPIC_LIST_FROM_BROKER: _READ,
    Q.QUERY_TOPIC_CONSUME_BY_WHO: _topic("topic", _GET),
    Q.QUERY_CONSUME_QUEUE: Rule(
        n.all_of(
            n.topic_field("topic", _GET), n.optional("consumerGroup", n.group_field("consumerGroup", _GET))
        )
    ),
    # groups
    Q.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: Rule(n.of_group_config, is_admin=True),
    Q.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST: Rule(n.of_group_list, is_admin=True),
    Q.DELETE_SUBSCRIPTIONGROUP: Rule(n.group_field("groupName", Action.DELETE), is_admin=True),
    Q.GET_ALL_SUBSCRIPTIONGROUP_CONFIG: _READ,
    Q.GET_SUBSCRIPTIONGROUP_CONFIG: _group("group", _GET),
    Q.UPDATE_AND_GET_GROUP_FORBIDDEN: Rule(n.subscription_fields("topic", "group", _UPDATE), is_admin=True),
    Q.SET_MESSAGE_REQUEST_MODE: Rule(n.of_request_mode, is_admin=True),
    Q.GET_ALL_MESSAGE_REQUEST_MODE: _READ,
    Q.GET_CONSUME_STATS: Rule(
        n.all_of(
            n.group_field("consumerGroup", _GET),
            n.optional("topic", n.topic_field("topic", _GET)),
            n.listed("topicList", ";", Kind.TOPIC, _GET),
        )
    ),
    Q.GET_BROKER_CONSUME_STATS: _READ,
    Q.QUERY_CONSUME_TIME_SPAN: _both("group", _GET),
    Q.QUERY_TOPICS_BY_CONSUMER: _group("group", _GET),
    Q.QUERY_SUBSCRIPTION_BY_CONSUMER: Rule(
        n.all_of(n.group_field("group", _GET), n.optional("topic", n.topic_field("topic", _GET)))
    ),
    Q.GET_CONSUMER_CONNECTION_LIST: _group("consumerGroup", _GET),
    Q.GET_PRODUCER_CONNECTION_LIST: _READ,
    Q.GET_ALL_PRODUCER_INFO: _READ,
    Q.INVOKE_BROKER_TO_GET_CONSUMER_STATUS: _both("group", _GET),
    Q.GET_CONSUMER_RUNNING_INFO: _group("consumerGroup", _GET),
    Q.CONSUME_MESSAGE_DIRECTLY: Rule(
        n.all_of(n.group_field("consumerGroup", _SUB), n.optional("topic", n.topic_field("topic", _SUB))),
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
    Q.GET_ROUTEINFO_BY_TOPIC: Rule(n.of_route),
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
