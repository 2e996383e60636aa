"""What became of one message, as its clients traced it."""

from __future__ import annotations

from engine.admin.commands import Arguments, Option, Result, Table, command
from engine.admin.times import shown_time, timestamp
from engine.client.admin import Admin
from engine.client.tracing.trace_reader import Consumption, MessageTrace, TraceReader
from engine.protocol.names import TRACE_TOPIC

_FOREVER_MS = (1 << 63) - 1
_COLUMNS = ("What", "Group", "At", "Cost ms", "Status", "Details")


@command(
    "queryMsgTraceById",
    "What became of a message, as far as its clients traced it",
    Option("i", "msgId", "message id", "ID", required=True),
    Option("t", "traceTopic", f"trace topic ({TRACE_TOPIC})", "TOPIC", default=TRACE_TOPIC),
    Option("b", "beginTimestamp", "not older than this", "TIME", timestamp, 0),
    Option("e", "endTimestamp", "not newer than this", "TIME", timestamp, _FOREVER_MS),
    example="queryMsgTraceById -i 7F0000010000AA…",
)
async def query_msg_trace_by_id(admin: Admin, arguments: Arguments) -> Result:
    reader = TraceReader(admin.messages, arguments.traceTopic)
    trace = await reader.read(arguments.msgId, arguments.beginTimestamp, arguments.endTimestamp)
    return Table(_COLUMNS, trace_rows(trace), trace.doubts)


def trace_rows(trace: MessageTrace) -> list[tuple[object, ...]]:
    """What is not known is a dash."""
    rows: list[tuple[object, ...]] = [
        ("sent", one.group, shown_time(one.timestamp), one.cost_ms, _status(one.is_success), one.store_host)
        for one in trace.sends
    ]
    rows += [
        ("transaction", one.group, shown_time(one.timestamp), None, one.state, _asked(one.is_from_check))
        for one in trace.transactions
    ]
    rows += [
        ("recalled", one.group, shown_time(one.timestamp), None, _status(one.is_success), None)
        for one in trace.recalls
    ]
    return rows + [_call_row(call) for call in trace.consumptions]


def _call_row(call: Consumption) -> tuple[object, ...]:
    retries = None if call.retry_times is None else f"retry {call.retry_times}"
    return (
        "consumed",
        call.group,
        shown_time(call.began_ms or call.ended_ms or 0),
        call.cost_ms,
        _status(call.is_success),
        retries,
    )


def _status(is_success: bool | None) -> str | None:
    return None if is_success is None else "success" if is_success else "failed"


def _asked(is_from_check: bool) -> str:
    return "asked by the broker" if is_from_check else "told by the producer"
