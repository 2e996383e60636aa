"""Traces on the command line, of a message that a tracing producer sent to a real broker."""

from __future__ import annotations

import asyncio
import json
import time

import pytest

from engine.admin.main import main
from engine.admin.traces import trace_rows
from engine.client import Message, Producer, ProducerOptions
from engine.client.tracing.trace_reader import join_traces
from engine.protocol.traces import EndTransactionTrace, RecallTrace, SubBeforeTrace
from tests.engine.client.conftest import cluster, fresh, namesrv

__all__ = ["cluster", "fresh", "namesrv"]


def test_a_trace_is_shown_with_its_doubts(namesrv, fresh, capsys):
    async def send() -> str:
        options = ProducerOptions(trace=True)
        async with Producer("tracing-cli", namesrv=namesrv, options=options) as producer:
            return (await producer.send(Message(fresh("traced"), b"x"))).msg_id

    msg_id = asyncio.run(send())
    deadline = time.monotonic() + 10
    while (status := main(["queryMsgTraceById", "-n", namesrv, "-i", msg_id])) != 0:
        assert time.monotonic() < deadline
    out = capsys.readouterr().out
    assert status == 0
    assert "tracing-cli" in out
    assert "no consumption is traced" in out
    main(["queryMsgTraceById", "-n", namesrv, "-i", msg_id, "--json"])
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["what"], row["group"], row["status"]) == ("sent", "tracing-cli", "success")


def test_a_message_without_traces_is_an_error(namesrv, capsys):
    assert main(["queryMsgTraceById", "-n", namesrv, "-i", "7F00"]) == 1
    assert "nothing is traced about 7F00" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("trace", "row"),
    [
        (SubBeforeTrace(1, "R", "billing", "REQ", "ID", 2), ("consumed", "billing", None, None, "retry 2")),
        (
            EndTransactionTrace(1, "R", "shop", "t", "ID", state="COMMIT_MESSAGE", is_from_check=True),
            ("transaction", "shop", None, "COMMIT_MESSAGE", "asked by the broker"),
        ),
        (RecallTrace(1, "R", "shop", "t", "ID", False), ("recalled", "shop", None, "failed", None)),
    ],
)
def test_what_is_not_known_is_left_open(trace, row):
    ((what, group, _, cost_ms, status, details),) = trace_rows(join_traces("ID", [trace]))
    assert (what, group, cost_ms, status, details) == row
