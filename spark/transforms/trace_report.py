"""The message trace: the log, the clients' traces and the groups' offsets put together.

    messages      one row per message: sent, stored, what became of it
    deliveries    one row per message and group
    tries         one row per listener call
    latency       end-to-end percentiles by topic, group and hour
    consumers     how long calls take and messages wait, which groups are slow
    unread  repeated  failed_sends  coverage

`keep(name, frame)` stores a table and gives it back cheaper than it came: what many tables are made of is
worked out once. A job keeps by writing, a test by caching.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark.transforms import copies, deliveries, latencies, oddities, tries
from spark.transforms.coverage import coverage
from spark.transforms.ranges import within
from spark.transforms.subscriptions import consuming
from spark.transforms.trace_events import decoded, distinct_events

__all__ = ["Keep", "TraceReport", "trace_report"]

Keep = Callable[[str, DataFrame], DataFrame]


@dataclass(frozen=True, slots=True)
class TraceReport:
    """The tables of the report, and what it could not make use of."""

    tables: dict[str, DataFrame]
    unreadable: DataFrame
    ambiguous: DataFrame
    strangers: DataFrame


def trace_report(
    log: DataFrame,
    traces: DataFrame,
    committed: DataFrame,
    *,
    begin: datetime | None,
    end: datetime | None,
    slow_call_ms: int,
    slow_wait_ms: int,
    keep: Keep,
) -> TraceReport:
    """Of the messages stored from `begin` to before `end`; `log` and `traces` must reach beyond, because
    tries, retries and traces come later than the message."""
    log = keep("copies", copies.slim(log))
    said = keep("decoded", decoded(traces))
    events = keep("events", distinct_events(said))
    readers = consuming(committed)
    sent = keep("sent", within(copies.messages(log), begin, end))
    parked = copies.parked(log)
    again = keep("again", copies.of_messages(copies.retries(log), sent))
    dead = copies.of_messages(copies.dead_letters(log), sent)
    calls = tries.calls(events)
    tried = keep("tries", tries.tries(calls, sent, again, readers))
    delivered = keep("deliveries", deliveries.deliveries(sent, parked, tried, again, dead, readers))
    stories = keep("messages", deliveries.stories(sent, parked, deliveries.sends(events), delivered))
    tables = {
        "messages": stories,
        "deliveries": delivered,
        "tries": tried,
        "latency": latencies.latencies(delivered),
        "consumers": latencies.consumers(
            tried, delivered, slow_call_ms=slow_call_ms, slow_wait_ms=slow_wait_ms
        ),
        "unread": oddities.unread(stories),
        "repeated": oddities.repeated(delivered),
        "failed_sends": oddities.failed_sends(events, sent),
        "coverage": coverage(stories, delivered),
    }
    return TraceReport(
        tables,
        unreadable=said.where(F.col("type") == "unreadable"),
        ambiguous=tries.ambiguous(calls, sent, readers),
        strangers=tries.strangers(events, log.where("kind = 'normal'")),
    )
