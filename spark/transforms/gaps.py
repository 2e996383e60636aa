"""Holes: in the log, where records do not follow each other; in queues, where numbers are missing.

    log_gaps     findings
      log_gap      between two records of a file, before its first, or before the end of the log
      log_tail     the end of a file is neither records nor a blank that says so
    queue_gaps   findings
      queue_gap      queue offsets that no record has, between two that there are
      queue_repeat   a queue offset that several records have

`expected` is the offset that should have come, `found` the one that did. Each file of the log is looked at by
itself, so that no task ever needs more than one of them.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType

from spark.transforms.findings import finding
from spark.transforms.volumes import QUEUE

__all__ = ["BLANKS", "ends", "log_gaps", "queue_gaps", "segments"]

_STORE = ("cluster", "broker", "store")
BLANKS = StructType(
    [
        StructField("store", StringType(), False),
        StructField("segment", LongType(), False),
        StructField("blank_offset", LongType(), True),
    ]
)
"""Of each file but its log's last: where the blank behind the last record begins; null: there is none."""


def segments(records: DataFrame, files: DataFrame) -> DataFrame:
    """Per file of the log: records, bytes, first and last message, damaged bodies. `files` are SEGMENTS."""
    placed = _placed(records, files).groupBy("store", "segment")
    held = placed.agg(
        F.count("*").alias("records"),
        F.sum("size").alias("bytes"),
        F.max(F.col("commit_log_offset") + F.col("size")).alias("end_offset"),
        F.min("store_time").alias("oldest"),
        F.max("store_time").alias("newest"),
        F.count_if(F.col("found_crc") != F.col("body_crc")).alias("bad_crc"),
    )
    return files.join(held, ["store", "segment"], "left").fillna(0, ["records", "bytes", "bad_crc"])


def ends(segments: DataFrame) -> DataFrame:
    """Where the records of each file but the last end: what has to be a blank begins there."""
    end = F.coalesce("end_offset", "segment").alias("end_offset")
    return segments.where(~F.col("is_last")).select(*_STORE, "segment", "file_bytes", end)


def log_gaps(records: DataFrame, segments: DataFrame, blanks: DataFrame, extents: DataFrame) -> DataFrame:
    """`segments` as the function of that name makes them; `blanks` are BLANKS; `extents` say where each log
    ends (store, to_offset)."""
    in_order = Window.partitionBy("store", "segment").orderBy("commit_log_offset")
    before = F.lag(F.col("commit_log_offset") + F.col("size")).over(in_order)
    placed = _placed(records, segments).withColumn("due", F.coalesce(before, F.col("segment")))
    holes = placed.where(F.col("due") != F.col("commit_log_offset"))
    inside = finding(holes, "log_gap", expected=F.col("due"), found=F.col("commit_log_offset"))
    # By the size that all files have: one that was cut may end with a whole record.
    loose = (
        ends(segments)
        .join(F.broadcast(_sizes(segments)), "store")
        .join(blanks, ["store", "segment"], "left")
        .where(
            (F.col("end_offset") != F.col("segment") + F.col("segment_bytes"))
            & ~F.coalesce(F.col("blank_offset") == F.col("end_offset"), F.lit(False))
        )
    )
    loose = loose.withColumn("commit_log_offset", F.col("end_offset"))
    tails = finding(loose, "log_tail", expected=F.lit("a blank"), found=F.lit("none"))
    newest = segments.where("is_last").join(F.broadcast(extents), "store")
    newest = newest.withColumn("commit_log_offset", F.coalesce("end_offset", "segment"))
    short = newest.where(F.col("commit_log_offset") < F.col("to_offset"))
    missing = finding(short, "log_gap", expected=F.col("commit_log_offset"), found=F.col("to_offset"))
    return inside.unionByName(tails).unionByName(missing)


def queue_gaps(records: DataFrame) -> DataFrame:
    """`records` as `queue_entries.expected_records` gives them."""
    in_order = Window.partitionBy(*QUEUE).orderBy("queue_offset", "commit_log_offset")
    rows = records.withColumn("due", F.lag("queue_offset").over(in_order) + 1)
    found = F.col("queue_offset")
    skipped = finding(rows.where(found > F.col("due")), "queue_gap", expected=F.col("due"), found=found)
    again = finding(rows.where(found < F.col("due")), "queue_repeat", expected=F.col("due"), found=found)
    return skipped.unionByName(again)


def _placed(records: DataFrame, files: DataFrame) -> DataFrame:
    """Each record with the file that it lies in: files are all of one size, and begin at multiples of it."""
    offset = F.col("commit_log_offset")
    return records.join(F.broadcast(_sizes(files)), "store").withColumn(
        "segment", offset - offset % F.col("segment_bytes")
    )


def _sizes(files: DataFrame) -> DataFrame:
    return files.groupBy("store").agg(F.max("file_bytes").alias("segment_bytes"))
