"""spark-submit spark/jobs/message_trace.py: what became of each message, and how long it took.

Joins the traces of clients (RMQ_SYS_TRACE_TOPIC) with the log and the committed offsets of groups. The tables
are those of `spark.transforms.trace_report`; what cannot be known, because clients did not trace, is counted
and said.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

if __package__ in (None, ""):  # spark-submit runs the file by itself: its package begins two folders up
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from engine.protocol.names import TRACE_TOPIC
from spark.jobs.arguments import positive
from spark.jobs.charts import chart, lines_by, rows_of
from spark.jobs.submission import Job, Said, Work, submit
from spark.sources.store_configs import committed_rows
from spark.transforms.copies import COPY_COLUMNS
from spark.transforms.deliveries import MESSAGE_STATES
from spark.transforms.percentiles import percentiles
from spark.transforms.subscriptions import COMMITTED
from spark.transforms.trace_events import TRACE_COLUMNS
from spark.transforms.trace_report import TraceReport, trace_report

EXAMPLES = """\
  # yesterday, of one broker
  spark-submit spark/jobs/message_trace.py --store /data/broker-a/store --output reports \\
      --from 2026-11-15 --to 2026-11-16 --time-zone Europe/Berlin
  # two brokers, two topics, listeners that take a second
  spark-submit spark/jobs/message_trace.py --store east/broker-a=/data/a --store east/broker-b=/data/b \\
      --output reports --topic orders --topic payments --slow-call-ms 1000
"""
TABLES = {
    "messages": (),
    "deliveries": (),
    "tries": (),
    "latency": ("cluster", "topic", "level", "group", "hour"),
    "consumers": ("cluster", "topic", "group"),
    "unread": ("cluster", "topic", "store_time"),
    "repeated": ("cluster", "topic", "group", "msg_id"),
    "failed_sends": ("cluster", "topic", "sent_at"),
    "coverage": ("cluster", "topic", "side", "group"),
}
SLACK = timedelta(minutes=10)
"""How much clocks of brokers may differ: a trace lies on another broker than its message."""
_SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
_MOST_NAMED = 20


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--topic", action="append", help="of these topics alone; may be given several times")
    parser.add_argument("--trace-topic", default=TRACE_TOPIC, help=f"where clients trace ({TRACE_TOPIC})")
    parser.add_argument("--slow-call-ms", type=positive, default=1000, help="a slow listener call (1000)")
    parser.add_argument("--slow-wait-ms", type=positive, default=60_000, help="a long wait for it (60000)")


def run(work: Work) -> Said:
    asked, options = work.asked, work.asked.options
    log = work.logs.read_after(work.session, COPY_COLUMNS, timedelta(0))
    log = log.where(F.col("topic") != options.trace_topic)
    if options.topic:
        log = log.where((F.col("kind") != "normal") | F.col("topic").isin(*options.topic))
    traces = work.logs.read_after(work.session, (*TRACE_COLUMNS, "topic"), SLACK)
    committed, silent = work.logs.rows(work.session, COMMITTED, committed_rows)
    report = trace_report(
        log,
        traces.where(F.col("topic") == options.trace_topic),
        committed,
        begin=asked.begin,
        end=asked.end,
        slow_call_ms=options.slow_call_ms,
        slow_wait_ms=options.slow_wait_ms,
        keep=work.keep,
    )
    return Said(report.tables, lambda tables, counts: sum_up(report, tables, counts, silent))


def sum_up(
    report: TraceReport, tables: Mapping[str, DataFrame], counts: Mapping[str, int], silent: list[str]
) -> dict[str, Any]:
    figures = _figures(report, tables, counts)
    coverage = rows_of(tables["coverage"])
    hourly = rows_of(tables["latency"].where("level = 'hour'"))
    states = {state: figures[state] for state in MESSAGE_STATES}
    return {
        "figures": figures,
        "charts": [
            chart("messages by state", "bar", "state", list(states), {"messages": list(states.values())}),
            lines_by(
                "95 % consumed within (ms)", hourly, x="hour", series=("topic", "group"), value="p95_ms"
            ),
            lines_by("deliveries", hourly, x="hour", series=("topic", "group"), value="deliveries"),
        ],
        "unknown": _unknown(figures, coverage, silent),
    }


def _figures(
    report: TraceReport, tables: Mapping[str, DataFrame], counts: Mapping[str, int]
) -> dict[str, Any]:
    messages, deliveries = tables["messages"], tables["deliveries"]
    of_state = [F.count_if(F.col("state") == state).alias(state) for state in MESSAGE_STATES]
    sent = F.count_if(F.col("sends") > 0).alias("traced_sends")
    copies = F.count_if(F.col("copies") > 1).alias("stored_twice")
    (stored,) = rows_of(messages.agg(F.count("*").alias("messages"), *of_state, sent, copies))
    fair = F.when(F.col("end_to_end_ms") >= 0, F.col("end_to_end_ms"))
    named = {f"end_to_end_{name}_ms": share for name, share in _SHARES.items()}
    (delivered,) = rows_of(
        deliveries.agg(
            F.count("*").alias("deliveries"),
            F.coalesce(F.sum("retries"), F.lit(0)).alias("retries"),
            F.count_if("is_dead").alias("dead_letters"),
            F.count_if(F.col("end_to_end_ms") < 0).alias("skewed"),
            *percentiles(fair, named),
        )
    )
    slow = tables["consumers"].where(F.col("slow_by").isNotNull()).count()
    return {
        **stored,
        **delivered,
        **{name: counts[name] for name in ("tries", "repeated", "failed_sends")},
        "slow_consumers": slow,
        "unreadable_traces": report.unreadable.count(),
        "ambiguous_calls": report.ambiguous.count(),
        "traced_elsewhere": report.strangers.count(),
    }


def _unknown(figures: Mapping[str, Any], coverage: list[dict[str, Any]], silent: list[str]) -> list[str]:
    """What nobody can tell from these stores, in sentences."""
    said = [
        f"{place} has no committed offsets: which untraced messages were read there is not known"
        for place in silent
    ]
    untraced = figures["messages"] - figures["traced_sends"]
    if untraced:
        said.append(f"the sending of {untraced} of {figures['messages']} messages was not traced")
    blind = [row for row in coverage if row["side"] == "consume" and row["passed"]]
    said += [
        f"{row['group']} has passed {row['passed']} messages of {row['topic']} untraced: read or skipped"
        for row in blind[:_MOST_NAMED]
    ]
    if len(blind) > _MOST_NAMED:
        said.append(f"{len(blind) - _MOST_NAMED} more groups have passed messages without a trace")
    counts = {
        "unreadable_traces": "{} traces could not be understood",
        "ambiguous_calls": "{} traced calls are of ids that several topics have: which is not known",
        "traced_elsewhere": "{} traced messages were stored earlier than this, elsewhere, or never",
        "skewed": "{} messages were consumed before they were born: clocks differ, latencies are off",
    }
    said += [text.format(figures[name]) for name, text in counts.items() if figures[name]]
    said.append("groups that never committed an offset and do not trace are not seen at all")
    if figures["repeated"]:
        said.append("a broadcasting group consumes a message once per member: not every repeat is a fault")
    return said


JOB = Job(
    report="message_trace",
    file="message_trace",
    about="What became of each message: sent, stored, tried by each group, and how long that took.",
    examples=EXAMPLES,
    tables=TABLES,
    run=run,
    add_options=add_options,
)

if __name__ == "__main__":
    sys.exit(submit(JOB))
