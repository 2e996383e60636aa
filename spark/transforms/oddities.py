"""Messages to look at: consumed by nobody, consumed more than once, sent in vain.

    unread         sent and stored, and no group has got to it
    repeated       a group's listener succeeded with it more than once
    failed_sends   sends that their producer saw fail, whether or not the message is stored all the same

A broadcasting group consumes each message once per member; traces do not say which groups broadcast, so
`clients` tells how many addresses took part: more than one is what broadcasting looks like.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark.transforms.copies import IDENTITY

__all__ = ["failed_sends", "repeated", "unread"]


def unread(stories: DataFrame) -> DataFrame:
    place = "broker", "queue_id", "queue_offset"
    return stories.where("state = 'unread'").select(*IDENTITY, *place, "store_time", "tags", "keys", "groups")


def repeated(deliveries: DataFrame) -> DataFrame:
    return deliveries.where("successes > 1").select(
        *IDENTITY, "group", "successes", "clients", "succeeded_at", "last_succeeded_at"
    )


def failed_sends(events: DataFrame, messages: DataFrame) -> DataFrame:
    """One row per failed send; `is_stored`: a broker has it, so the failure was in the answer."""
    failed = events.where((F.col("type") == "Pub") & ~F.col("is_success"))
    stored = messages.select(*IDENTITY).withColumn("is_stored", F.lit(True))
    rows = failed.join(stored, list(IDENTITY), "left")
    return rows.select(
        *IDENTITY,
        F.col("group").alias("producer_group"),
        F.timestamp_millis("at_ms").alias("sent_at"),
        "cost_ms",
        F.coalesce("is_stored", F.lit(False)).alias("is_stored"),
    )
