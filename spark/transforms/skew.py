"""How unevenly tags and keys are used: the most frequent ones of a topic and day, and how hot they are.

    tags   the most frequent tags; messages without one are the row with null
    keys   the most frequent keys; a message with several keys counts for each

`share` is of the topic's messages of the day, so the shares of keys may add up to more than one. A key is hot
when it has at least `hot_share` of them and occurs more than once. Ranks are by count, then by name: two runs
over the same log say the same.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

__all__ = ["keys", "tags"]

_PLACE = ("cluster", "topic", "day")


def tags(messages: DataFrame, *, most: int) -> DataFrame:
    sent = messages.where("kind = 'normal'")
    return _top(sent.select(*_PLACE, F.col("tags").alias("tag")), sent, "tag", most)


def keys(messages: DataFrame, *, most: int, hot_share: float) -> DataFrame:
    sent = messages.where("kind = 'normal'")
    # A message that names a key twice is still one message.
    words = F.array_distinct(F.filter(F.split("keys", r"\s+"), lambda word: word != ""))
    named = sent.select(*_PLACE, F.explode(words).alias("key"))
    is_hot = (F.col("share") >= hot_share) & (F.col("messages") > 1)
    return _top(named, sent, "key", most).withColumn("is_hot", is_hot)


def _top(named: DataFrame, sent: DataFrame, name: str, most: int) -> DataFrame:
    counted = named.groupBy(*_PLACE, name).agg(F.count("*").alias("messages"))
    whole = sent.groupBy(*_PLACE).agg(F.count("*").alias("whole"))
    order = Window.partitionBy(*_PLACE).orderBy(F.col("messages").desc(), F.col(name).asc_nulls_last())
    ranked = counted.withColumn("rank", F.row_number().over(order)).where(F.col("rank") <= most)
    return (
        ranked.join(whole, list(_PLACE)).withColumn("share", F.col("messages") / F.col("whole")).drop("whole")
    )
