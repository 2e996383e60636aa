"""queryMsgTraceById: what happened to one message, as far as its clients traced it."""

from __future__ import annotations

from engine.admin.arguments import shown_time, time_options
from engine.admin.commands import Arguments, Option, command
from engine.admin.results import Result, Row, Table
from engine.client import Admin
from engine.client.tracing.trace_reader import Consumption, MessageTrace, TraceReader
from engine.protocol.names import TRACE_TOPIC

_COLUMNS = ("What", "Group", "At", "Cost ms", "Status", "Details")


@command(
    "queryMsgTraceById",
    "What happened to a message, as far as its clients traced it",
    Option("i", "msgId", "message id", "MESSAGE_ID", required=True),
    Option("t", "traceTopic", f"trace topic ({TRACE_TOPIC})", "TOPIC", default=TRACE_TOPIC),
    *time_options(),
)
async def query_msg_trace_by_id(admin: Admin, arguments: Arguments) -> Result:
    reader = TraceReader(admin.messages, arguments.traceTopic)
    trace = await reader.read(arguments.msgId, arguments.beginTimestamp, arguments.endTimestamp)
    return Table(_COLUMNS, trace_rows(trace), trace.doubts)


def trace_rows(trace: MessageTrace) -> list[Row]:
    """What is not traced is a dash."""
    rows: list[Row] = [
        ("sent", one.group, shown_time(one.timestamp), one.cost_ms, _status(one.is_success), one.store_host)
        for one in trace.sends
    ]
    rows += [
        ("transaction", one.group, shown_time(one.timestamp), None, one.state, _origin(one.is_from_check))
        for one in trace.transactions
    ]
    rows += [
        ("recalled", one.group, shown_time(one.timestamp), None, _status(one.is_success), None)
        for one in trace.recalls
    ]
    return rows + [_consumption_row(one) for one in trace.consumptions]


def _consumption_row(one: Consumption) -> Row:
    retries = None if one.retry_times is None else f"retry {one.retry_times}"
    at = shown_time(one.began_ms or one.ended_ms or 0)
    return ("consumed", one.group, at, one.cost_ms, _status(one.is_success), retries)


def _status(is_success: bool | None) -> str | None:
    return None if is_success is None else "success" if is_success else "failed"


def _origin(is_from_check: bool) -> str:
    return "check by the broker" if is_from_check else "sent by the producer"
