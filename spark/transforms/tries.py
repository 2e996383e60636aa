"""Listener calls as traced: when each began and ended, how it ended, how long its message had waited.

    events -> calls                  SubBefore and SubAfter of one request and message put together
    calls, messages … -> tries       with the topic, and the wait since the message could be had

A trace of a consumer names no topic, so the topic comes from the message of that id. Where a key names
messages of several topics, the group's committed offsets decide; where those do not either, the call is left
out and counted as ambiguous. Null means: not traced, so not known.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark.transforms.copies import IDENTITY

__all__ = ["CALL", "ambiguous", "calls", "strangers", "tries"]

CALL = ("cluster", "msg_id", "request_id")
_WAIT = "wait_ms"


def calls(events: DataFrame) -> DataFrame:
    """One row per listener call and message."""
    is_begun, is_ended = F.col("type") == "SubBefore", F.col("type") == "SubAfter"
    grouped = events.where(is_begun | is_ended).groupBy(*CALL)
    began_ms, ended_ms = F.min(F.when(is_begun, F.col("at_ms"))), F.max(F.when(is_ended, F.col("at_ms")))
    cost_ms = F.max(F.when(is_ended, F.col("cost_ms")))
    rows = grouped.agg(
        F.max("group").alias("group"),
        F.max("client").alias("client"),
        F.max(F.when(is_begun, F.col("retry_times"))).alias("retry_times"),
        began_ms.alias("began_ms"),
        # A client that leaves the time out has still said how long it took.
        F.coalesce(ended_ms, began_ms + cost_ms).alias("ended_ms"),
        cost_ms.alias("cost_ms"),
        F.max(F.when(is_ended, F.col("is_success"))).alias("is_success"),
        F.max(F.when(is_ended, F.col("code"))).alias("code"),
    )
    times = {"began_at": F.timestamp_millis("began_ms"), "ended_at": F.timestamp_millis("ended_ms")}
    return rows.withColumns(times).drop("began_ms", "ended_ms")


def tries(calls: DataFrame, messages: DataFrame, retries: DataFrame, subscriptions: DataFrame) -> DataFrame:
    """The calls of these messages, each with its topic and its wait.

    `retries` are the copies of these messages (`copies.of_messages`), `subscriptions` the pairs of topic and
    group that have committed offsets (`subscriptions.pairs`)."""
    of_topic = _candidates(calls, messages, subscriptions).where(_is_certain())
    first = F.col("retry_times") == 0
    given_again = retries.groupBy(*IDENTITY, "group", F.col("reconsume_times").alias("retry_times")).agg(
        F.min("store_time").alias("retry_time")
    )
    since = F.when(first, F.col("store_time")).otherwise(F.col("retry_time"))
    rows = of_topic.join(given_again, [*IDENTITY, "group", "retry_times"], "left")
    return rows.select(
        *IDENTITY,
        "group",
        "request_id",
        (F.col("retry_times") + 1).alias("try"),
        "client",
        "began_at",
        "ended_at",
        "cost_ms",
        "is_success",
        "code",
        _ms_between(since, F.col("began_at")).alias(_WAIT),
    )


def ambiguous(calls: DataFrame, messages: DataFrame, subscriptions: DataFrame) -> DataFrame:
    """Calls whose message may be one of several: cluster, msg_id, request_id."""
    candidates = _candidates(calls, messages, subscriptions)
    by_call = candidates.groupBy(*CALL).agg(F.max(_is_certain()).alias("is_certain"))
    return by_call.where(~F.col("is_certain")).select(*CALL)


def strangers(events: DataFrame, messages: DataFrame) -> DataFrame:
    """Ids that were traced and lie in none of the stores looked at: expired, elsewhere, or never stored."""
    traced = events.where(F.col("type").isin("SubBefore", "SubAfter")).select("cluster", "msg_id").distinct()
    return traced.join(messages.select("cluster", "msg_id"), ["cluster", "msg_id"], "left_anti")


def _candidates(calls: DataFrame, messages: DataFrame, subscriptions: DataFrame) -> DataFrame:
    topics = messages.groupBy("cluster", "msg_id").agg(F.count("*").alias("topics"))
    known = messages.select(*IDENTITY, "store_time").join(topics, ["cluster", "msg_id"])
    pairs = (
        subscriptions.select("cluster", "topic", "group").distinct().withColumn("is_subscribed", F.lit(True))
    )
    joined = calls.join(known, ["cluster", "msg_id"])
    return joined.join(F.broadcast(pairs), ["cluster", "topic", "group"], "left")


def _is_certain() -> Column:
    return (F.col("topics") == 1) | F.coalesce("is_subscribed", F.lit(False))


def _ms_between(since: Column, until: Column) -> Column:
    return F.unix_millis(until) - F.unix_millis(since)
