"""What is wrong with a store, one row per finding, whichever check found it.

cluster, broker, store    where
check                     which check: see the module that made it
topic … commit_log_offset the place, as far as there is one
expected, found           as text, in the words of the check
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

__all__ = ["PLACE", "finding"]

PLACE = ("cluster", "broker", "store", "topic", "queue_id", "queue_offset", "commit_log_offset")
_TYPES = {"queue_id": "int", "queue_offset": "bigint", "commit_log_offset": "bigint"}


def finding(rows: DataFrame, check: str, *, expected: Column, found: Column) -> DataFrame:
    """Rows with some of the columns of PLACE as findings; what they lack is null."""
    absent = {
        name: F.lit(None).cast(_TYPES.get(name, "string")) for name in PLACE if name not in rows.columns
    }
    return rows.withColumns(absent).select(
        *PLACE[:3],
        F.lit(check).alias("check"),
        *PLACE[3:],
        expected.cast("string").alias("expected"),
        found.cast("string").alias("found"),
    )
