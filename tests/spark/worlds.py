"""Messages made by hand: a row says what matters to a test, the rest is what most messages are like.

Times are milliseconds after T0, so that latencies can be worked out by looking.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from engine.protocol.names import TRACE_TOPIC
from engine.protocol.traces import Trace, encode_trace
from spark.schemas import COLUMNS, kind_of, message_schema
from spark.transforms.subscriptions import COMMITTED

T0 = datetime(2026, 11, 16, 10, tzinfo=UTC)
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


def at(ms: float) -> datetime:
    return T0 + timedelta(milliseconds=ms)


def ms(moment: datetime | None) -> int | None:
    """Milliseconds after T0."""
    return None if moment is None else round((moment - T0) / timedelta(milliseconds=1))


def message(topic: str, **fields: Any) -> dict[str, Any]:
    """A row with every column. `stored`, `born` in ms after T0; `id` is the unique key."""
    store_ms = fields.pop("stored", 0)
    born_ms = fields.pop("born", store_ms)
    unique_key = fields.pop("id", None)
    properties = dict(fields.pop("properties", {}))
    body = fields.pop("body", b"")
    row = {
        "cluster": "c1",
        "broker": "b1",
        "store": "/s/b1",
        "kind": kind_of(topic, "c1", "b1"),
        "topic": topic,
        "queue_id": 0,
        "queue_offset": 0,
        "commit_log_offset": 0,
        "size": 100,
        "flag": 0,
        "tags": None,
        "keys": None,
        "unique_key": unique_key,
        "born_time": at(born_ms),
        "born_host": "10.0.0.1:4711",
        "store_time": at(store_ms),
        "store_host": "10.0.0.9:10911",
        "sys_flag": 0,
        "reconsume_times": 0,
        "prepared_transaction_offset": 0,
        "body_size": len(body),
        "body_crc": 0,
        "properties": list(properties.items()),
        "body": body,
    }
    assert fields.keys() <= row.keys(), fields.keys() - row.keys()
    return {**row, **fields}


def trace_message(*traces: Trace, **fields: Any) -> dict[str, Any]:
    """A message of the trace topic with these traces, as a client writes it."""
    return message(TRACE_TOPIC, body="".join(map(encode_trace, traces)).encode(), **fields)


_ARROW = {
    "string": pa.string(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "binary": pa.binary(),
    "map<string,string>": pa.map_(pa.string(), pa.string()),
}


def frame(session: SparkSession, rows: Iterable[Mapping[str, Any]], schema: Any) -> DataFrame:
    fields = [(field.name, _ARROW[field.dataType.simpleString()]) for field in schema]
    table = pa.Table.from_pylist([dict(row) for row in rows], schema=pa.schema(fields))
    return session.createDataFrame(table, schema)


def log_of(
    session: SparkSession, rows: Iterable[Mapping[str, Any]], columns: Iterable[str] = COLUMNS
) -> DataFrame:
    wanted = tuple(columns)
    return frame(session, ({name: row[name] for name in wanted} for row in rows), message_schema(wanted))


def committed_of(session: SparkSession, offsets: Mapping[str, Mapping[int, int]], **where: str) -> DataFrame:
    """Offsets as a broker saves them: `topic@group`, then queue and offset."""
    place = {"cluster": "c1", "broker": "b1", "store": "/s/b1", **where}
    rows = [
        {
            **place,
            "topic": name.split("@")[0],
            "group": name.split("@")[1],
            "queue_id": queue,
            "committed": offset,
        }
        for name, queues in offsets.items()
        for queue, offset in queues.items()
    ]
    return frame(session, rows, COMMITTED)


def rows_of(table: DataFrame) -> list[dict[str, Any]]:
    """What it holds, as plain values; moments know their zone."""
    return table.toArrow().to_pylist()


def cached(name: str, table: DataFrame) -> DataFrame:
    """A `keep` that works a table out once."""
    return table.cache()
