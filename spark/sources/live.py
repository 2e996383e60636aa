"""`spark.read.format("live").option("name_servers", "host:port")`: messages asked of running brokers.

The columns are those of `commitlog`; `store` is the broker's address. The same format streams: an offset is,
for each queue, the next queue offset, so a batch that is run again holds the same messages as long as the
broker keeps them. Options:

    name_servers                  host:port, several joined by ;
    topics                        a comma list; without it, every topic that is not the system's own
    columns, cluster, from, to    as for `commitlog`
    access_key, secret_key, tls   how brokers are asked
    starting                      earliest (default) or latest: where a new stream begins
    max_records_per_trigger       how much one batch of a stream may take, all queues together
    damage                        fail (default), or skip what expired before a stream had read it
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    Filter,
    InputPartition,
)
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from engine.client.pulls import PullStatus
from engine.errors import BadInput, CorruptRecord
from engine.protocol._places_cy import SPAN_NUMBERS, SPAN_POS, measure_records
from spark.schemas import chosen_columns, kind_of, message_schema
from spark.sources.decoding import Decoder
from spark.sources.live_queues import Brokers, LiveOptions, LiveQueue
from spark.sources.logs import fails_on_damage
from spark.sources.wanted import Span, Wanted, narrow, wanted_by_options

__all__ = ["LiveSource"]

Offsets = dict[str, int]


class LiveSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "live"

    def schema(self) -> StructType:
        return message_schema(chosen_columns(self.options.get("columns")))

    def reader(self, schema: StructType) -> LiveReader:
        return LiveReader(dict(self.options), schema)

    def streamReader(self, schema: StructType) -> LiveStreamReader:
        return LiveStreamReader(dict(self.options), schema)


@dataclass(frozen=True)
class QueuePart(InputPartition):
    """[start, end) of one queue."""

    queue: LiveQueue
    start: int
    end: int


def _wanted_queues(brokers: Brokers, wanted: Wanted) -> list[LiveQueue]:
    topics: Iterable[str]
    if wanted.topics is not None:
        topics = sorted(wanted.topics)
    else:
        topics = [topic for topic in brokers.topics() if kind_of(topic) != "system"]
    queues = brokers.queues(topics)
    return [
        queue
        for queue in queues
        if wanted.wants_topic(queue.topic, queue.cluster, queue.broker)
        and (wanted.queue_ids is None or queue.queue_id in wanted.queue_ids)
        and (wanted.brokers is None or queue.broker in wanted.brokers)
        and (wanted.clusters is None or queue.cluster in wanted.clusters)
    ]


def _read(
    part: QueuePart, live: LiveOptions, schema: StructType, wanted: Wanted, is_strict: bool
) -> Iterator[pa.RecordBatch]:
    queue = part.queue
    decoder = Decoder(schema, (queue.cluster, queue.broker, queue.address), wanted)
    offset = part.start
    with Brokers(live) as brokers:
        while offset < part.end:
            found = brokers.pull(queue, offset, part.end - offset)
            if found.status is PullStatus.FOUND:
                batch = _batch(decoder, found.records, found.offset_delta, part.end)
                if batch is not None:
                    yield batch
            elif found.next_offset <= offset:
                return
            elif is_strict and found.status is PullStatus.OFFSET_ILLEGAL:
                raise CorruptRecord(
                    f"messages {offset} to {found.next_offset} of {queue.key} expired before they were read "
                    "(damage=skip goes on)"
                )
            offset = found.next_offset


def _batch(decoder: Decoder, records: bytes, offset_delta: int, end: int) -> pa.RecordBatch | None:
    """Of the messages before `end`: an answer may hold more than was asked for."""
    data = bytearray(records)
    spans, pos, _ = measure_records(data, 0, len(data), True, len(data) // 92 + 1)
    if pos < len(data):
        raise CorruptRecord(f"a broker answered with {len(data)} bytes that are no records from {pos} on")
    count = len(spans) // SPAN_NUMBERS
    for number in range(count):
        at = spans[number * SPAN_NUMBERS + SPAN_POS] + 20
        queue_offset = int.from_bytes(data[at : at + 8], "big", signed=True) + offset_delta
        data[at : at + 8] = queue_offset.to_bytes(8, "big", signed=True)
        if queue_offset >= end:
            spans = spans[: number * SPAN_NUMBERS]
            break
    return decoder.batch(memoryview(data), spans)[0] if len(spans) else None


class LiveReader(DataSourceReader):
    def __init__(self, options: dict[str, str], schema: StructType) -> None:
        self._schema = schema
        self._live = LiveOptions.read(options)
        self._wanted = wanted_by_options(options)

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        self._wanted, rest = narrow(self._wanted, filters)
        # Whether one is of a store is known only by its address, and where it lies in the log not at all.
        return [pushed for pushed in filters if pushed in rest or pushed.attribute[0] == "store"]  # type: ignore[attr-defined]

    def partitions(self) -> list[InputPartition]:
        parts: list[InputPartition] = []
        with Brokers(self._live) as brokers:
            for queue in _wanted_queues(brokers, self._wanted):
                span = brokers.offsets(queue, self._wanted.times_ms)
                span = span.within(self._wanted.queue_offsets.start, self._wanted.queue_offsets.end)
                if not span.is_empty:
                    parts.append(QueuePart(queue, span.start, span.end))
        return parts

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, QueuePart):
            return iter(())
        return _read(partition, self._live, self._schema, self._wanted, is_strict=False)


class LiveStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, options: dict[str, str], schema: StructType) -> None:
        self._schema = schema
        self._live = LiveOptions.read(options)
        self._wanted = wanted_by_options(options)
        self._is_strict = fails_on_damage(options)
        self._is_latest = (options.get("starting") or "earliest").lower() == "latest"
        self._limit = _limit(options)
        self._target: Offsets | None = None

    def _ends(self) -> dict[str, tuple[LiveQueue, Span]]:
        with Brokers(self._live) as brokers:
            queues = _wanted_queues(brokers, self._wanted)
            return {queue.key: (queue, brokers.offsets(queue, Span())) for queue in queues}

    def initialOffset(self) -> Offsets:
        return {key: span.end if self._is_latest else span.start for key, (_, span) in self._ends().items()}

    def getDefaultReadLimit(self) -> ReadLimit:
        return self._limit

    def latestOffset(self, start: Offsets, limit: ReadLimit) -> Offsets:
        offsets = dict(start)
        ends = self._ends()
        waiting = {key: (start.get(key, span.start), span.end) for key, (_, span) in ends.items()}
        if self._target is not None:
            waiting = {key: (first, self._target.get(key, first)) for key, (first, _) in waiting.items()}
        waiting = {key: pair for key, pair in waiting.items() if pair[0] < pair[1]}
        for key, (first, end) in waiting.items():
            share = max(limit.max_rows // len(waiting), 1) if isinstance(limit, ReadMaxRows) else end - first
            offsets[key] = min(end, first + share)
        return offsets

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
        return _read(partition, self._live, self._schema, self._wanted, self._is_strict)


def _limit(options: Mapping[str, str]) -> ReadLimit:
    text = options.get("max_records_per_trigger")
    if not text:
        return ReadAllAvailable()
    if not text.isdigit() or not int(text):
        raise BadInput(f"max_records_per_trigger must be a number above 0, not {text}")
    return ReadMaxRows(int(text))
