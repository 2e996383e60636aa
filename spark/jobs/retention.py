"""spark-submit spark/jobs/retention.py: what lies where, when the disk is full, what retention would take.

Reads the logs once, without properties and bodies, and joins the committed offsets of groups. The tables are
those of `spark.transforms.retention_report`. Nothing is deleted: it says what deleting would do.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

if __package__ in (None, ""):  # spark-submit runs the file by itself: its package begins two folders up
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from engine.errors import BadInput
from spark.jobs.arguments import moment, positive, share
from spark.jobs.charts import chart, lines_by, rows_of
from spark.jobs.submission import Job, Said, Work, submit
from spark.sources.disks import disk_row
from spark.sources.logs import Log
from spark.sources.store_configs import committed_rows
from spark.sources.stores import Store
from spark.transforms.disks import DISKS
from spark.transforms.retention_report import retention_report
from spark.transforms.subscriptions import COMMITTED
from spark.transforms.volumes import SEGMENTS, VOLUME_COLUMNS

EXAMPLES = """\
  # what 72 hours (fileReservedTime) keep, and what other settings would free
  spark-submit spark/jobs/retention.py --store '/data/*/store' --output reports
  # at 48 hours, of stores whose disk this machine does not see
  spark-submit spark/jobs/retention.py --store east/broker-a=s3://archive/broker-a --output reports \\
      --reserved-hours 48 --disk-bytes 2000000000000 --disk-free-bytes 400000000000
"""
TABLES = {
    "volume": ("cluster", "topic", "hour", "broker"),
    "topics": ("cluster", "topic"),
    "stores": ("cluster", "broker"),
    "disks": (),
    "settings": ("cluster", "broker", "hours"),
    "settings_by_topic": ("cluster", "broker", "hours", "topic"),
    "groups": (),
}
CHOICES = (1, 6, 12, 24, 48, 72, 96, 120, 168, 336, 720)
_NAMED = 20


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--reserved-hours", type=positive, default=72, help="fileReservedTime in force (72)")
    parser.add_argument(
        "--settings",
        metavar="HOURS,…",
        help=f"settings to try out ({','.join(map(str, CHOICES))})",
    )
    parser.add_argument(
        "--full-ratio", type=share, default=0.9, help="how full a disk takes no more writes (0.9)"
    )
    parser.add_argument(
        "--disk-bytes", type=positive, help="size of the disk of all stores, if not asked here"
    )
    parser.add_argument("--disk-free-bytes", type=positive, help="and how much of it is free")
    parser.add_argument("--now", metavar="TIME", help="as if it were that time (now)")


def check(options: argparse.Namespace) -> None:
    _choices(options)
    if (options.disk_bytes is None) != (options.disk_free_bytes is None):
        raise BadInput("--disk-bytes and --disk-free-bytes go together")
    if options.disk_bytes is not None and options.disk_free_bytes > options.disk_bytes:
        raise BadInput("--disk-free-bytes is more than --disk-bytes")


def _choices(options: argparse.Namespace) -> tuple[int, ...]:
    if options.settings is None:
        return CHOICES
    try:
        return tuple(positive(part) for part in options.settings.split(","))
    except argparse.ArgumentTypeError as error:
        raise BadInput(f"--settings: {error}") from None


def run(work: Work) -> Said:
    asked, options = work.asked, work.asked.options
    now = moment(options.now, asked.time_zone, "--now") or work.now
    session, logs = work.session, work.logs
    committed, silent = logs.rows(session, COMMITTED, committed_rows)
    places, _ = logs.rows(session, DISKS, lambda store: [_disk(store, options)])
    tables = retention_report(
        logs.read(session, VOLUME_COLUMNS),
        segments_of(work),
        places,
        committed,
        begin=asked.begin,
        end=asked.end,
        now=now,
        hours=options.reserved_hours,
        choices=_choices(options),
        full_ratio=options.full_ratio,
        keep=work.keep,
    )
    return Said(tables, lambda written, counts: sum_up(written, options.reserved_hours, silent))


def _disk(store: Store, options: argparse.Namespace) -> dict[str, Any]:
    if options.disk_bytes is None:
        return disk_row(store)
    said = {"total_bytes": options.disk_bytes, "free_bytes": options.disk_free_bytes}
    return {"store": store.place, "disk": "as said", **said}


def segments_of(work: Work) -> DataFrame:
    """The files of the logs; one that was only made ready for what is to come is not one yet."""
    by_place = {log.store.place: log for log in work.logs.logs}
    frame, _ = work.logs.rows(work.session, SEGMENTS, lambda store: segment_rows(by_place[store.place]))
    return frame


def segment_rows(log: Log) -> list[dict[str, Any]]:
    begun = [segment for segment in log.segments if segment.base_offset < log.end_offset]
    store = {"cluster": log.store.cluster, "broker": log.store.broker, "store": log.store.place}
    return [
        {
            **store,
            "segment": segment.base_offset,
            "file_bytes": segment.size,
            "is_last": segment is begun[-1],
        }
        for segment in begun
    ]


def sum_up(tables: Mapping[str, DataFrame], hours: int, silent: list[str]) -> dict[str, Any]:
    stores, disks = rows_of(tables["stores"]), rows_of(tables["disks"])
    settings = rows_of(tables["settings"])
    losing = rows_of(tables["groups"].where("lost_messages > 0").orderBy(F.desc("lost_messages"), "group"))
    in_force = [row for row in settings if row["hours"] == hours]
    volume = tables["volume"].groupBy("topic", "hour").agg(F.sum("bytes").alias("bytes"))
    figures = {
        "messages": sum(row["messages"] or 0 for row in stores),
        "bytes": sum(row["bytes"] or 0 for row in stores),
        "file_bytes": sum(row["file_bytes"] for row in stores),
        "oldest": min((row["oldest"] for row in stores if row["oldest"]), default=None),
        "bytes_per_day": _total(stores, "bytes_per_day"),
        "fills_at": min((row["fills_at"] for row in disks if row["fills_at"]), default=None),
        "fills_without_deletion_at": min(
            (row["fills_without_deletion_at"] for row in disks if row["fills_without_deletion_at"]),
            default=None,
        ),
        "freed_if_run_now_bytes": sum(row["bytes_freed"] for row in in_force),
        "groups_losing": len({(row["cluster"], row["group"]) for row in losing}),
        "messages_lost": sum(row["lost_messages"] for row in losing),
        "recommended_hours": max((row["recommended_hours"] for row in stores), default=None),
    }
    return {
        "figures": figures,
        "charts": [
            lines_by("bytes per hour", rows_of(volume), x="hour", series=("topic",), value="bytes"),
            _freed(settings),
        ],
        "unknown": _unknown(stores, silent),
        "warnings": _warnings(stores, disks, losing, hours),
    }


def _total(rows: list[dict[str, Any]], name: str) -> Any:
    """Null when one of them is not known."""
    values = [row[name] for row in rows]
    return None if None in values or not values else sum(values)


def _freed(settings: list[dict[str, Any]]) -> dict[str, Any]:
    hours = sorted({row["hours"] for row in settings})
    freed = [sum(row["bytes_freed"] for row in settings if row["hours"] == each) for each in hours]
    lost = [sum(row["messages_lost"] for row in settings if row["hours"] == each) for each in hours]
    return chart(
        "what settings would free", "bar", "hours", hours, {"bytes freed": freed, "unread lost": lost}
    )


def _unknown(stores: list[dict[str, Any]], silent: list[str]) -> list[str]:
    said = [
        f"{place} has no committed offsets: who would lose messages there is not known" for place in silent
    ]
    said += [
        f"the disk of {row['store']} cannot be asked from here: when it is full is not known"
        for row in stores
        if row["disk"] is None
    ]
    said += [
        f"{row['store']} has less than an hour of messages in the range: how fast it grows is not known"
        for row in stores
        if row["bytes_per_day"] is None
    ]
    said.append("groups that broadcast keep their offsets themselves: what they have not read is not known")
    said.append("unread messages include those that a group's subscription would not match")
    return said


def _warnings(
    stores: list[dict[str, Any]], disks: list[dict[str, Any]], losing: list[dict[str, Any]], hours: int
) -> list[str]:
    said = [
        f"{row['group']} would lose {row['lost_messages']} messages of {row['topic']} on {row['broker']}"
        for row in losing[:_NAMED]
    ]
    if len(losing) > _NAMED:
        said.append(f"{len(losing) - _NAMED} more would lose unread messages")
    said += [
        f"the disk {row['disk']} is full on {row['fills_at']:%Y-%m-%d} at {hours} hours"
        for row in disks
        if row["fills_at"]
    ]
    return said + [
        f"{row['broker']}: set fileReservedTime to {row['recommended_hours']} ({row['reason']})"
        for row in stores
        if row["reason"] != "keep"
    ]


JOB = Job(
    report="retention",
    file="retention",
    about="What lies in the logs, when disks are full, what each retention setting frees and whom it hurts.",
    examples=EXAMPLES,
    tables=TABLES,
    run=run,
    add_options=add_options,
    check=check,
)

if __name__ == "__main__":
    sys.exit(submit(JOB))
