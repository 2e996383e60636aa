"""The stores that a run is about: looked at once, so that every table sees the same messages.

    Logs.find(asked)     which stores, one of each group, and how far each may be read; without Spark
    logs.look(session)   how many records there are in the range, per store
    logs.read(…)         messages with the columns that are needed

Brokers go on writing meanwhile: what came after is left for the next run. Spark keeps what it pushed down to
a Python source with the loaded table, for whoever uses it next (seen with 4.3.0: one frame filtered in two
ways gives one of the two results twice). So every read loads anew, and is used once: whoever needs it more
often keeps it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from spark.jobs.arguments import Asked
from spark.jobs.charts import rows_of
from spark.sources.logs import Log, pack_logs, survey
from spark.sources.stores import Store
from spark.transforms.ranges import within

__all__ = ["Logs"]

Row = dict[str, Any]


@dataclass(slots=True)
class Logs:
    asked: Asked
    logs: tuple[Log, ...]
    damage: str = "fail"
    """What to do about damage: fail, or skip it for an audit to find."""
    warnings: list[str] = field(default_factory=list)
    _seen: dict[str, Row] = field(default_factory=dict)

    @classmethod
    def find(cls, asked: Asked, *, damage: str = "fail") -> Logs:
        """BadInput or CorruptRecord where there is nothing to be read."""
        options = {"stores": "\n".join(asked.stores), "cluster": asked.cluster or "", "damage": damage}
        return cls(asked, survey(options), damage)

    @property
    def stores(self) -> tuple[Store, ...]:
        return tuple(log.store for log in self.logs)

    def read(
        self,
        session: SparkSession,
        columns: Sequence[str],
        *,
        begin: datetime | None = None,
        end: datetime | None = None,
    ) -> DataFrame:
        """Messages stored from `begin` to before `end`, up to where the logs ended when they were found."""
        wanted = dict.fromkeys((*columns, "store_time"))
        reader = session.read.format("commitlog").option("columns", ",".join(wanted))
        reader = reader.option("damage", self.damage).option("surveyed", pack_logs(self.logs))
        return within(reader.load(), begin, end).select(*columns)

    def read_range(self, session: SparkSession, columns: Sequence[str]) -> DataFrame:
        """Messages of the range that was asked for."""
        return self.read(session, columns, begin=self.asked.begin, end=self.asked.end)

    def read_after(self, session: SparkSession, columns: Sequence[str], slack: timedelta) -> DataFrame:
        """From the beginning of the range on, without an end: what comes of a message comes later."""
        begin = None if self.asked.begin is None else self.asked.begin - slack
        return self.read(session, columns, begin=begin)

    def look(self, session: SparkSession) -> None:
        """What the range holds of each store."""
        place = F.col("commit_log_offset")
        rows = self.read_range(session, ("store", "commit_log_offset", "size")).groupBy("store")
        found = rows.agg(
            F.count("*").alias("records"),
            F.min(place).alias("from_offset"),
            F.max(place + F.col("size")).alias("to_offset"),
        )
        self._seen = {row["store"]: row for row in rows_of(found)}

    def widen_to_files(self, session: SparkSession) -> None:
        """From the messages of the range to all that lies in the same files of the logs: what follows looks
        at files as they are."""
        if self.asked.begin is None and self.asked.end is None:
            return
        narrowed = [
            _files_between(log, self._seen[log.store.place])
            for log in self.logs
            if log.store.place in self._seen
        ]
        self.logs = tuple(narrowed)
        self.asked = replace(self.asked, begin=None, end=None)
        self.look(session)

    def about(self) -> list[Row]:
        """For the summary. Offsets are of what was read; null where that is nothing."""
        nothing: Row = {"records": 0, "from_offset": None, "to_offset": None}
        return [
            {
                "cluster": log.store.cluster,
                "broker": log.store.broker,
                "path": log.store.place,
                **{
                    name: None if value is None else str(value)
                    for name, value in self._seen.get(log.store.place, nothing).items()
                    if name != "store"
                },
            }
            for log in self.logs
        ]

    def rows(
        self, session: SparkSession, schema: StructType, of_store: Callable[[Store], list[Row] | None]
    ) -> tuple[DataFrame, list[str]]:
        """What each store says beside its log, as one table, and the places of those that say nothing."""
        said = {store.place: of_store(store) for store in self.stores}
        names = schema.fieldNames()
        rows = [tuple(row[name] for name in names) for found in said.values() for row in found or ()]
        return session.createDataFrame(rows, schema), [
            place for place, found in said.items() if found is None
        ]


def _files_between(log: Log, seen: Row) -> Log:
    kept = tuple(
        segment
        for segment in log.segments
        if segment.end_offset > seen["from_offset"] and segment.base_offset < seen["to_offset"]
    )
    return replace(log, segments=kept, end_offset=min(log.end_offset, kept[-1].end_offset))
