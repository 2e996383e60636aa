"""`spark.read.format("commitlog").load(store)`: the messages of stores, read from their files.

The same format streams (`spark.readStream`, see `commitlog_stream`). Both read our stores and Apache's alike,
beside running brokers or without them. Options:

    columns            a comma list of what is decoded (`schemas`); all of them when none is given
    cluster            what stores without a name belong to
    topics, from, to   what is wanted, where no filter can say it
    end                how far a store is read: auto, checkpoint, log (`readable_end`)
    addresses          brokers to be asked: host:port, or cluster/broker=host:port, …
    access_key, secret_key, tls     how they are asked
    damage             fail (default), or skip what is no whole record
    part_bytes         how much of a log one task walks through (64 MiB)

Planning runs on the driver and must see the files; so must the workers, under the same names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    Filter,
    InputPartition,
)
from pyspark.sql.types import StructType

from engine.errors import BadInput
from spark.schemas import chosen_columns, message_schema
from spark.sources.boundaries import PART_BYTES
from spark.sources.logs import fails_on_damage, survey, unpack_logs
from spark.sources.planning import LogPart, plan_log
from spark.sources.reading import read_part
from spark.sources.wanted import narrow, wanted_by_options

__all__ = ["CommitLogReader", "CommitLogSource", "part_bytes"]

_LEAST_PART_BYTES = 4096


class CommitLogSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "commitlog"

    def schema(self) -> StructType:
        return message_schema(chosen_columns(self.options.get("columns")))

    def reader(self, schema: StructType) -> CommitLogReader:
        return CommitLogReader(dict(self.options), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        from spark.sources.commitlog_stream import CommitLogStreamReader

        return CommitLogStreamReader(dict(self.options), schema, part_bytes(self.options))


def part_bytes(options: Mapping[str, str]) -> int:
    text = options.get("part_bytes") or str(PART_BYTES)
    if not text.isdigit() or int(text) < _LEAST_PART_BYTES:
        raise BadInput(f"part_bytes must be a number from {_LEAST_PART_BYTES} up, not {text}")
    return int(text)


class CommitLogReader(DataSourceReader):
    """Made on the driver, pickled to the workers: plain values only."""

    def __init__(self, options: dict[str, str], schema: StructType) -> None:
        self._options = options
        self._schema = schema
        self._wanted = wanted_by_options(options)
        self._is_strict = fails_on_damage(options)
        self._part_bytes = part_bytes(options)

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        self._wanted, rest = narrow(self._wanted, filters)
        return rest

    def partitions(self) -> list[InputPartition]:
        surveyed = self._options.get("surveyed")
        logs = unpack_logs(surveyed) if surveyed else survey(self._options)
        return [
            part
            for log in logs
            for part in plan_log(log, self._wanted, log.start_offset, log.end_offset, self._part_bytes)
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # With nothing to read Spark makes up a partition of its own.
        if not isinstance(partition, LogPart):
            return iter(())
        return read_part(partition, self._schema, self._wanted, is_strict=self._is_strict)
