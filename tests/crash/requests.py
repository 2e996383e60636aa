"""The few requests of the crash suite, by their RocketMQ field names. Pure: names and strings, no sockets."""

from __future__ import annotations

from tests.crash.checker.events import FAIL, INFO, OK

SEND_V2, PULL, QUERY_OFFSET, UPDATE_OFFSET, CREATE_TOPIC = 310, 11, 14, 15, 17
GET_MAX_OFFSET, GET_MIN_OFFSET, GET_ROUTE, RUNTIME_INFO, VIEW_MESSAGE, QUERY_MESSAGE = 30, 31, 105, 28, 33, 12
SEARCH_OFFSET = 29

SUCCESS, SYSTEM_ERROR, SYSTEM_BUSY, MESSAGE_ILLEGAL, SERVICE_NOT_AVAILABLE = 0, 1, 2, 13, 14
PULL_NOT_FOUND, PULL_RETRY, PULL_MOVED, QUERY_NOT_FOUND = 19, 20, 21, 22
PULL_CODES = frozenset({SUCCESS, PULL_NOT_FOUND, PULL_RETRY, PULL_MOVED})
STORED_BUT_UNSURE = frozenset({10, 11, 12})

_SUSPEND, _SUBSCRIPTION = 2, 4


def send_status(code: int) -> str:
    """An error code of a send means "not stored, and never will be"; 10 to 12 mean "stored, its fate
    unknown".
    """
    if code == SUCCESS:
        return OK
    return INFO if code in STORED_BUT_UNSURE else FAIL


def send_fields(topic: str, queue: int, key: str, *, born_ms: int = 0) -> dict[str, str]:
    return {
        "a": "CrashProducers",
        "b": topic,
        "c": "TBW102",
        "d": "8",
        "e": str(queue),
        "f": "0",
        "g": str(born_ms),
        "h": "0",
        "i": f"KEYS\x01{key}\x02",
        "j": "0",
        "k": "false",
        "m": "false",
    }


def pull_fields(
    topic: str, group: str, queue: int, offset: int, *, suspend_ms: int = 0, count: int = 32
) -> dict[str, str]:
    return {
        "consumerGroup": group,
        "topic": topic,
        "queueId": str(queue),
        "queueOffset": str(offset),
        "maxMsgNums": str(count),
        "sysFlag": str(_SUBSCRIPTION | (_SUSPEND if suspend_ms else 0)),
        "commitOffset": "0",
        "suspendTimeoutMillis": str(suspend_ms),
        "subscription": "*",
        "subVersion": "0",
        "expressionType": "TAG",
    }


def commit_fields(topic: str, group: str, queue: int, offset: int) -> dict[str, str]:
    return {"consumerGroup": group, "topic": topic, "queueId": str(queue), "commitOffset": str(offset)}


def fetch_fields(topic: str, group: str, queue: int) -> dict[str, str]:
    return {
        "consumerGroup": group,
        "topic": topic,
        "queueId": str(queue),
        "setZeroIfNotFound": "false",
    }


def topic_fields(topic: str, queues: int) -> dict[str, str]:
    return {
        "topic": topic,
        "defaultTopic": "TBW102",
        "readQueueNums": str(queues),
        "writeQueueNums": str(queues),
        "perm": "6",
        "topicFilterType": "SINGLE_TAG",
        "topicSysFlag": "0",
        "order": "false",
    }


def queue_fields(topic: str, queue: int) -> dict[str, str]:
    return {"topic": topic, "queueId": str(queue)}
