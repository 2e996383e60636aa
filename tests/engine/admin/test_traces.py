"""Traces on the command line: what is not traced is left open."""

from __future__ import annotations

import pytest

from engine.admin.traces import trace_rows
from engine.client.tracing.trace_reader import NO_CONSUMPTION, join_traces
from engine.protocol.traces import EndTransactionTrace, RecallTrace, SubBeforeTrace
from tests.engine.admin.command_line import CommandLine, Names


def test_a_trace_is_shown_with_what_it_leaves_open(command_line: CommandLine, stage: Names) -> None:
    assert NO_CONSUMPTION in command_line.done(f"queryMsgTraceById -i {stage['message']}").splitlines()


@pytest.mark.parametrize(
    ("trace", "row"),
    [
        (SubBeforeTrace(1, "R", "billing", "REQ", "ID", 2), ("consumed", "billing", None, None, "retry 2")),
        (
            EndTransactionTrace(1, "R", "shop", "t", "ID", state="COMMIT_MESSAGE", is_from_check=True),
            ("transaction", "shop", None, "COMMIT_MESSAGE", "check by the broker"),
        ),
        (RecallTrace(1, "R", "shop", "t", "ID", False), ("recalled", "shop", None, "failed", None)),
    ],
)
def test_what_is_not_known_is_left_open(trace, row):
    ((what, group, _, cost_ms, status, details),) = trace_rows(join_traces("ID", [trace]))
    assert (what, group, cost_ms, status, details) == row
