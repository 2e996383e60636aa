"""Message properties: the `name 0x01 value 0x02` text that travels in headers and lies in records.

    UNIQ_KEY ␁ 7F000001… ␂ TAGS ␁ blue ␂ KEYS ␁ order-17 order-18 ␂

Reading is lenient, as all clients' readers are: a pair without separator, name or value is passed over, the
last ␂ may be missing, and of two pairs with one name the later counts. Writing is strict: a name or value
with a separator inside would forge other properties.
"""

from __future__ import annotations

from collections.abc import Mapping

from engine.errors import BadInput

NAME_END = "\x01"
PAIR_END = "\x02"


class Property:
    """Every property name with a meaning to clients or broker."""

    KEYS = "KEYS"
    TAGS = "TAGS"
    WAIT = "WAIT"
    DELAY = "DELAY"
    RETRY_TOPIC = "RETRY_TOPIC"
    REAL_TOPIC = "REAL_TOPIC"
    REAL_QID = "REAL_QID"
    TRAN_MSG = "TRAN_MSG"
    PGROUP = "PGROUP"
    MIN_OFFSET = "MIN_OFFSET"
    MAX_OFFSET = "MAX_OFFSET"
    BUYER_ID = "BUYER_ID"
    TRANSFER_FLAG = "TRANSFER_FLAG"
    CORRECTION_FLAG = "CORRECTION_FLAG"
    MQ2_FLAG = "MQ2_FLAG"
    ORIGIN_MESSAGE_ID = "ORIGIN_MESSAGE_ID"
    RECONSUME_TIME = "RECONSUME_TIME"
    MAX_RECONSUME_TIMES = "MAX_RECONSUME_TIMES"
    MSG_REGION = "MSG_REGION"
    TRACE_ON = "TRACE_ON"
    UNIQ_KEY = "UNIQ_KEY"
    EXTEND_UNIQ_INFO = "EXTEND_UNIQ_INFO"
    CONSUME_START_TIME = "CONSUME_START_TIME"
    INNER_NUM = "INNER_NUM"
    INNER_BASE = "INNER_BASE"
    DUP_INFO = "DUP_INFO"
    CHECK_IMMUNITY_TIME_IN_SECONDS = "CHECK_IMMUNITY_TIME_IN_SECONDS"
    TRAN_PREPARED_QUEUE_OFFSET = "TRAN_PREPARED_QUEUE_OFFSET"
    TRANSACTION_ID = "__transactionId__"
    TRANSACTION_CHECK_TIMES = "TRANSACTION_CHECK_TIMES"
    INSTANCE_ID = "INSTANCE_ID"
    CORRELATION_ID = "CORRELATION_ID"
    REPLY_TO_CLIENT = "REPLY_TO_CLIENT"
    TTL = "TTL"
    ARRIVE_TIME = "ARRIVE_TIME"
    PUSH_REPLY_TIME = "PUSH_REPLY_TIME"
    MSG_TYPE = "MSG_TYPE"
    CLUSTER = "CLUSTER"
    POP_CK = "POP_CK"
    POP_CK_OFFSET = "POP_CK_OFFSET"
    FIRST_POP_TIME = "1ST_POP_TIME"
    SHARDING_KEY = "__SHARDINGKEY"
    FORWARD_QUEUE_ID = "PROPERTY_FORWARD_QUEUE_ID"
    REDIRECT = "REDIRECT"
    INNER_MULTI_DISPATCH = "INNER_MULTI_DISPATCH"
    INNER_MULTI_QUEUE_OFFSET = "INNER_MULTI_QUEUE_OFFSET"
    TRACE_CONTEXT = "TRACE_CONTEXT"
    BORN_HOST = "__BORNHOST"
    BORN_TIMESTAMP = "BORN_TIMESTAMP"
    TRANSIENT_TOPIC_SYS_FLAG = "__RMQ.TRANSIENT.TOPIC_SYS_FLAG"
    TRANSIENT_GROUP_SYS_FLAG = "__RMQ.TRANSIENT.GROUP_SYS_FLAG"
    TIMER_DELAY_SEC = "TIMER_DELAY_SEC"
    TIMER_DELAY_MS = "TIMER_DELAY_MS"
    TIMER_DELIVER_MS = "TIMER_DELIVER_MS"
    TIMER_ENQUEUE_MS = "TIMER_ENQUEUE_MS"
    TIMER_DEQUEUE_MS = "TIMER_DEQUEUE_MS"
    TIMER_ROLL_TIMES = "TIMER_ROLL_TIMES"
    TIMER_OUT_MS = "TIMER_OUT_MS"
    TIMER_DEL_UNIQKEY = "TIMER_DEL_UNIQKEY"
    TIMER_DELAY_LEVEL = "TIMER_DELAY_LEVEL"
    DLQ_ORIGIN_TOPIC = "DLQ_ORIGIN_TOPIC"
    DLQ_ORIGIN_MESSAGE_ID = "DLQ_ORIGIN_MESSAGE_ID"
    CRC32 = "__CRC32#"


PROPERTY_NAMES = frozenset(value for name, value in vars(Property).items() if name.isupper())
"""Names that an application may not set by itself."""


def encode_properties(properties: Mapping[str, str | None]) -> str:
    """The text of these properties; an empty or missing value is left out, since no reader would keep it."""
    kept = [(name, value) for name, value in properties.items() if value]
    text = "".join([f"{name}\x01{value}\x02" for name, value in kept])
    if text.count(NAME_END) != len(kept) or text.count(PAIR_END) != len(kept) or "" in properties:
        raise BadInput("a property name is empty, or a name or value contains 0x01 or 0x02")
    return text


def decode_properties(text: str) -> dict[str, str]:
    properties: dict[str, str] = {}
    for pair in text.split(PAIR_END):
        name, _, value = pair.partition(NAME_END)
        if name and value:
            properties[name] = value
    return properties


def find_property(text: str, name: str) -> str | None:
    """`decode_properties(text).get(name)` without the dict: a send asks for two or three names of many."""
    start = f"{name}\x01"
    upper = len(text)
    while (at := text.rfind(start, 0, upper)) >= 0:
        if at == 0 or text[at - 1] == PAIR_END:
            value_at = at + len(start)
            end = text.find(PAIR_END, value_at)
            value = text[value_at:] if end < 0 else text[value_at:end]
            if value:
                return value
        # The next candidate may not overlap this one, and may be the tail of a longer name.
        upper = at + len(start) - 1
    return None
