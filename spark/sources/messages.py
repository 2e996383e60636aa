"""Messages of stores for a job: looked at first, on the driver, then read as often as wanted.

logs = look_at(["east/broker-a=/data/store"])      one clear line when something is wrong, without Spark
messages(session, logs, columns=("topic", "size"))  a DataFrame that does not change while brokers write
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession

from spark.sources.logs import Log, pack_logs, survey
from spark.sources.wanted import wanted_by_options

__all__ = ["look_at", "messages"]


def look_at(stores: Sequence[str], options: Mapping[str, str] | None = None) -> tuple[Log, ...]:
    """The logs that these texts name, one of each group, and how far each is readable now. The options are
    those of the format `commitlog`."""
    named = {**(options or {}), "stores": "\n".join(stores)}
    wanted_by_options(named)
    return survey(named)


def messages(
    session: SparkSession,
    logs: Sequence[Log],
    columns: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """What these logs hold, up to where they were readable when they were looked at."""
    reader = session.read.format("commitlog").options(**(options or {}))
    return reader.options(columns=",".join(columns), surveyed=pack_logs(logs)).load()
