"""Who sends how much: volume and sizes per topic, producer group and day.

    attributed   the messages with the name they count for and their producer group, as far as it is known
    usage        per topic, kind, producer group and day: messages, bytes, senders, the sizes of bodies
    sizes        per topic and day: bodies in classes that double in size

A record does not say its producer group, except in a transaction; a traced send does. Everything else has a
null there, which means: not known. A copy that a broker parks (delayed, half, timed) counts for the topic
that it was meant for, under its own kind.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from engine.protocol.properties import Property
from spark.transforms.percentiles import percentiles

__all__ = ["USAGE_COLUMNS", "attributed", "producer_groups", "sizes", "usage"]

USAGE_COLUMNS = (
    "cluster",
    "broker",
    "store",
    "kind",
    "topic",
    "size",
    "tags",
    "keys",
    "unique_key",
    "born_host",
    "store_time",
    "body_size",
    "properties",
)
"""What is needed of a record."""
_SHARES = {"p50_body_bytes": 0.50, "p95_body_bytes": 0.95, "p99_body_bytes": 0.99}


def producer_groups(events: DataFrame) -> DataFrame:
    """What traces say: cluster, topic, unique_key, producer_group."""
    sent = events.where((F.col("type") == "Pub") & F.col("group").isNotNull())
    rows = sent.groupBy("cluster", "topic", F.col("msg_id").alias("unique_key"))
    return rows.agg(F.max("group").alias("producer_group"))


def attributed(log: DataFrame, producer_groups: DataFrame) -> DataFrame:
    properties = F.col("properties")
    real_topic = properties[Property.REAL_TOPIC]
    is_parked = F.col("kind").isin("half", "scheduled", "timer") & real_topic.isNotNull()
    rows = log.withColumns(
        {
            "topic": F.when(is_parked, real_topic).otherwise(F.col("topic")),
            "said_group": properties[Property.PGROUP],
            "day": F.to_date("store_time"),
            "sender": F.regexp_replace("born_host", r":\d+$", ""),
        }
    ).drop("properties", "born_host")
    joined = rows.join(producer_groups, ["cluster", "topic", "unique_key"], "left")
    group = F.coalesce("said_group", "producer_group")
    return joined.withColumn("producer_group", group).drop("said_group", "unique_key")


def usage(messages: DataFrame) -> DataFrame:
    rows = messages.groupBy("cluster", "topic", "kind", "producer_group", "day")
    return rows.agg(
        F.count("*").alias("messages"),
        F.sum("size").alias("bytes"),
        F.sum("body_size").alias("body_bytes"),
        F.count_distinct("sender").alias("senders"),
        F.min("body_size").alias("min_body_bytes"),
        F.avg("body_size").alias("mean_body_bytes"),
        *percentiles("body_size", _SHARES),
        F.max("body_size").alias("max_body_bytes"),
    )


def sizes(messages: DataFrame) -> DataFrame:
    """`up_to_bytes` is 0, 1, 2, 4, 8 …: a body belongs to the first class that it fits in."""
    bits = F.ceil(F.log2(F.greatest(F.col("body_size"), F.lit(1))))
    up_to = F.when(F.col("body_size") == 0, F.lit(0)).otherwise(F.pow(F.lit(2.0), bits)).cast("bigint")
    rows = messages.where("kind = 'normal'").groupBy("cluster", "topic", "day", up_to.alias("up_to_bytes"))
    return rows.agg(F.count("*").alias("messages"))
