"""The part of the messages that a report is about: those stored from a moment on, and before another."""

from __future__ import annotations

from datetime import datetime

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

__all__ = ["within"]


def within(frame: DataFrame, begin: datetime | None, end: datetime | None) -> DataFrame:
    """Moments must know their time zone: Spark takes one without for the machine's own."""
    for moment, keeps in ((begin, F.col("store_time").__ge__), (end, F.col("store_time").__lt__)):
        if moment is not None:
            frame = frame.where(keeps(F.lit(moment)))
    return frame
