"""Topics and groups that nobody seems to need: what brokers were told of, against what happened.

    unused   cluster, kind (topic or group), name, brokers, reason

    not_written             a topic without a message in the range
    not_written_nor_read    nor has any group an offset on it
    not_read                messages came, and no group has an offset
    never_committed         a group without an offset anywhere
    topics_not_written      a group whose every topic got no message in the range

A topic or group counts once per cluster: used on one broker is used. The system's own are left out, and so
are retry and dead-letter topics, which come and go with their groups.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from engine.protocol.names import (
    DLQ_PREFIX,
    REPLY_TOPIC_SUFFIX,
    RETRY_PREFIX,
    SYSTEM_GROUP_PREFIX,
    SYSTEM_GROUPS,
    SYSTEM_TOPIC_PREFIX,
    SYSTEM_TOPICS,
)

__all__ = ["NAMES", "unused"]

NAMES = StructType(
    [StructField(name, StringType(), False) for name in ("cluster", "broker", "store", "kind", "name")]
)
"""What brokers were told of: `kind` is topic or group."""


def unused(names: DataFrame, usage: DataFrame, committed: DataFrame) -> DataFrame:
    """`usage` as `usage.usage` makes it, `committed` as `subscriptions.consuming` leaves it."""
    written = usage.where("kind = 'normal'").select("cluster", "topic").distinct()
    reading = committed.select("cluster", "topic", "group").distinct()
    told = names.where(~_is_system()).groupBy("cluster", "kind", "name")
    known = told.agg(F.sort_array(F.collect_set("broker")).alias("brokers"))
    return _topics(known, written, reading).unionByName(_groups(known, written, reading))


def _topics(known: DataFrame, written: DataFrame, reading: DataFrame) -> DataFrame:
    has_messages = written.withColumnRenamed("topic", "name").withColumn("is_written", F.lit(True))
    has_readers = (
        reading.select("cluster", F.col("topic").alias("name")).distinct().withColumn("is_read", F.lit(True))
    )
    rows = known.where("kind = 'topic'").join(has_messages, ["cluster", "name"], "left")
    rows = rows.join(has_readers, ["cluster", "name"], "left")
    is_written, is_read = F.coalesce("is_written", F.lit(False)), F.coalesce("is_read", F.lit(False))
    reason = (
        F.when(~is_written & ~is_read, "not_written_nor_read")
        .when(~is_written, "not_written")
        .when(~is_read, "not_read")
    )
    return _with_reason(rows, reason)


def _groups(known: DataFrame, written: DataFrame, reading: DataFrame) -> DataFrame:
    read = reading.join(written.withColumn("is_written", F.lit(True)), ["cluster", "topic"], "left")
    topics = read.groupBy("cluster", F.col("group").alias("name")).agg(
        F.count("*").alias("topics"), F.count("is_written").alias("written")
    )
    rows = known.where("kind = 'group'").join(topics, ["cluster", "name"], "left")
    reason = F.when(F.col("topics").isNull(), "never_committed").when(
        F.col("written") == 0, "topics_not_written"
    )
    return _with_reason(rows, reason)


def _with_reason(rows: DataFrame, reason: Column) -> DataFrame:
    found = rows.withColumn("reason", reason).where(F.col("reason").isNotNull())
    return found.select("cluster", "kind", "name", "brokers", "reason")


def _is_system() -> Column:
    name, kind = F.col("name"), F.col("kind")
    topic = (
        name.isin(*sorted(SYSTEM_TOPICS))
        | name.startswith(SYSTEM_TOPIC_PREFIX)
        | name.startswith(RETRY_PREFIX)
        | name.startswith(DLQ_PREFIX)
        | name.endswith(REPLY_TOPIC_SUFFIX)
        | name.isin(F.col("cluster"), F.col("broker"))
    )
    group = name.isin(*sorted(SYSTEM_GROUPS)) | name.startswith(SYSTEM_GROUP_PREFIX)
    return F.when(kind == "topic", topic).otherwise(group)
