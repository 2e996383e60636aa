"""What clients traced, one row per event: the bodies of RMQ_SYS_TRACE_TOPIC taken apart.

    trace messages (TRACE_COLUMNS)  ->  decoded (the columns of EVENTS)  ->  distinct_events

A trace about a batch names several messages: it becomes an event of each. A trace that was sent twice,
because its answer was lost, is one event. What a client did not say is null, never zero: a `SubAfter` of some
clients has neither time nor group. What cannot be read leaves a row of type UNREADABLE behind, so that a
report can say how much it did not see.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, IntegerType, LongType, StringType, StructField, StructType

from engine.errors import EngineError
from engine.protocol.compression import decompress
from engine.protocol.traces import (
    CONTEXT_END,
    ConsumeCode,
    EndTransactionTrace,
    PubTrace,
    RecallTrace,
    SubAfterTrace,
    SubBeforeTrace,
    Trace,
    decode_traces,
)

__all__ = ["EVENTS", "TRACE_COLUMNS", "UNREADABLE", "decoded", "distinct_events"]

TRACE_COLUMNS = ("cluster", "born_host", "sys_flag", "body")
"""What is needed of a trace message."""
UNREADABLE = "unreadable"

_TEXT, _LONG, _INT, _BOOL = StringType(), LongType(), IntegerType(), BooleanType()
EVENTS = StructType(
    [
        StructField("cluster", _TEXT, False),
        StructField("client", _TEXT),
        StructField("type", _TEXT, False),
        StructField("msg_id", _TEXT),
        StructField("at_ms", _LONG),
        StructField("group", _TEXT),
        StructField("topic", _TEXT),
        StructField("is_success", _BOOL),
        StructField("cost_ms", _LONG),
        StructField("code", _TEXT),
        StructField("request_id", _TEXT),
        StructField("retry_times", _INT),
        StructField("transaction_state", _TEXT),
    ]
)
"""`client` is the address without its port; `type` is Pub, SubBefore, SubAfter, EndTransaction or Recall."""

_ARROW_TYPES = {"string": pa.string(), "bigint": pa.int64(), "int": pa.int32(), "boolean": pa.bool_()}
_ARROW = pa.schema([(field.name, _ARROW_TYPES[field.dataType.simpleString()]) for field in EVENTS])


def decoded(traces: DataFrame) -> DataFrame:
    """One row per event and message, in no order; what was traced twice is there twice."""
    return traces.select(*TRACE_COLUMNS).mapInArrow(_decode_batches, EVENTS)


def distinct_events(events: DataFrame) -> DataFrame:
    """Each readable event once. Which client wrote it down does not make it another event."""
    same = [name for name in EVENTS.fieldNames() if name != "client"]
    once = events.where(F.col("type") != UNREADABLE).groupBy(*same).agg(F.min("client").alias("client"))
    return once.select(*EVENTS.fieldNames())


def _decode_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        rows = [row for message in batch.to_pylist() for row in _rows_of(message)]
        yield pa.RecordBatch.from_pylist(rows, schema=_ARROW)


def _rows_of(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    where = {"cluster": message["cluster"], "client": message["born_host"].rpartition(":")[0]}
    try:
        body = decompress(message["body"], message["sys_flag"])
    except EngineError:
        yield {**where, "type": UNREADABLE}
        return
    traces = decode_traces(body)
    contexts = sum(1 for part in body.split(CONTEXT_END.encode()) if part)
    for _ in range(contexts - len(traces)):
        yield {**where, "type": UNREADABLE}
    for trace in traces:
        said = _said(trace)
        for msg_id in filter(None, trace.msg_id.split(",")):
            yield {**where, "type": trace.name, "msg_id": msg_id, **said}


def _said(trace: Trace) -> dict[str, Any]:
    """The fields that this kind of trace has; empty texts and zero times are what was left out."""
    ended: dict[str, Any]
    at_ms = trace.timestamp or None
    group = trace.group or None
    match trace:
        case PubTrace():
            ended = {"is_success": trace.is_success, "cost_ms": trace.cost_ms}
            return {"at_ms": at_ms, "group": group, "topic": trace.topic or None, **ended}
        case SubBeforeTrace():
            which = {"request_id": trace.request_id, "retry_times": trace.retry_times}
            return {"at_ms": at_ms, "group": group, **which}
        case SubAfterTrace():
            ended = {
                "is_success": trace.is_success,
                "cost_ms": trace.cost_ms,
                "code": _code(trace.context_code),
            }
            return {"at_ms": at_ms, "group": group, "request_id": trace.request_id, **ended}
        case EndTransactionTrace():
            state = {"transaction_state": trace.state or None}
            return {"at_ms": at_ms, "group": group, "topic": trace.topic or None, **state}
        case RecallTrace():
            return {
                "at_ms": at_ms,
                "group": group,
                "topic": trace.topic or None,
                "is_success": trace.is_success,
            }


def _code(number: int) -> str:
    try:
        return ConsumeCode(number).name
    except ValueError:
        return str(number)
