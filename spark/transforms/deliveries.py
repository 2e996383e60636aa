"""What became of each message in each group: tries, retries, success or a dead letter, and how long it took.

    deliveries   one row per message and group that has tried it, or could have
    stories      one row per message: its send, its store, what its groups made of it together

A delivery is, by the first that holds:

    consumed   a traced call succeeded
    dead       it lies in the group's dead-letter topic
    failing    it was tried, or is stored for another try, and no call is known to have succeeded
    passed     nothing is traced, and the group's offset is behind it: read untraced, or skipped
    waiting    the group's offset is still before it

A message is what the best of its deliveries is; `unread` when all wait, or there is no group at all. Latency
is from birth to the end of the first call that succeeded, without the time for which its producer wanted it
parked. It spans the clocks of three machines: below zero it says more about those than about the message.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark.transforms.copies import IDENTITY

__all__ = ["DELIVERY_STATES", "MESSAGE_STATES", "deliveries", "sends", "stories"]

DELIVERY_STATES = ("consumed", "dead", "failing", "passed", "waiting")
MESSAGE_STATES = ("consumed", "dead", "failing", "passed", "unread")
_PAIR = (*IDENTITY, "group")


def deliveries(
    messages: DataFrame,
    parked: DataFrame,
    tries: DataFrame,
    retries: DataFrame,
    dead_letters: DataFrame,
    committed: DataFrame,
) -> DataFrame:
    """`retries` and `dead_letters` of these messages (`copies.of_messages`); `committed` of their consumers
    (`subscriptions.consuming`)."""
    facts = _tried(tries)
    for more in (_retried(retries), _dead(dead_letters), _stands(messages, committed)):
        facts = facts.join(more, list(_PAIR), "full")
    known = messages.select(*IDENTITY, "born_time", "store_time").join(parked, list(IDENTITY), "left")
    rows = facts.join(known, list(IDENTITY))
    zero = {
        name: F.coalesce(name, F.lit(0))
        for name in ("tries", "successes", "failures", "unfinished", "retries")
    }
    rows = rows.withColumns({**zero, "is_dead": F.col("dead_time").isNotNull()})
    return rows.select(
        *_PAIR,
        _state().alias("state"),
        "tries",
        "successes",
        "failures",
        "unfinished",
        "retries",
        "is_dead",
        "dead_time",
        "has_passed",
        "store_time",
        "first_began_at",
        "succeeded_at",
        "last_succeeded_at",
        "clients",
        (_ms("first_began_at") - _ms("store_time")).alias("wait_ms"),
        (_ms("succeeded_at") - _ms("born_time") - _parked_ms()).alias("end_to_end_ms"),
    )


def _tried(tries: DataFrame) -> DataFrame:
    is_good, ended = F.col("is_success"), F.col("ended_at")
    return tries.groupBy(*_PAIR).agg(
        F.count("*").alias("tries"),
        F.count_if(is_good).alias("successes"),
        F.count_if(~is_good).alias("failures"),
        F.count_if(is_good.isNull()).alias("unfinished"),
        F.min("began_at").alias("first_began_at"),
        F.min(F.when(is_good, ended)).alias("succeeded_at"),
        F.max(F.when(is_good, ended)).alias("last_succeeded_at"),
        F.count_distinct("client").alias("clients"),
    )


def _retried(retries: DataFrame) -> DataFrame:
    return retries.groupBy(*_PAIR).agg(F.count("*").alias("retries"))


def _dead(dead_letters: DataFrame) -> DataFrame:
    return dead_letters.groupBy(*_PAIR).agg(F.min("store_time").alias("dead_time"))


def _stands(messages: DataFrame, committed: DataFrame) -> DataFrame:
    """For each group with an offset in the message's queue: whether that is behind the message."""
    queue = ["cluster", "broker", "topic", "queue_id"]
    joined = messages.select(*queue, "msg_id", "queue_offset").join(
        F.broadcast(committed.select(*queue, "group", "committed")), queue
    )
    return joined.select(*_PAIR, (F.col("committed") > F.col("queue_offset")).alias("has_passed"))


def _state() -> Column:
    return (
        F.when(F.col("successes") > 0, "consumed")
        .when(F.col("is_dead"), "dead")
        .when((F.col("tries") > 0) | (F.col("retries") > 0), "failing")
        .when(F.col("has_passed"), "passed")
        .otherwise("waiting")
    )


def sends(events: DataFrame) -> DataFrame:
    """What producers traced of a message: cluster, topic, msg_id and how its last send went."""
    pub = events.where(F.col("type") == "Pub")
    last = F.max(F.struct("at_ms", "is_success", "cost_ms", "group"))
    rows = pub.groupBy(*IDENTITY).agg(
        F.count("*").alias("sends"),
        F.count_if(~F.col("is_success")).alias("failed_sends"),
        last.alias("last"),
    )
    ended = events.where(F.col("type") == "EndTransaction").groupBy(*IDENTITY)
    states = ended.agg(F.max(F.struct("at_ms", "transaction_state")).alias("ended"))
    return rows.join(states, list(IDENTITY), "left").select(
        *IDENTITY,
        "sends",
        "failed_sends",
        F.col("last.group").alias("producer_group"),
        F.timestamp_millis("last.at_ms").alias("sent_at"),
        F.col("last.cost_ms").alias("send_cost_ms"),
        F.col("last.is_success").alias("is_send_ok"),
        F.col("ended.transaction_state").alias("transaction_state"),
    )


def stories(messages: DataFrame, parked: DataFrame, sends: DataFrame, deliveries: DataFrame) -> DataFrame:
    """One row per message: sent, stored, delivered."""
    rank = F.array_position(F.array(*map(F.lit, DELIVERY_STATES)), F.col("state"))
    summed = deliveries.groupBy(*IDENTITY).agg(
        F.count("*").alias("groups"),
        F.sum("tries").alias("tries"),
        F.sum("retries").alias("retries"),
        F.count_if("is_dead").alias("dead_letters"),
        F.min(rank).alias("best"),
    )
    rows = messages.join(parked, list(IDENTITY), "left")
    rows = rows.join(sends, list(IDENTITY), "left").join(summed, list(IDENTITY), "left")
    state = F.get(F.array(*map(F.lit, MESSAGE_STATES)), F.coalesce("best", F.lit(len(MESSAGE_STATES))) - 1)
    stored = F.least(_ms("store_time"), _ms("parked_time"))
    return rows.select(
        *IDENTITY,
        state.alias("state"),
        "broker",
        "queue_id",
        "queue_offset",
        "commit_log_offset",
        "size",
        "tags",
        "keys",
        "copies",
        "born_time",
        "store_time",
        (stored - _ms("born_time")).alias("store_latency_ms"),
        _parked_ms().alias("parked_ms"),
        F.coalesce("sends", F.lit(0)).alias("sends"),
        "producer_group",
        "sent_at",
        "send_cost_ms",
        "is_send_ok",
        "transaction_state",
        *(F.coalesce(name, F.lit(0)).alias(name) for name in ("groups", "tries", "retries", "dead_letters")),
    )


def _ms(name: str) -> Column:
    return F.unix_millis(name)


def _parked_ms() -> Column:
    """How long the broker held it back for its producer: nothing for most."""
    return F.greatest(F.coalesce(_ms("store_time") - _ms("parked_time"), F.lit(0)), F.lit(0))
