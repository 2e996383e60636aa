"""`spark.read.format("live").option("name_servers", "host:port")`: messages asked of running brokers.

The columns are those of `commitlog`; `store` is the broker's address. The same format streams
(`spark.readStream`, see `live_stream`). Options:

    name_servers                  host:port, several joined by ;
    topics                        a comma list; without it, every topic that is not the system's own
    columns, from, to             as for `commitlog`
    access_key, secret_key, tls   how brokers are asked
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    Filter,
    InputPartition,
)
from pyspark.sql.types import StructType

from engine.client.consuming.pull_requests import PullStatus
from engine.errors import CorruptRecord
from engine.protocol._places_cy import SPAN_NUMBERS, SPAN_POS, measure_records
from engine.protocol.record_layout import QUEUE_OFFSET_AT, SMALLEST_RECORD
from spark.schemas import chosen_columns, kind_of, message_schema
from spark.sources.decoding import Decoder
from spark.sources.live_queues import Brokers, LiveOptions, LiveQueue
from spark.sources.wanted import Wanted, narrow, wanted_by_options

__all__ = ["LiveSource", "QueuePart", "read_part", "wanted_queues"]

_TRIES = 50
_PAUSE_S = 0.2


class LiveSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "live"

    def schema(self) -> StructType:
        return message_schema(chosen_columns(self.options.get("columns")))

    def reader(self, schema: StructType) -> LiveReader:
        return LiveReader(dict(self.options), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        from spark.sources.live_stream import LiveStreamReader

        return LiveStreamReader(dict(self.options), schema)


@dataclass(frozen=True)
class QueuePart(InputPartition):
    """[start, end) of one queue."""

    queue: LiveQueue
    start: int
    end: int


def wanted_queues(brokers: Brokers, wanted: Wanted) -> list[LiveQueue]:
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


def read_part(
    part: QueuePart, live: LiveOptions, schema: StructType, wanted: Wanted, is_strict: bool
) -> Iterator[pa.RecordBatch]:
    """All of the part or an error: what was planned was there, so a broker that does not have it has lost it,
    or is a slave (masters send readers of old messages there) that has yet to get it."""
    queue = part.queue
    decoder = Decoder(schema, (queue.cluster, queue.broker, queue.address), wanted)
    offset, tries = part.start, 0
    with Brokers(live) as brokers:
        while offset < part.end:
            found = brokers.pull(queue, offset, part.end - offset)
            if found.next_offset <= offset:
                tries += 1
                _check_patience(queue, offset, part.end, tries, found.status)
                continue
            if found.status is PullStatus.FOUND:
                batch = _batch(decoder, found.records, found.offset_delta, part.end)
                if batch is not None:
                    yield batch
            elif is_strict and found.status is PullStatus.OFFSET_ILLEGAL:
                raise CorruptRecord(
                    f"messages {offset} to {found.next_offset} of {queue.key} expired before they were read "
                    "(damage=skip goes on)"
                )
            offset, tries = found.next_offset, 0


def _check_patience(queue: LiveQueue, offset: int, end: int, tries: int, status: PullStatus) -> None:
    if status is PullStatus.OFFSET_ILLEGAL or tries > _TRIES:
        raise CorruptRecord(
            f"messages {offset} to {end} of {queue.key} are not there: its broker does not have them any more"
        )
    time.sleep(_PAUSE_S)


def _batch(decoder: Decoder, records: bytes, offset_delta: int, end: int) -> pa.RecordBatch | None:
    """Of the messages before `end`: an answer may hold more than was asked for."""
    data = bytearray(records)
    spans, pos, _ = measure_records(data, 0, len(data), True, len(data) // SMALLEST_RECORD + 1)
    if pos < len(data):
        raise CorruptRecord(f"a broker answered with {len(data)} bytes that are no records from {pos} on")
    count = len(spans) // SPAN_NUMBERS
    for number in range(count):
        at = spans[number * SPAN_NUMBERS + SPAN_POS] + QUEUE_OFFSET_AT
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
            for queue in wanted_queues(brokers, self._wanted):
                span = brokers.offsets(queue, self._wanted.times_ms)
                span = span.within(self._wanted.queue_offsets.start, self._wanted.queue_offsets.end)
                if not span.is_empty:
                    parts.append(QueuePart(queue, span.start, span.end))
        return parts

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, QueuePart):
            return iter(())
        return read_part(partition, self._live, self._schema, self._wanted, is_strict=False)
