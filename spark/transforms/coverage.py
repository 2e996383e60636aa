"""What can be known and what cannot: how much of the sending and consuming was traced at all.

    coverage   one row per topic for its senders (`side` send), one per topic and group (`side` consume)

`traced` messages have a story; `passed` ones were got past by a group that left no trace of them: whether it
read, failed or skipped them cannot be known. `waiting` ones are known to be unread, traced or not.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

__all__ = ["coverage"]

_COLUMNS = ("cluster", "topic", "side", "group", "messages", "traced", "untraced", "passed", "waiting")


def coverage(stories: DataFrame, deliveries: DataFrame) -> DataFrame:
    sent = stories.groupBy("cluster", "topic").agg(
        F.count("*").alias("messages"), F.count_if(F.col("sends") > 0).alias("traced")
    )
    none = F.lit(None)
    sending = sent.withColumns(
        {
            "side": F.lit("send"),
            "group": none.cast("string"),
            "untraced": F.col("messages") - F.col("traced"),
            "passed": none.cast("bigint"),
            "waiting": none.cast("bigint"),
        }
    )
    consumed = deliveries.groupBy("cluster", "topic", "group").agg(
        F.count("*").alias("messages"),
        F.count_if(F.col("tries") > 0).alias("traced"),
        F.count_if(F.col("tries") == 0).alias("untraced"),
        F.count_if(F.col("state") == "passed").alias("passed"),
        F.count_if(F.col("state") == "waiting").alias("waiting"),
    )
    consuming = consumed.withColumn("side", F.lit("consume"))
    return sending.select(*_COLUMNS).unionByName(consuming.select(*_COLUMNS))
