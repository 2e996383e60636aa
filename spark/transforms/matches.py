"""Which messages somebody is looking for, by the same rules as the console's own searches.

    matching   the messages that have everything that is wanted
    hits       where they lie, in the shape of the console's results, the oldest first

`key` is one of the message's keys or its id; `tag` is the tag; a property is there, or there with a value;
`sql` is SQL92 over the properties; `body` is text that the body holds once it is decompressed. A body that
cannot be decompressed holds nothing. What needs Python is asked last, of what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from engine.errors import EngineError
from engine.protocol.compression import decompress
from engine.protocol.message_ids import offset_msg_id, parse_offset_msg_id
from engine.protocol.properties import Property
from engine.protocol.sql92 import sql_filter
from engine.protocol.sys_flags import COMPRESSED

__all__ = ["BODY_LIMIT_BYTES", "MATCH_COLUMNS", "Wanted", "hits", "matching", "plain_sizes"]

BODY_LIMIT_BYTES = 16 * 1024 * 1024
"""As the console: no body is decompressed beyond this."""
MATCH_COLUMNS = (
    "cluster",
    "broker",
    "store",
    "topic",
    "queue_id",
    "queue_offset",
    "commit_log_offset",
    "tags",
    "keys",
    "unique_key",
    "store_time",
    "store_host",
    "sys_flag",
    "body_size",
    "properties",
)
"""What is needed of a record; `body` too where its text is looked for."""

_Test = Callable[[dict[str, Any]], bool]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a message must have. None: does not matter."""

    topics: tuple[str, ...]
    key: str | None = None
    tag: str | None = None
    property_name: str | None = None
    property_value: str | None = None
    sql: str | None = None
    body: str | None = None


def matching(log: DataFrame, wanted: Wanted) -> DataFrame:
    rows = log.where(F.col("topic").isin(*wanted.topics))
    for condition in _conditions(wanted):
        rows = rows.where(condition)
    test = _test_of(wanted)
    return rows if test is None else rows.mapInArrow(_sieve(test), rows.schema)


def hits(matching: DataFrame, *, most: int) -> DataFrame:
    """Not more than `most`, the oldest first. `body_size` is that of the plain body, null where it is
    compressed: `plain_sizes` tells it."""
    is_compressed = F.col("sys_flag").bitwiseAND(COMPRESSED) != 0
    first = matching.orderBy("store_time", "broker", "topic", "queue_id", "queue_offset").limit(most)
    # The id needs Python, and there are few of them by now.
    offset_id = F.udf(_offset_id, "string", useArrow=False)("store_host", "commit_log_offset")
    rows = first.withColumn("offset_id", offset_id)
    return rows.select(
        "cluster",
        "topic",
        "broker",
        "queue_id",
        "queue_offset",
        "offset_id",
        F.coalesce("unique_key", "offset_id").alias("msg_id"),
        "store_time",
        F.when(~is_compressed, F.col("body_size")).alias("body_size"),
        _origin_topic().alias("origin_topic"),
        "store",
        "commit_log_offset",
    )


def plain_sizes(log: DataFrame) -> DataFrame:
    """How large compressed bodies are: store, commit_log_offset, plain_bytes (0 when it cannot be read)."""
    columns = ("store", "commit_log_offset", "sys_flag", "body")
    return log.select(*columns).mapInArrow(
        _measure, "store string, commit_log_offset bigint, plain_bytes int"
    )


def _conditions(wanted: Wanted) -> list[Column]:
    found: list[Column] = []
    if wanted.tag is not None:
        found.append(F.col("tags") == wanted.tag)
    if wanted.key is not None:
        words = F.split(F.coalesce("keys", F.lit("")), r"\s+")
        found.append(F.array_contains(words, wanted.key) | _has_id(wanted.key))
    if wanted.property_name is not None:
        value = F.col("properties")[wanted.property_name]
        found.append(value.isNotNull() if wanted.property_value is None else value == wanted.property_value)
    return found


def _has_id(msg_id: str) -> Column:
    """A message that its producer gave no id is known by where it lies."""
    is_unique_key = F.coalesce(F.col("unique_key") == msg_id, F.lit(False))
    try:
        (address, port), commit_log_offset = parse_offset_msg_id(msg_id)
    except EngineError:
        return is_unique_key
    host = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
    lies_there = (F.col("commit_log_offset") == commit_log_offset) & (F.col("store_host") == host)
    return is_unique_key | (F.col("unique_key").isNull() & lies_there)


def _test_of(wanted: Wanted) -> _Test | None:
    """What Spark has no words for; None when nothing of it is asked."""
    sql, text = wanted.sql, None if wanted.body is None else wanted.body.encode()
    if sql is None and text is None:
        return None

    def test(row: dict[str, Any]) -> bool:
        if sql is not None and not sql_filter(sql).wants(dict(row["properties"])):
            return False
        return text is None or text in (_plain(row["body"], row["sys_flag"]) or b"")

    return test


def _sieve(test: _Test) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def sieve(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            looked_at = batch.select(
                [name for name in ("properties", "body", "sys_flag") if name in batch.schema.names]
            )
            yield batch.filter(pa.array([test(row) for row in looked_at.to_pylist()], pa.bool_()))

    return sieve


def _measure(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        sizes = [len(_plain(row["body"], row["sys_flag"]) or b"") for row in batch.to_pylist()]
        columns = [batch["store"], batch["commit_log_offset"], pa.array(sizes, pa.int32())]
        yield pa.RecordBatch.from_arrays(columns, names=["store", "commit_log_offset", "plain_bytes"])


def _plain(body: bytes, sys_flag: int) -> bytes | None:
    try:
        return decompress(body, sys_flag, BODY_LIMIT_BYTES)
    except EngineError:
        return None


def _offset_id(store_host: str, commit_log_offset: int) -> str:
    address, _, port = store_host.rpartition(":")
    return offset_msg_id((address.strip("[]"), int(port)), commit_log_offset)


def _origin_topic() -> Column:
    """The topic that it was sent to first, as far as its properties say; its masks hold for a copy too."""
    properties, topic = F.col("properties"), F.col("topic")
    is_given_back = topic.startswith("%RETRY%") | topic.startswith("%DLQ%")
    given_back = F.coalesce(properties[Property.DLQ_ORIGIN_TOPIC], properties[Property.RETRY_TOPIC], topic)
    parked = F.coalesce(properties[Property.REAL_TOPIC], topic)
    return F.when(is_given_back, given_back).otherwise(parked)
