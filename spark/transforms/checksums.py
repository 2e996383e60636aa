"""Whether bodies are what was stored: the CRC of every record, worked out anew.

    summed      the records without their bodies, each with the CRC of its body
    bad_crc     findings: `crc`

The field has no sign bit, so neither has what is compared. The CRC is of the stored body alone: topic and
properties are not covered by anything.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark.transforms.findings import finding

__all__ = ["AUDIT_COLUMNS", "bad_crc", "summed"]

AUDIT_COLUMNS = (
    "cluster",
    "broker",
    "store",
    "kind",
    "topic",
    "queue_id",
    "queue_offset",
    "commit_log_offset",
    "size",
    "tags",
    "unique_key",
    "store_time",
    "sys_flag",
    "body_crc",
    "body",
)
"""What is needed of a record."""


def summed(log: DataFrame) -> DataFrame:
    crc = F.crc32("body").bitwiseAND(0x7FFF_FFFF).cast("int")
    return log.withColumn("found_crc", crc).drop("body")


def bad_crc(summed: DataFrame) -> DataFrame:
    wrong = summed.where(F.col("found_crc") != F.col("body_crc"))
    return finding(wrong, "crc", expected=F.col("body_crc"), found=F.col("found_crc"))
