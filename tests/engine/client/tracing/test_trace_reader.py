"""Traces of one message joined, and what they leave open."""

from __future__ import annotations

import pytest

from engine.client.tracing.trace_reader import (
    NO_CONSUMPTION,
    NO_SEND,
    UNSEEN_GROUPS,
    Consumption,
    join_traces,
)
from engine.protocol.traces import (
    EndTransactionTrace,
    PubTrace,
    RecallTrace,
    SubAfterTrace,
    SubBeforeTrace,
    Trace,
)

PUB = PubTrace(100, "R", "shop", "orders", "ID1")
BEFORE = SubBeforeTrace(200, "R", "billing", "REQ", "ID1", 1)
AFTER = SubAfterTrace("REQ", "ID1", 17, True, "", 0, 217, "billing")


def test_a_call_is_its_beginning_and_its_end() -> None:
    trace = join_traces("ID1", [AFTER, BEFORE, PUB])
    assert trace.sends == (PUB,)
    assert trace.consumptions == (Consumption("REQ", "billing", 200, 217, 1, True, 17, 0),)
    assert trace.doubts == (UNSEEN_GROUPS,)


def test_retries_are_calls_of_their_own_in_the_order_of_time() -> None:
    again = SubBeforeTrace(500, "R", "billing", "REQ2", "ID1", 2)
    trace = join_traces("ID1", [again, BEFORE, AFTER, PUB])
    assert [call.retry_times for call in trace.consumptions] == [1, 2]
    assert "REQ2 of billing has no traced end" in trace.doubts[0]


@pytest.mark.parametrize(
    ("traces", "doubt"),
    [
        ([BEFORE, AFTER], NO_SEND),
        ([PUB], NO_CONSUMPTION),
        ([PUB, BEFORE], "no traced end"),
        ([PUB, AFTER], "no traced beginning"),
    ],
)
def test_what_is_not_traced_is_said(traces: list[Trace], doubt: str) -> None:
    assert any(doubt in text for text in join_traces("ID1", traces).doubts)


def test_what_is_not_known_is_none_and_never_zero() -> None:
    (cloud,) = join_traces("ID1", [SubAfterTrace("REQ", "ID1", 17, True)]).consumptions
    assert (cloud.group, cloud.began_ms, cloud.ended_ms, cloud.retry_times) == (None, None, None, None)
    (begun,) = join_traces("ID1", [BEFORE]).consumptions
    assert (begun.ended_ms, begun.is_success, begun.cost_ms) == (None, None, None)


def test_traces_of_other_messages_and_copies_do_not_count() -> None:
    other = PubTrace(100, "R", "shop", "orders", "ID10")
    batch = PubTrace(101, "R", "shop", "orders", "ID0,ID1")
    assert join_traces("ID1", [PUB, PUB, other, batch]).sends == (PUB, batch)


def test_transactions_and_recalls_are_told() -> None:
    end = EndTransactionTrace(150, "R", "shop", "orders", "ID1", state="COMMIT_MESSAGE")
    recall = RecallTrace(160, "R", "shop", "orders", "ID1", True)
    trace = join_traces("ID1", [recall, end])
    assert (trace.transactions, trace.recalls) == ((end,), (recall,))


def test_a_cut_search_is_said() -> None:
    assert any("there may be more" in doubt for doubt in join_traces("ID1", [PUB], is_cut=True).doubts)
