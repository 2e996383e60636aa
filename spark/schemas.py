"""The columns of a message as Spark sees it, the same for every source: files, streams and live brokers.

    where it was found    cluster, broker, store
    what it is            kind: see `kind_of`
    where it lies         topic, queue_id, queue_offset, commit_log_offset, size
    what the record says  flag … body_crc, as stored: hosts as `address:port`, times in UTC
    what was sent         properties as a map, and the body as stored (compressed if sys_flag has bit 0)

`size`, `body_size` and `body_crc` are of the stored bytes. `tags`, `keys` and `unique_key` are the properties
TAGS, KEYS and UNIQ_KEY, null where a message has none. A source is told by its option `columns` which of
these to decode, because Spark pushes no columns down; its DataFrame then has those alone, in this order.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql.types import (
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from engine.errors import BadInput
from engine.protocol.names import (
    REVIVE_TOPIC_PREFIX,
    SCHEDULE_TOPIC,
    TIMER_TOPIC,
    TRACE_TOPIC,
    TRANS_HALF_TOPIC,
    TRANS_OP_HALF_TOPIC,
    is_dlq_topic,
    is_retry_topic,
    is_system_topic,
)

__all__ = ["COLUMNS", "HEAVY_COLUMNS", "KINDS", "MESSAGES", "chosen_columns", "kind_of", "message_schema"]

KINDS = (
    "normal",
    "half",
    "op",
    "scheduled",
    "timer",
    "pop",
    "retry",
    "dead_letter",
    "trace",
    "system",
)
"""What a message is to the broker that stored it."""

_PROPERTIES = MapType(StringType(), StringType(), valueContainsNull=False)
_TYPES: dict[str, tuple[DataType, bool]] = {
    "cluster": (StringType(), False),
    "broker": (StringType(), False),
    "store": (StringType(), False),
    "kind": (StringType(), False),
    "topic": (StringType(), False),
    "queue_id": (IntegerType(), False),
    "queue_offset": (LongType(), False),
    "commit_log_offset": (LongType(), False),
    "size": (IntegerType(), False),
    "flag": (IntegerType(), False),
    "tags": (StringType(), True),
    "keys": (StringType(), True),
    "unique_key": (StringType(), True),
    "born_time": (TimestampType(), False),
    "born_host": (StringType(), False),
    "store_time": (TimestampType(), False),
    "store_host": (StringType(), False),
    "sys_flag": (IntegerType(), False),
    "reconsume_times": (IntegerType(), False),
    "prepared_transaction_offset": (LongType(), False),
    "body_size": (IntegerType(), False),
    "body_crc": (IntegerType(), False),
    "properties": (_PROPERTIES, False),
    "body": (BinaryType(), False),
}
"""Type, and whether a message may be without it."""

COLUMNS = tuple(_TYPES)
HEAVY_COLUMNS = ("properties", "body")
"""What makes a read slow: leave them out unless they are needed."""
MESSAGES = StructType([StructField(name, kind, null) for name, (kind, null) in _TYPES.items()])
"""Every column: what a source gives when no `columns` are chosen."""

_KIND_OF_TOPIC = {
    TRANS_HALF_TOPIC: "half",
    TRANS_OP_HALF_TOPIC: "op",
    SCHEDULE_TOPIC: "scheduled",
    TIMER_TOPIC: "timer",
    TRACE_TOPIC: "trace",
}


def chosen_columns(option: str | None) -> tuple[str, ...]:
    """The columns that a comma list names, in the order of the table; all of them for none."""
    if option is None or not option.strip():
        return COLUMNS
    wanted = [name.strip() for name in option.split(",") if name.strip()]
    unknown = [name for name in wanted if name not in _TYPES]
    if unknown:
        raise BadInput(f"no such column: {', '.join(unknown)} (there are {', '.join(COLUMNS)})")
    return tuple(name for name in COLUMNS if name in wanted)


def message_schema(columns: Sequence[str] = COLUMNS) -> StructType:
    return StructType([MESSAGES[name] for name in columns])


def kind_of(topic: str, cluster: str = "", broker: str = "") -> str:
    """What the topic says of its messages: a broker parks and repeats messages in topics of its own."""
    kind = _KIND_OF_TOPIC.get(topic)
    if kind is not None:
        return kind
    if topic.startswith(REVIVE_TOPIC_PREFIX):
        return "pop"
    if is_retry_topic(topic):
        return "retry"
    if is_dlq_topic(topic):
        return "dead_letter"
    return "system" if is_system_topic(topic, cluster, broker) else "normal"
