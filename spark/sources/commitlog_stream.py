"""The commit log as a stream: `spark.readStream.format("commitlog").load(store)`.

An offset is, for each store, the place in its log behind the last record that was read. A log never changes
before its readable end, so a batch that is run again after a crash holds the same messages, and a sink that
remembers batches (Parquet does) has each message once. Segments that roll meanwhile change nothing. Options,
beside those of the batch reader:

    starting                      earliest (default) or latest: where a new query begins
    max_bytes_per_trigger         how much of the logs one batch may take, all stores together
    max_records_per_trigger       the same in messages

A store is known by its name (`cluster/broker=…`), so that any replica may continue for another; without a
name by its place, and then its replicas must not be given too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from engine.errors import BadInput, CorruptRecord
from spark.sources.logs import Log, fails_on_damage, survey
from spark.sources.planning import LogPart, plan_log
from spark.sources.rates import end_after_bytes, end_after_records
from spark.sources.reading import read_part
from spark.sources.wanted import wanted_by_options

__all__ = ["CommitLogStreamReader"]

Offsets = dict[str, int]
_STARTS = ("earliest", "latest")


class CommitLogStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Lives in one process beside the driver; `read` runs in the workers, on a pickled copy."""

    def __init__(self, options: dict[str, str], schema: StructType, part_bytes: int) -> None:
        self._options = options
        self._schema = schema
        self._part_bytes = part_bytes
        self._wanted = wanted_by_options(options)
        self._is_strict = fails_on_damage(options)
        self._limit = _limit(options)
        self._target: Offsets | None = None
        self._starting = (options.get("starting") or _STARTS[0]).lower()
        if self._starting not in _STARTS:
            raise BadInput(f"no such starting: {self._starting} (there are {', '.join(_STARTS)})")

    def initialOffset(self) -> Offsets:
        logs = self._logs()
        if self._starting == "latest":
            return {key: log.end_offset for key, log in logs.items()}
        return {key: log.start_offset for key, log in logs.items()}

    def getDefaultReadLimit(self) -> ReadLimit:
        return self._limit

    def latestOffset(self, start: Offsets, limit: ReadLimit) -> Offsets:
        """Never behind where the query already is: a broker that comes back may have to catch up first."""
        logs = self._logs()
        waiting = {key: log for key, log in logs.items() if self._end(key, log) > _begin(start, key, log)}
        offsets = dict(start)
        for key, log in waiting.items():
            offsets[key] = _limited(log, _begin(start, key, log), self._end(key, log), limit, len(waiting))
        return offsets

    def reportLatestOffset(self) -> Offsets:
        return {key: log.end_offset for key, log in self._logs().items()}

    def prepareForTriggerAvailableNow(self) -> None:
        self._target = {key: log.end_offset for key, log in self._logs().items()}

    def partitions(self, start: Offsets, end: Offsets) -> Sequence[InputPartition]:
        logs = self._logs()
        parts: list[LogPart] = []
        for key, behind in end.items():
            log = logs.get(key)
            if log is None:
                raise BadInput(f"the stream has read {key}, which is not among its stores any more")
            first = _begin(start, key, log)
            if first < behind:
                parts += plan_log(log, self._wanted, self._kept(log, first), behind, self._part_bytes)
        return parts

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, LogPart):
            return iter(())
        return read_part(partition, self._schema, self._wanted, is_strict=self._is_strict)

    def _logs(self) -> dict[str, Log]:
        return {log.store.key: log for log in survey(self._options, must_be_named=True)}

    def _end(self, key: str, log: Log) -> int:
        return log.end_offset if self._target is None else self._target.get(key, log.start_offset)

    def _kept(self, log: Log, first: int) -> int:
        """Where the log begins may have moved past what was not read yet."""
        if first >= log.start_offset:
            return first
        if self._is_strict:
            raise CorruptRecord(
                f"the log of {log.store.key} begins at offset {log.start_offset}, the stream was at {first}: "
                "what lay between was deleted before it was read (damage=skip goes on)"
            )
        return log.start_offset


def _begin(start: Mapping[str, int], key: str, log: Log) -> int:
    """A store that joins a running query is read from its beginning."""
    return start.get(key, log.start_offset)


def _limited(log: Log, start: int, end: int, limit: ReadLimit, shares: int) -> int:
    if isinstance(limit, ReadMaxBytes):
        return end_after_bytes(log.segments, start, end, max(limit.max_bytes // shares, 1))
    if isinstance(limit, ReadMaxRows):
        return end_after_records(log.segments, start, end, max(limit.max_rows // shares, 1))
    return end


def _limit(options: Mapping[str, str]) -> ReadLimit:
    for name, make in (("max_bytes_per_trigger", ReadMaxBytes), ("max_records_per_trigger", ReadMaxRows)):
        text = options.get(name)
        if text:
            if not text.isdigit() or not int(text):
                raise BadInput(f"{name} must be a number above 0, not {text}")
            return make(int(text))
    return ReadAllAvailable()
