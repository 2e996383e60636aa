"""The traces that clients write, both ways, with bytes as Apache's clients write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.protocol.traces import (
    EndTransactionTrace,
    PubTrace,
    RecallTrace,
    SubAfterTrace,
    SubBeforeTrace,
    Trace,
    decode_traces,
    encode_trace,
    trace_keys,
)

PUB = PubTrace(
    1_700_000_000_123, "DefaultRegion", "shop", "orders", "ID1", "paid", "k1 k2", "10.0.0.1:10911", 128, 4, 0,
    "7F00", True,
)  # fmt: skip
SUB_BEFORE = SubBeforeTrace(1_700_000_000_200, "DefaultRegion", "billing", "REQ", "ID1", 2, "k1 k2")
SUB_AFTER = SubAfterTrace("REQ", "ID1", 17, False, "k1 k2", 4, 1_700_000_000_217, "billing")
END = EndTransactionTrace(
    1_700_000_000_300, "DefaultRegion", "shop", "orders", "ID1", "paid", "k1", "10.0.0.1:10911", 2, "ID1",
    "COMMIT_MESSAGE", False,
)  # fmt: skip
RECALL = RecallTrace(1_700_000_000_400, "DefaultRegion", "shop", "orders", "ID1", True)

GOLDEN: list[tuple[Trace, str]] = [
    (
        PUB,
        "Pub|1700000000123|DefaultRegion|shop|orders|ID1|paid|k1 k2|10.0.0.1:10911|128|4|0|7F00|true",
    ),
    (SUB_BEFORE, "SubBefore|1700000000200|DefaultRegion|billing|REQ|ID1|2|k1 k2"),
    (SUB_AFTER, "SubAfter|REQ|ID1|17|false|k1 k2|4|1700000000217|billing"),
    (
        END,
        "EndTransaction|1700000000300|DefaultRegion|shop|orders|ID1|paid|k1|10.0.0.1:10911|2|ID1"
        "|COMMIT_MESSAGE|false",
    ),
    (RECALL, "Recall|1700000000400|DefaultRegion|shop|orders|ID1|true"),
]


def wire(text: str) -> str:
    return text.replace("|", "\x01") + "\x02"


@pytest.mark.parametrize(("trace", "text"), GOLDEN)
def test_a_trace_is_written_and_read_as_rocketmq_does(trace: Trace, text: str) -> None:
    assert encode_trace(trace) == wire(text)
    assert decode_traces(wire(text).encode()) == [trace]


def test_contexts_follow_each_other() -> None:
    body = "".join(encode_trace(trace) for trace, _ in GOLDEN).encode()
    assert decode_traces(body) == [trace for trace, _ in GOLDEN]


def test_older_and_newer_clients_write_fewer_or_more_fields() -> None:
    short = wire("Pub|1|R|g|t|ID|null|null|h:1|5|4|0|true")
    (old,) = decode_traces(short.encode())
    assert isinstance(old, PubTrace)
    assert (old.offset_msg_id, old.is_success, old.tags) == ("", True, "")
    (cloud,) = decode_traces(wire("SubAfter|REQ|ID|17|true|k|0|").encode())
    assert cloud == SubAfterTrace("REQ", "ID", 17, True, "k", 0)
    (oldest,) = decode_traces(wire("SubAfter|REQ|ID|17|true|k").encode())
    assert oldest == SubAfterTrace("REQ", "ID", 17, True, "k")


def test_a_field_more_than_we_know_does_no_harm() -> None:
    (pub,) = decode_traces((wire("Pub|1|R|g|t|ID|a|k|h:1|5|4|0|OFF|true|10.0.0.9")).encode())
    assert isinstance(pub, PubTrace)
    assert pub.offset_msg_id == "OFF"


def test_what_cannot_be_read_is_passed_over() -> None:
    body = b"\xff\xfe\x02" + b"Pub\x01soon\x02" + b"Unheard\x011\x02" + encode_trace(SUB_BEFORE).encode()
    assert decode_traces(body) == [SUB_BEFORE]
    assert decode_traces(wire("SubBefore|x|R|g|REQ|ID|0|k").encode()) == []
    assert decode_traces(b"") == []


def test_a_separator_in_a_value_forges_nothing() -> None:
    forged = RecallTrace(1, "R", "g\x01x", "t\x02Pub", "ID", True)
    (read,) = decode_traces(encode_trace(forged).encode())
    assert isinstance(read, RecallTrace)
    assert (read.group, read.topic, read.msg_id) == ("g x", "t Pub", "ID")


def test_a_trace_is_found_by_ids_and_keys() -> None:
    batch = PubTrace(1, "R", "g", "t", "ID1,ID2", keys="k1  k2")
    assert trace_keys([batch, SUB_BEFORE, RECALL]) == ["ID1", "ID2", "k1", "k2"]


@given(st.binary(max_size=200))
def test_any_bytes_are_read_without_an_error(body: bytes) -> None:
    decode_traces(body)
    decode_traces(b"Pub\x01" + body)
