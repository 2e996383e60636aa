"""How far groups have read, as their brokers saved it: one row per cluster, broker, topic, group and queue.

    COMMITTED   cluster, broker, store, topic, group, queue_id, committed (the next offset to be read)

A negative offset means none, as it does to brokers. The groups of the system are not consumers of anybody's
messages, and a group's own retry topic says nothing about its topics: both are left out by `consuming`.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from engine.protocol.names import DLQ_PREFIX, RETRY_PREFIX, SYSTEM_GROUP_PREFIX, SYSTEM_GROUPS

__all__ = ["COMMITTED", "consuming", "pairs"]

COMMITTED = StructType(
    [
        StructField("cluster", StringType(), False),
        StructField("broker", StringType(), False),
        StructField("store", StringType(), False),
        StructField("topic", StringType(), False),
        StructField("group", StringType(), False),
        StructField("queue_id", IntegerType(), False),
        StructField("committed", LongType(), False),
    ]
)


def consuming(committed: DataFrame) -> DataFrame:
    """Usable offsets of the applications' groups on the topics that they subscribe to."""
    group, topic = F.col("group"), F.col("topic")
    is_system = group.isin(*sorted(SYSTEM_GROUPS)) | group.startswith(SYSTEM_GROUP_PREFIX)
    is_own = topic.startswith(RETRY_PREFIX) | topic.startswith(DLQ_PREFIX)
    return committed.where((F.col("committed") >= 0) & ~is_system & ~is_own)


def pairs(committed: DataFrame) -> DataFrame:
    """Which group reads which topic: cluster, topic, group."""
    return consuming(committed).select("cluster", "topic", "group").distinct()
