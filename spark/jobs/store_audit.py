"""spark-submit spark/jobs/store_audit.py: is a store what it should be?

Every record's CRC, queue entries against the log, holes, keys that were stored twice. With a range, whole
files of the log that hold messages of that time are looked at. The tables are those of
`spark.transforms.audit_report`. Findings are no failure: the run is done, and says what it found.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from struct import Struct
from typing import Any

if __package__ in (None, ""):  # spark-submit runs the file by itself: its package begins two folders up
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from engine.protocol.record_layout import BLANK_SIZE, MAGIC_BLANK
from spark.jobs.charts import chart, rows_of
from spark.jobs.logs import Logs
from spark.jobs.retention import segments_of
from spark.jobs.submission import Job, Said, Work, submit
from spark.sources.consume_queues import entries
from spark.sources.files import File
from spark.sources.segments import segment_at
from spark.transforms.audit_report import audit_report
from spark.transforms.checksums import AUDIT_COLUMNS
from spark.transforms.gaps import BLANKS

EXAMPLES = """\
  spark-submit spark/jobs/store_audit.py --store /data/broker-a/store --output reports
  spark-submit spark/jobs/store_audit.py --store '/data/*/store' --output reports --from 2026-11-16
"""
TABLES = {
    "findings": (),
    "duplicates": ("cluster", "topic", "unique_key"),
    "segments": (),
    "queues": ("cluster", "broker", "topic", "queue_id"),
}
_BLANK = Struct(">ii")
_MOST_NAMED = 20


def run(work: Work) -> Said:
    session, logs = work.session, work.logs
    logs.widen_to_files(session)
    extents = [(log.store.place, log.start_offset, log.due_offset or log.end_offset) for log in logs.logs]
    tables = audit_report(
        logs.read(session, AUDIT_COLUMNS),
        segments_of(work),
        entries(session, logs.stores),
        session.createDataFrame(extents, "store string, from_offset bigint, to_offset bigint"),
        blanks=lambda ends: _blanks(session, logs, ends),
        keep=work.keep,
    )
    bare = [log.store.place for log in logs.logs if log.store.is_archive]
    return Said(tables, lambda written, counts: sum_up(written, bare))


def _blanks(session: SparkSession, logs: Logs, ends: DataFrame) -> DataFrame:
    """What lies behind the last record of each file: eight bytes a file, looked at here."""
    by_place = {log.store.place: log for log in logs.logs}
    rows = []
    for row in rows_of(ends):
        segment = segment_at(by_place[row["store"]].segments, row["segment"])
        assert segment is not None, "it was listed with the log"
        with File(segment.place) as file:
            head = file.read(row["end_offset"] - segment.base_offset, BLANK_SIZE)
        is_blank = head == _BLANK.pack(segment.end_offset - row["end_offset"], MAGIC_BLANK)
        rows.append((row["store"], row["segment"], row["end_offset"] if is_blank else None))
    return session.createDataFrame(rows, BLANKS)


def sum_up(tables: Mapping[str, DataFrame], bare: list[str]) -> dict[str, Any]:
    found = {row["check"]: row["count"] for row in rows_of(tables["findings"].groupBy("check").count())}
    (held,) = rows_of(tables["segments"].agg(*(_sum(name) for name in ("records", "bytes"))))
    (listed,) = rows_of(tables["queues"].agg(_sum("entries")))
    duplicates = tables["duplicates"].agg(F.count("*").alias("keys"), _sum("copies"))
    (twice,) = rows_of(duplicates)
    figures = {
        **held,
        "entries": listed["entries"],
        "findings": sum(found.values()),
        **{f"found_{check}": count for check, count in sorted(found.items())},
        "repeated_keys": twice["keys"],
        "repeated_copies": twice["copies"],
    }
    worst = rows_of(tables["findings"].orderBy("check", "store", "commit_log_offset").limit(_MOST_NAMED))
    return {
        "figures": figures,
        "charts": [
            chart(
                "findings",
                "bar",
                "check",
                sorted(found),
                {"findings": [found[name] for name in sorted(found)]},
            )
        ],
        "unknown": [
            "topic and properties of a record are not covered by its CRC",
            *(f"{place} is an archive without queues: those were not compared" for place in bare),
        ],
        "warnings": [
            f"{row['broker']}: {row['check']} at offset {row['commit_log_offset']}: "
            f"{row['expected']} expected, {row['found']} found"
            for row in worst
        ],
    }


def _sum(name: str) -> Any:
    return F.coalesce(F.sum(name), F.lit(0)).alias(name)


JOB = Job(
    report="audit",
    file="store_audit",
    about="Is a store what it should be: CRC of every record, queues against the log, holes, repeated keys.",
    examples=EXAMPLES,
    tables=TABLES,
    run=run,
    damage="skip",
)

if __name__ == "__main__":
    sys.exit(submit(JOB))
