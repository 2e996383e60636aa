"""Percentiles that are values somebody measured: the smallest one that is not less than p percent of all.

Spark's approximation with this accuracy is exact up to 10,000 values of a group; above that the rank is off
by at most one in 10,000, and memory stays bounded however many there are.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F

__all__ = ["ACCURACY", "percentile", "percentiles"]

ACCURACY = 10_000


def percentile(value: Column | str, share: float) -> Column:
    return F.percentile_approx(value, share, ACCURACY)


def percentiles(value: Column | str, named: Mapping[str, float]) -> list[Column]:
    """One aggregate column per name."""
    return [percentile(value, share).alias(name) for name, share in named.items()]
