"""Request codes that this broker knows and refuses, each with the reason in the answer.

The handlers answer from this table, and docs/compatibility.md is checked against it. A code that is neither
here nor routed is unknown and answered with a plain "not supported".
"""

from __future__ import annotations

from typing import TypeVar

from engine.errors import Refused
from engine.protocol.codes import RequestCode as Q

T = TypeVar("T")

_ACTING = "slaves do not act as masters here: a slave asks its master itself whether it is alive"
_CONTROLLER = "there is no controller: automatic failover is not part of this version yet"
_ROCKSDB = "the store keeps plain files, never RocksDB"
_STATIC = "static topics (queues mapped across brokers) are not supported"
_CONTAINER = "this process is one broker, not a broker container"
_COLD_DATA = "cold data flow control is not supported: cold reads run in threads and hold up nobody"
_RESERVED = "a reserved number: Apache RocketMQ has no handler for it either"

REFUSALS: dict[Q, str] = {
    Q.POP_ROLLBACK: _ROCKSDB,
    Q.NOTIFY_MIN_BROKER_ID_CHANGE: _ACTING,
    **dict.fromkeys(
        (
            Q.CONTROLLER_ALTER_SYNC_STATE_SET,
            Q.CONTROLLER_ELECT_MASTER,
            Q.CONTROLLER_REGISTER_BROKER,
            Q.CONTROLLER_GET_REPLICA_INFO,
            Q.CONTROLLER_GET_METADATA_INFO,
            Q.CONTROLLER_GET_SYNC_STATE_DATA,
            Q.NOTIFY_BROKER_ROLE_CHANGED,
            Q.UPDATE_CONTROLLER_CONFIG,
            Q.GET_CONTROLLER_CONFIG,
            Q.CLEAN_BROKER_DATA,
            Q.CONTROLLER_GET_NEXT_BROKER_ID,
            Q.CONTROLLER_APPLY_BROKER_ID,
        ),
        _CONTROLLER,
    ),
    Q.CHECK_ROCKSDB_CQ_WRITE_PROGRESS: _ROCKSDB,
    Q.EXPORT_ROCKSDB_CONFIG_TO_JSON: _ROCKSDB,
    Q.UPDATE_AND_CREATE_STATIC_TOPIC: _STATIC,
    Q.ADD_BROKER: _CONTAINER,
    Q.REMOVE_BROKER: _CONTAINER,
    Q.UPDATE_COLD_DATA_FLOW_CTR_CONFIG: _COLD_DATA,
    Q.REMOVE_COLD_DATA_FLOW_CTR_CONFIG: _COLD_DATA,
    Q.GET_COLD_DATA_FLOW_CTR_INFO: _COLD_DATA,
    Q.SET_COMMITLOG_READ_MODE: _COLD_DATA,
    **dict.fromkeys(
        (
            Q.QUERY_BROKER_OFFSET,
            Q.GET_TOPIC_CONFIG_LIST,
            Q.GET_TOPIC_NAME_LIST,
            Q.TRIGGER_DELETE_FILES,
            Q.GET_CLIENT_CONFIG,
            Q.SUSPEND_CONSUMER,
            Q.RESUME_CONSUMER,
            Q.RESET_CONSUMER_OFFSET_IN_CONSUMER,
            Q.RESET_CONSUMER_OFFSET_IN_BROKER,
            Q.ADJUST_CONSUMER_THREAD_POOL,
            Q.WHO_CONSUME_THE_MESSAGE,
            Q.REGISTER_FILTER_SERVER,
            Q.REGISTER_MESSAGE_FILTER_CLASS,
        ),
        _RESERVED,
    ),
}


def switched_on(accounts: T | None, setting: str) -> T:
    """Refuses requests about users where there are none: the first caller must not become the first user."""
    if accounts is None:
        raise Refused(f"this kind of access control is off: {setting} turns it on")
    return accounts
