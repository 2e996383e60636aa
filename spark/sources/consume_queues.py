"""The entries of consume queues as a DataFrame: what brokers noted of where messages lie, to be checked.

    entries(session, stores)   the columns of `spark.transforms.queue_entries.ENTRIES`

Files are listed on the driver and read in the workers, one after another, in slices: memory does not grow
with the queues. Blanks before a queue's first entry and the zeros behind its last are not entries.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from engine.protocol.layouts.store_files import CQ_UNIT_SIZE
from spark.sources.files import File, inside, listed
from spark.sources.queue_units import BLANK_SIZE, UNITS
from spark.sources.segments import find_segments
from spark.sources.stores import Store

__all__ = ["entries"]

_SLICE_UNITS = 1 << 16
_WHERE = ("cluster", "broker", "store", "topic", "queue_id")
_TEXT, _INT, _LONG = StringType(), IntegerType(), LongType()
_FILES = StructType(
    [StructField(name, _TEXT, False) for name in ("cluster", "broker", "store", "topic")]
    + [StructField("queue_id", _INT, False), StructField("place", _TEXT, False)]
    + [StructField("base_offset", _LONG, False)]
)
_ENTRIES = StructType(
    [field for field in _FILES if field.name in _WHERE]
    + [StructField("queue_offset", _LONG, False), StructField("commit_log_offset", _LONG, False)]
    + [StructField("size", _INT, False), StructField("tags_code", _LONG, False)]
)
_ARROW_TYPES = {"string": pa.string(), "int": pa.int32(), "bigint": pa.int64()}
_ARROW = pa.schema([(field.name, _ARROW_TYPES[field.dataType.simpleString()]) for field in _ENTRIES])


def entries(session: SparkSession, stores: Sequence[Store]) -> DataFrame:
    files = [row for store in stores for row in _queue_files(store)]
    frame = session.createDataFrame([tuple(row.values()) for row in files], _FILES)
    # By file: a hundred thousand queues of one entry each must not be as many tasks.
    many = max(1, min(len(files), 4 * session.sparkContext.defaultParallelism))
    return frame.repartition(many).mapInArrow(_read_files, _ENTRIES)


def _queue_files(store: Store) -> Iterator[dict[str, Any]]:
    root = inside(store.place, "consumequeue")
    for topic, found in sorted((listed(root) or {}).items()):
        if not found.is_folder:
            continue
        queues = listed(inside(root, topic)) or {}
        for queue in sorted(name for name, entry in queues.items() if entry.is_folder and name.isdigit()):
            folder = inside(root, topic, queue)
            for file in find_segments(folder, listed(folder) or {}):
                yield {
                    "cluster": store.cluster,
                    "broker": store.broker,
                    "store": store.place,
                    "topic": topic,
                    "queue_id": int(queue),
                    "place": file.place,
                    "base_offset": file.base_offset,
                }


def _read_files(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for row in batch.to_pylist():
            yield from _read_file(row)


def _read_file(row: dict[str, Any]) -> Iterator[pa.RecordBatch]:
    with File(row["place"]) as file:
        for at in range(0, file.size, _SLICE_UNITS * CQ_UNIT_SIZE):
            data = file.read(at, _SLICE_UNITS * CQ_UNIT_SIZE)
            units = np.frombuffer(data[: len(data) // CQ_UNIT_SIZE * CQ_UNIT_SIZE], UNITS)
            is_written = (units["size"] > 0) & (units["size"] != BLANK_SIZE)
            if not units["size"].any():
                return
            first = (row["base_offset"] + at) // CQ_UNIT_SIZE
            numbers = (first + np.arange(len(units), dtype="int64"))[is_written]
            yield _batch(row, numbers, units[is_written])


def _batch(row: dict[str, Any], numbers: Any, units: Any) -> pa.RecordBatch:
    where = [pa.repeat(pa.scalar(row[name], _ARROW.field(name).type), len(numbers)) for name in _WHERE]
    said = [
        units["offset"].astype("int64"),
        units["size"].astype("int32"),
        units["tags_code"].astype("int64"),
    ]
    return pa.RecordBatch.from_arrays([*where, pa.array(numbers), *map(pa.array, said)], schema=_ARROW)
