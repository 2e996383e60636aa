"""spark-submit spark/jobs/search.py: messages by key, tag, property, SQL92 or text, through any range.

The same filters and the same answer as the console's search jobs: where messages lie, not what is in them.
Bodies are read only where text is looked for, or where a hit's is compressed and its size not known.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

if __package__ in (None, ""):  # spark-submit runs the file by itself: its package begins two folders up
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from engine.errors import BadInput
from engine.protocol.names import topic_fault
from engine.protocol.sql92 import sql_filter
from spark.jobs.arguments import positive
from spark.jobs.submission import Job, Said, Work, submit
from spark.transforms.matches import MATCH_COLUMNS, Wanted, hits, matching, plain_sizes

EXAMPLES = """\
  spark-submit spark/jobs/search.py --store '/data/*/store' --output reports --topic orders --key order-17
  spark-submit spark/jobs/search.py --store /data/a --output reports --topic orders --topic %DLQ%billing \\
      --from 2026-11-01 --body teapots --property shop=7
  spark-submit spark/jobs/search.py --store /data/a --output reports --topic orders --sql "price > 100"
"""
TABLES = {"hits": ()}
MOST_TOPICS = 20
_FILTERS = ("key", "tag", "property", "sql", "body")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--topic", action="append", required=True, help="where to look; up to 20 of them")
    parser.add_argument("--key", help="one of the message's keys, or its id")
    parser.add_argument("--tag")
    parser.add_argument("--property", metavar="NAME[=VALUE]")
    parser.add_argument("--sql", metavar="EXPRESSION", help="SQL92 over properties, as consumers filter")
    parser.add_argument("--body", metavar="TEXT", help="text that the decompressed body holds")
    parser.add_argument("--max-hits", type=positive, default=1000, help="the oldest so many (1000)")


def check(options: argparse.Namespace) -> None:
    topics = tuple(dict.fromkeys(options.topic))
    if len(topics) > MOST_TOPICS:
        raise BadInput(f"{len(topics)} topics are too many: up to {MOST_TOPICS}")
    for topic in topics:
        fault = topic_fault(topic)
        if fault is not None:
            raise BadInput(f"--topic: {fault}")
    if options.sql is not None:
        sql_filter(options.sql)
    given = [getattr(options, name) for name in _FILTERS]
    if not any(given) and options.begin is None and options.end is None:
        raise BadInput("say what is looked for: --from, --to, --key, --tag, --property, --sql or --body")


def wanted_of(options: argparse.Namespace) -> Wanted:
    name, separator, value = (options.property or "").partition("=")
    return Wanted(
        tuple(dict.fromkeys(options.topic)),
        key=options.key,
        tag=options.tag,
        property_name=name if options.property else None,
        property_value=value if separator else None,
        sql=options.sql,
        body=options.body,
    )


def run(work: Work) -> Said:
    options, wanted = work.asked.options, wanted_of(work.asked.options)
    columns = MATCH_COLUMNS if wanted.body is None else (*MATCH_COLUMNS, "body")
    # Topic and time as the source understands them: what is not looked at is not read.
    log = work.logs.read_range(work.session, columns)
    found = work.keep("found", hits(matching(log, wanted), most=options.max_hits + 1))
    scanned = work.logs.read_range(work.session, ("topic",)).where(F.col("topic").isin(*wanted.topics))
    table = _measured(work, found, wanted).coalesce(1)
    return Said(
        {"hits": table}, lambda written, counts: sum_up(counts["hits"], options.max_hits, scanned.count())
    )


def _measured(work: Work, found: DataFrame, wanted: Wanted) -> DataFrame:
    """With the plain sizes of compressed bodies: few, so they are looked at once more."""
    blind = found.where(F.col("body_size").isNull())
    (span,) = blind.agg(F.count("*"), F.min("commit_log_offset"), F.max("commit_log_offset")).collect()
    in_order = ("store_time", "broker", "topic", "queue_id", "queue_offset")
    if not span[0]:
        return found.orderBy(*in_order)
    columns = ("store", "topic", "commit_log_offset", "sys_flag", "body")
    log = work.logs.read_range(work.session, columns).where(F.col("topic").isin(*wanted.topics))
    near = log.where(F.col("commit_log_offset").between(span[1], span[2]))
    place = ["store", "commit_log_offset"]
    sizes = plain_sizes(near.join(F.broadcast(blind.select(*place)), place, "left_semi"))
    rows = found.join(F.broadcast(sizes), place, "left")
    size = F.coalesce("body_size", "plain_bytes", F.lit(0))
    return rows.withColumn("body_size", size).select(*found.columns).orderBy(*in_order)


def sum_up(found: int, most: int, scanned: int) -> dict[str, Any]:
    """One row more than asked for says that there is more."""
    stopped = "max_hits" if found > most else "end"
    return {"figures": {"messages": scanned, "found": min(found, most), "stopped": stopped}}


JOB = Job(
    report="search",
    file="search",
    about="Find messages by key, tag, property, SQL92 or text, as the console's search jobs do.",
    examples=EXAMPLES,
    tables=TABLES,
    run=run,
    add_options=add_options,
    check=check,
)

if __name__ == "__main__":
    sys.exit(submit(JOB))
