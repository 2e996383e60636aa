"""Running brokers as a stream: `spark.readStream.format("live").option("name_servers", "host:port")`.

An offset is, for each queue, the next queue offset, so a batch that is run again after a crash holds the same
messages as long as the broker keeps them. Options, beside those of the batch reader:

    starting                      earliest (default) or latest: where a new stream begins
    max_records_per_trigger       how much one batch of a stream may take, all queues together
    damage                        fail (default), or skip what expired before the stream had read it
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from engine.errors import BadInput
from spark.sources.live import QueuePart, read_part, wanted_queues
from spark.sources.live_queues import Brokers, LiveOptions, LiveQueue
from spark.sources.logs import fails_on_damage
from spark.sources.rates import shared_out
from spark.sources.wanted import Span, wanted_by_options

__all__ = ["LiveStreamReader"]

Offsets = dict[str, int]
_STARTS = ("earliest", "latest")


class LiveStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, options: dict[str, str], schema: StructType) -> None:
        self._schema = schema
        self._live = LiveOptions.read(options)
        self._wanted = wanted_by_options(options)
        self._is_strict = fails_on_damage(options)
        self._limit = _limit(options)
        self._starting = (options.get("starting") or _STARTS[0]).lower()
        if self._starting not in _STARTS:
            raise BadInput(f"no such starting: {self._starting} (there are {', '.join(_STARTS)})")
        self._target: Offsets | None = None

    def _ends(self) -> dict[str, tuple[LiveQueue, Span]]:
        with Brokers(self._live) as brokers:
            queues = wanted_queues(brokers, self._wanted)
            return {queue.key: (queue, brokers.offsets(queue, Span())) for queue in queues}

    def initialOffset(self) -> Offsets:
        ends = self._ends()
        if self._starting == "latest":
            return {key: span.end for key, (_, span) in ends.items()}
        return {key: span.start for key, (_, span) in ends.items()}

    def getDefaultReadLimit(self) -> ReadLimit:
        return self._limit

    def latestOffset(self, start: Offsets, limit: ReadLimit) -> Offsets:
        """Every queue is in it, also one that gets nothing of this batch: where it began is kept so."""
        ends = self._ends()
        begin = {key: start.get(key, span.start) for key, (_, span) in ends.items()}
        behind = {key: span.end for key, (_, span) in ends.items()} if self._target is None else self._target
        waiting = {key: behind.get(key, first) - first for key, first in begin.items()}
        waiting = {key: count for key, count in waiting.items() if count > 0}
        taken = shared_out(waiting, limit.max_rows) if isinstance(limit, ReadMaxRows) else waiting
        return {**start, **{key: first + taken.get(key, 0) for key, first in begin.items()}}

    def prepareForTriggerAvailableNow(self) -> None:
        self._target = {key: span.end for key, (_, span) in self._ends().items()}

    def partitions(self, start: Offsets, end: Offsets) -> Sequence[InputPartition]:
        ends = self._ends()
        parts: list[InputPartition] = []
        for key, behind in end.items():
            if key not in ends:
                raise BadInput(f"the stream has read queue {key}, which no broker has any more")
            queue, span = ends[key]
            first = start.get(key, span.start)
            if first < behind:
                parts.append(QueuePart(queue, first, behind))
        return parts

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, QueuePart):
            return iter(())
        return read_part(partition, self._live, self._schema, self._wanted, self._is_strict)


def _limit(options: Mapping[str, str]) -> ReadLimit:
    text = options.get("max_records_per_trigger")
    if not text:
        return ReadAllAvailable()
    if not text.isdigit() or not int(text):
        raise BadInput(f"max_records_per_trigger must be a number above 0, not {text}")
    return ReadMaxRows(int(text))
