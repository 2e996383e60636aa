"""From spans of records to Arrow batches: only the columns that are wanted, most of them without a Python
object per message.

Topics get numbers as they appear; whether one is wanted, and what kind it is, is decided once for each. The
arrays are built on the bytes that `_columns_cy` and `_texts_cy` made, without another copy. One decoder
serves one task: it is not for several threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from engine.protocol import record_layout
from engine.protocol._places_cy import SPAN_BODY, SPAN_BODY_END, SPAN_END, SPAN_NUMBERS, SPAN_POS, SPAN_STORE
from engine.protocol.hosts import unpack_host
from spark.schemas import kind_of
from spark.sources._columns_cy import choose_records, number_column, size_column, time_column, topic_numbers
from spark.sources._texts_cy import Texts, named_column, pairs_column, part_column, property_columns
from spark.sources.wanted import Span, Wanted

__all__ = ["Decoder", "Owner"]

UNWANTED, IMPOSSIBLE = -1, -2
_HOSTS_KEPT = 1 << 16
Owner = tuple[str, str, str]
"""Cluster, broker, store."""
Bytes = memoryview


class Topics(dict[bytes, int]):
    """Numbers of topics, as `choose_records` asks for them."""

    def __init__(self, is_wanted: Callable[[str], bool]) -> None:
        self._is_wanted = is_wanted
        self.names: list[str] = []

    def __missing__(self, raw: bytes) -> int:
        self[raw] = self._number(raw)
        return self[raw]

    def _number(self, raw: bytes) -> int:
        try:
            name = raw.decode()
        except UnicodeDecodeError:
            return IMPOSSIBLE
        if not self._is_wanted(name):
            return UNWANTED
        self.names.append(name)
        return len(self.names) - 1


class Hosts(dict[bytes, bytes]):
    """Texts of packed addresses. Producers come and go, so the table is emptied when it has grown large."""

    def __missing__(self, packed: bytes) -> bytes:
        if len(self) >= _HOSTS_KEPT:
            self.clear()
        host, port = unpack_host(packed)
        self[packed] = (f"[{host}]:{port}" if ":" in host else f"{host}:{port}").encode()
        return self[packed]


class Decoder:
    """`batch` makes one of the records of a chunk that are wanted."""

    def __init__(self, schema: StructType, owner: Owner, wanted: Wanted) -> None:
        self.schema = to_arrow_schema(schema, timezone="UTC")
        self._owner = owner
        cluster, broker, _ = owner
        self._topics = Topics(lambda topic: wanted.wants_topic(topic, cluster, broker))
        self._times_ms: Span = wanted.times_ms
        self._hosts = Hosts()
        self._properties = [name for name in _PROPERTIES if name in self.schema.names]

    def batch(self, view: Bytes, spans: Bytes) -> tuple[pa.RecordBatch | None, int]:
        """The batch, None when no record is wanted; and how many were looked at: fewer than all when the
        next one's topic cannot be one."""
        times = self._times_ms
        spans, looked = choose_records(view, spans, self._topics, times.start, times.end)
        if not len(spans):
            return None, looked
        found = property_columns(view, spans, [_PROPERTIES[name] for name in self._properties])
        properties = dict(zip(self._properties, found, strict=True))
        columns = [self._column(field, view, spans, properties) for field in self.schema]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema), looked

    def _column(
        self, field: pa.Field, view: Bytes, spans: Bytes, properties: dict[str, tuple[bytearray, Texts]]
    ) -> pa.Array:
        count = len(spans) // SPAN_NUMBERS
        if field.name in _NUMBERS:
            part, delta, size = _NUMBERS[field.name]
            return _array(field.type, count, number_column(view, spans, part, delta, size))
        if field.name in _TIMES:
            return _array(field.type, count, time_column(view, spans, *_TIMES[field.name]))
        if field.name in _PROPERTIES:
            valid, texts = properties[field.name]
            return _texts(field.type, count, texts, valid)
        if field.name in _HOSTS:
            return _texts(field.type, count, named_column(view, spans, *_HOSTS[field.name], self._hosts))
        return _OTHERS[field.name](self, field.type, count, view, spans)

    def _owner_column(self, number: int, kind: Any, count: int) -> pa.Array:
        return pa.repeat(pa.scalar(self._owner[number], kind), count)

    def _topic_column(self, texts: list[str], kind: Any, count: int, spans: Bytes) -> pa.Array:
        numbers = _array(pa.int32(), count, topic_numbers(spans))
        return pa.array(texts, kind).take(numbers)

    def _kinds(self) -> list[str]:
        cluster, broker, _ = self._owner
        return [kind_of(topic, cluster, broker) for topic in self._topics.names]


_NUMBERS = {
    "queue_id": (SPAN_POS, record_layout.QUEUE_ID_AT, 4),
    "flag": (SPAN_POS, record_layout.FLAG_AT, 4),
    "queue_offset": (SPAN_POS, record_layout.QUEUE_OFFSET_AT, 8),
    "commit_log_offset": (SPAN_POS, record_layout.COMMIT_LOG_OFFSET_AT, 8),
    "body_crc": (SPAN_POS, record_layout.BODY_CRC_AT, 4),
    "sys_flag": (SPAN_POS, record_layout.SYS_FLAG_AT, 4),
    "reconsume_times": (SPAN_BODY, -record_layout.RECONSUME_TIMES_BEFORE_BODY, 4),
    "prepared_transaction_offset": (SPAN_BODY, -record_layout.PREPARED_OFFSET_BEFORE_BODY, 8),
    "body_size": (SPAN_BODY, -record_layout.BODY_SIZE_BEFORE_BODY, 4),
}
"""Behind which part of a record a number lies, how far, and how many bytes it has."""
_TIMES = {"born_time": (SPAN_POS, record_layout.BORN_TIMESTAMP_AT), "store_time": (SPAN_STORE, 0)}
_HOSTS = {
    "born_host": (SPAN_POS, record_layout.BORN_HOST_AT, SPAN_STORE, 0),
    "store_host": (
        SPAN_STORE,
        record_layout.STORE_HOST_AFTER_TIMESTAMP,
        SPAN_BODY,
        -record_layout.RECONSUME_TIMES_BEFORE_BODY,
    ),
}
_PROPERTIES = {"tags": b"TAGS", "keys": b"KEYS", "unique_key": b"UNIQ_KEY"}
_OTHERS: dict[str, Callable[[Decoder, Any, int, Bytes, Bytes], pa.Array]] = {
    "cluster": lambda decoder, kind, count, view, spans: decoder._owner_column(0, kind, count),
    "broker": lambda decoder, kind, count, view, spans: decoder._owner_column(1, kind, count),
    "store": lambda decoder, kind, count, view, spans: decoder._owner_column(2, kind, count),
    "kind": lambda decoder, kind, count, view, spans: decoder._topic_column(
        decoder._kinds(), kind, count, spans
    ),
    "topic": lambda decoder, kind, count, view, spans: decoder._topic_column(
        decoder._topics.names, kind, count, spans
    ),
    "size": lambda decoder, kind, count, view, spans: _array(
        kind, count, size_column(spans, SPAN_POS, SPAN_END)
    ),
    "body": lambda decoder, kind, count, view, spans: _texts(
        kind, count, part_column(view, spans, SPAN_BODY, SPAN_BODY_END)
    ),
    "properties": lambda decoder, kind, count, view, spans: _pairs(kind, count, pairs_column(view, spans)),
}


def _array(kind: Any, count: int, data: bytearray) -> pa.Array:
    return pa.Array.from_buffers(kind, count, [None, pa.py_buffer(data)])


def _texts(kind: Any, count: int, texts: Texts, valid: bytearray | None = None) -> pa.Array:
    offsets, data = texts
    validity = None if valid is None else pa.py_buffer(valid)
    return pa.Array.from_buffers(kind, count, [validity, pa.py_buffer(offsets), pa.py_buffer(data)])


def _pairs(kind: Any, count: int, pairs: tuple[bytearray, Texts, Texts]) -> pa.Array:
    offsets, names, values = pairs
    pair_count = len(names[0]) // 4 - 1
    children = [_texts(kind.key_type, pair_count, names), _texts(kind.item_type, pair_count, values)]
    fields = [kind.key_field, kind.item_field]
    entries = pa.StructArray.from_arrays(children, fields=fields)
    return pa.Array.from_buffers(kind, count, [None, pa.py_buffer(offsets)], children=[entries])
