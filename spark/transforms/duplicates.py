"""Messages stored more than once under one unique key, by topic: a producer that sent again stored it again.

    duplicates   cluster, topic, unique_key, copies, brokers, first and last store time, where the copies lie

Only the applications' topics are looked at: a retry, a dead letter or a parked message is meant to be a copy.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

__all__ = ["duplicates"]

_MOST_PLACES = 10


def duplicates(records: DataFrame) -> DataFrame:
    sent = records.where((F.col("kind") == "normal") & F.col("unique_key").isNotNull())
    place = F.struct("broker", "queue_id", "queue_offset", "commit_log_offset")
    rows = sent.groupBy("cluster", "topic", "unique_key").agg(
        F.count("*").alias("copies"),
        F.count_distinct("broker").alias("brokers"),
        F.min("store_time").alias("first_stored"),
        F.max("store_time").alias("last_stored"),
        F.slice(F.sort_array(F.collect_list(place)), 1, _MOST_PLACES).alias("places"),
    )
    return rows.where("copies > 1")
