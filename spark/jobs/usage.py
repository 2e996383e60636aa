"""spark-submit spark/jobs/usage.py: who sends how much of what, and what it costs.

The tables are those of `spark.transforms.usage_report`. Which producer group a message came from is known for
transactions and for traced sends alone; the rest counts all the same, under no group.
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
from spark.jobs.arguments import positive, price, share
from spark.jobs.charts import chart, lines_by, rows_of
from spark.jobs.labels import read_labels
from spark.jobs.submission import Job, Said, Work, submit
from spark.sources.store_configs import committed_rows, name_rows
from spark.transforms.costs import LABELS, Prices
from spark.transforms.subscriptions import COMMITTED
from spark.transforms.trace_events import TRACE_COLUMNS
from spark.transforms.unused import NAMES
from spark.transforms.usage import USAGE_COLUMNS
from spark.transforms.usage_report import usage_report

EXAMPLES = """\
  # last week, by days of Berlin
  spark-submit spark/jobs/usage.py --store '/data/*/store' --output reports \\
      --from 2026-11-09 --to 2026-11-16 --time-zone Europe/Berlin
  # what teams cost
  spark-submit spark/jobs/usage.py --store east/broker-a=/data/a --output reports --labels teams.json \\
      --price-per-million 0.40 --price-per-gb 0.05 --price-per-gb-day 0.003
"""
TABLES = {
    "usage": (),
    "sizes": ("cluster", "topic", "day", "up_to_bytes"),
    "tags": ("cluster", "topic", "day", "rank"),
    "keys": ("cluster", "topic", "day", "rank"),
    "unused": ("cluster", "kind", "name"),
    "costs": ("cluster", "team"),
}
SLACK = timedelta(minutes=10)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--trace-topic", default=TRACE_TOPIC, help=f"where clients trace ({TRACE_TOPIC})")
    parser.add_argument("--top", type=positive, default=10, help="tags and keys per topic and day (10)")
    parser.add_argument("--hot-share", type=share, default=0.1, help="of a topic's messages: a hot key (0.1)")
    parser.add_argument("--labels", type=Path, metavar="FILE", help='{"topics": {…}, "groups": {…}}: teams')
    parser.add_argument("--label", action="append", default=[], metavar="KIND:NAME=TEAM", help="one label")
    for name, what in (
        ("million", "a million messages"),
        ("gb", "10⁹ bytes stored"),
        ("gb-day", "a day of those"),
    ):
        parser.add_argument(
            f"--price-per-{name}", type=price, default=0.0, metavar="PRICE", help=f"of {what}"
        )


def check(options: argparse.Namespace) -> None:
    read_labels(options.label, options.labels)


def run(work: Work) -> Said:
    options, session, logs = work.asked.options, work.session, work.logs
    traces = logs.read_after(session, (*TRACE_COLUMNS, "topic"), SLACK)
    names, unnamed = logs.rows(session, NAMES, name_rows)
    committed, silent = logs.rows(session, COMMITTED, committed_rows)
    prices = Prices(options.price_per_million, options.price_per_gb, options.price_per_gb_day)
    tables = usage_report(
        logs.read_range(session, USAGE_COLUMNS),
        traces.where(F.col("topic") == options.trace_topic),
        names,
        committed,
        session.createDataFrame(read_labels(options.label, options.labels), LABELS),
        until=min(work.asked.end or work.now, work.now),
        prices=prices,
        most=options.top,
        hot_share=options.hot_share,
        keep=work.keep,
    )
    return Said(tables, lambda written, counts: sum_up(written, prices, sorted({*unnamed, *silent})))


def sum_up(tables: Mapping[str, DataFrame], prices: Prices, silent: list[str]) -> dict[str, Any]:
    usage, costs = tables["usage"], rows_of(tables["costs"])
    total = F.coalesce(F.sum("messages"), F.lit(0)).alias("messages")
    (sums,) = rows_of(
        usage.agg(total, *(F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in ("bytes", "body_bytes")))
    )
    normal = usage.where("kind = 'normal'")
    (sent,) = rows_of(
        normal.agg(
            total,
            F.coalesce(F.sum(F.when(F.col("producer_group").isNull(), F.col("messages"))), F.lit(0)).alias(
                "anonymous"
            ),
        )
    )
    unused = {row["kind"]: row["count"] for row in rows_of(tables["unused"].groupBy("kind").count())}
    figures = {
        **sums,
        "sent_messages": sent["messages"],
        "topics": normal.select("cluster", "topic").distinct().count(),
        "hot_keys": tables["keys"].where("is_hot").count(),
        "unused_topics": unused.get("topic", 0),
        "unused_groups": unused.get("group", 0),
        "teams": len({row["team"] for row in costs if row["team"] is not None}),
        "cost": sum(row["cost"] for row in costs) if prices.are_known else None,
    }
    daily = rows_of(
        normal.groupBy("topic", "day").agg(F.sum("messages").alias("messages"), F.sum("bytes").alias("bytes"))
    )
    teams = sorted(costs, key=lambda row: -row["bytes"])[:20]
    return {
        "figures": figures,
        "charts": [
            lines_by("messages per day", daily, x="day", series=("topic",), value="messages"),
            lines_by("bytes per day", daily, x="day", series=("topic",), value="bytes"),
            chart(
                "bytes by team",
                "bar",
                "team",
                [row["team"] or "no label" for row in teams],
                {"bytes": [row["bytes"] for row in teams]},
            ),
        ],
        "unknown": _unknown(sent, prices, silent),
    }


def _unknown(sent: Mapping[str, Any], prices: Prices, silent: list[str]) -> list[str]:
    said = [f"{place} does not say which topics, groups and offsets it has" for place in silent]
    if sent["anonymous"]:
        said.append(
            f"the producer group of {sent['anonymous']} of {sent['messages']} messages is not known: "
            "neither a transaction nor a traced send"
        )
    if not prices.are_known:
        said.append("no prices were given: what teams cost is not known, only what they store")
    said.append("whether a group still moves cannot be told from one look at its offsets")
    return said


JOB = Job(
    report="usage",
    file="usage",
    about="Who sends how much of what: volume, sizes, hot keys, unused topics and groups, cost by team.",
    examples=EXAMPLES,
    tables=TABLES,
    run=run,
    add_options=add_options,
    check=check,
)

if __name__ == "__main__":
    sys.exit(submit(JOB))
