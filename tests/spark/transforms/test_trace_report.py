"""The message trace on a handful of messages whose every figure is worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from engine.protocol.sys_flags import COMPRESSED
from engine.protocol.traces import (
    ConsumeCode,
    EndTransactionTrace,
    PubTrace,
    SubAfterTrace,
    SubBeforeTrace,
    Trace,
)
from spark.transforms.copies import COPY_COLUMNS
from spark.transforms.trace_events import TRACE_COLUMNS
from spark.transforms.trace_report import TraceReport, trace_report
from tests.spark.worlds import (
    HOUR_MS,
    T0,
    at,
    cached,
    committed_of,
    log_of,
    message,
    ms,
    rows_of,
    trace_message,
)

EPOCH_MS = int(T0.timestamp() * 1000)


def sent(msg_id: str, at_ms: int, *, topic: str = "orders", ok: bool = True, cost: int = 7) -> Trace:
    return PubTrace(EPOCH_MS + at_ms, "r", "shop", topic, msg_id, cost_ms=cost, is_success=ok)


def begun(msg_id: str, request: str, at_ms: int, *, group: str = "billing", retry: int = 0) -> Trace:
    return SubBeforeTrace(EPOCH_MS + at_ms, "r", group, request, msg_id, retry)


def ended(
    msg_id: str, request: str, at_ms: int, cost: int, *, ok: bool = True, group: str = "billing"
) -> Trace:
    code = ConsumeCode.SUCCESS if ok else ConsumeCode.EXCEPTION
    return SubAfterTrace(request, msg_id, cost, ok, "", code, EPOCH_MS + at_ms, group)


def order(msg_id: str, offset: int, born: int, stored: int, **fields: Any) -> dict[str, Any]:
    return message("orders", id=msg_id, queue_offset=offset, born=born, stored=stored, **fields)


def retry_of(
    msg_id: str, stored: int, times: int, topic: str = "%RETRY%billing", **fields: Any
) -> dict[str, Any]:
    said = {} if "_" in topic else {"RETRY_TOPIC": "orders"}
    return message(topic, id=msg_id, stored=stored, reconsume_times=times, properties=said, **fields)


LOG = [
    order("m1", 0, 0, 5, tags="paid", keys="k1 k2", size=200),
    order("m2", 1, 1000, 1004),
    retry_of("m2", 11_150, 1),
    order("m3", 2, 2000, 2003),
    retry_of("m3", 12_140, 1),
    retry_of("m3", 12_210, 2, "%DLQ%billing"),
    order("m4", 3, 3000, 3002),
    order("m5", 4, 4000, 4001, tags="late"),
    message("logs", id="m6", born=5000, stored=5000),
    # Parked for a minute, as its producer wished; a retry that is parked is no wish.
    message(
        "SCHEDULE_TOPIC_XXXX",
        id="m7",
        stored=HOUR_MS + 10,
        properties={"REAL_TOPIC": "orders", "REAL_QID": "0"},
    ),
    message("SCHEDULE_TOPIC_XXXX", id="m2", stored=1160, properties={"REAL_TOPIC": "%RETRY%billing"}),
    order("m7", 5, HOUR_MS, HOUR_MS + 60_010),
    # Sent twice, because the first answer was lost.
    order("m8", 6, 6000, 6001),
    order("m8", 7, 6000, 6901),
    order("m9", 8, 7000, 7001),
    retry_of("m9", 9000, 1, "%RETRY%pops_orders"),
    order("m10", 9, 8000, 8001),
    order("m11", 10, 9000, 9001),
    # Somebody sent on what they had received: one key, two topics.
    order("m12", 11, 9100, 9101),
    message("copies", id="m12", born=9100, stored=9200),
    message("orders", id="m1", cluster="c2", stored=50),
    message("orders", id="early", stored=-1),
    message("orders", id="late", stored=2 * HOUR_MS),
]
TRACES = [
    trace_message(sent("m1", 0), begun("m1", "r1", 105), ended("m1", "r1", 125, 20)),
    trace_message(ended("m1", "r1", 125, 20), begun("m1", "r1", 105), born_host="10.0.0.1:9999"),
    trace_message(sent("m2,m3", 1000), begun("m2", "r2", 1100), ended("m2", "r2", 1150, 50, ok=False)),
    trace_message(begun("m2", "r3", 11_160, retry=1), ended("m2", "r3", 11_190, 30)),
    trace_message(begun("m3", "r4", 2100), ended("m3", "r4", 2140, 40, ok=False)),
    trace_message(begun("m3", "r5", 12_150, retry=1), ended("m3", "r5", 12_200, 50, ok=False)),
    trace_message(begun("m4", "r6", 3100), ended("m4", "r6", 3110, 10)),
    # Clients of a cloud leave time and group out at the end.
    trace_message(begun("m4", "r7", 3200), SubAfterTrace("r7", "m4", 30, True), born_host="10.0.0.2:1"),
    trace_message(begun("m7", "r8", HOUR_MS + 60_110), ended("m7", "r8", HOUR_MS + 60_210, 100)),
    trace_message(sent("m8", 6000, ok=False, cost=3000), sent("m8", 6900), begun("m8", "r9", 6950)),
    trace_message(sent("x1", 6500, ok=False, cost=3001)),
    # A consumer whose clock is behind.
    trace_message(begun("m10", "r10", 7980), ended("m10", "r10", 7990, 10)),
    trace_message(
        sent("m11", 9000),
        EndTransactionTrace(EPOCH_MS + 9050, "r", "shop", "orders", "m11", state="COMMIT_MESSAGE"),
    ),
    trace_message(begun("m12", "r11", 9201), ended("m12", "r11", 9301, 100)),
    trace_message(begun("m12", "r12", 9205, group="nobody"), ended("m12", "r12", 9305, 100, group="nobody")),
    trace_message(begun("gone", "r13", 1)),
    message("RMQ_SYS_TRACE_TOPIC", body=b"Pub\x01not a time\x02SubWhat\x01\x02"),
    message("RMQ_SYS_TRACE_TOPIC", body=b"not zlib", sys_flag=COMPRESSED),
]
OFFSETS = {
    "orders@billing": {0: 4},
    "orders@audit": {0: 3},
    "orders@CID_RMQ_SYS_TRANS": {0: 99},
    "%RETRY%billing@billing": {0: 3},
}


@pytest.fixture(scope="module")
def report(session: SparkSession) -> TraceReport:
    log = log_of(session, LOG, COPY_COLUMNS)
    traces = log_of(session, TRACES, TRACE_COLUMNS)
    return trace_report(
        log,
        traces,
        committed_of(session, OFFSETS),
        begin=at(0),
        end=at(2 * HOUR_MS),
        slow_call_ms=50,
        slow_wait_ms=8_000,
        keep=cached,
    )


@pytest.fixture(scope="module")
def tables(report: TraceReport) -> dict[str, list[dict[str, Any]]]:
    return {name: rows_of(table) for name, table in report.tables.items()}


Tables = dict[str, list[dict[str, Any]]]


def by(rows: list[dict[str, Any]], *names: str) -> dict[Any, dict[str, Any]]:
    found = {tuple(row[name] for name in names) if len(names) > 1 else row[names[0]]: row for row in rows}
    assert len(found) == len(rows), "one row per key"
    return found


def test_each_message_has_one_story(tables: Tables) -> None:
    stories = by(tables["messages"], "cluster", "topic", "msg_id")
    assert {key: row["state"] for key, row in stories.items()} == {
        ("c1", "orders", "m1"): "consumed",
        ("c1", "orders", "m2"): "consumed",
        ("c1", "orders", "m3"): "dead",
        ("c1", "orders", "m4"): "consumed",
        ("c1", "orders", "m5"): "unread",
        ("c1", "logs", "m6"): "unread",
        ("c1", "orders", "m7"): "consumed",
        ("c1", "orders", "m8"): "failing",
        ("c1", "orders", "m9"): "failing",
        ("c1", "orders", "m10"): "consumed",
        ("c1", "orders", "m11"): "unread",
        ("c1", "orders", "m12"): "consumed",
        ("c1", "copies", "m12"): "unread",
        ("c2", "orders", "m1"): "unread",
    }


def test_a_story_tells_send_store_and_tries(tables: Tables) -> None:
    stories = by(tables["messages"], "cluster", "topic", "msg_id")
    first = stories["c1", "orders", "m1"]
    assert (first["producer_group"], ms(first["sent_at"]), first["send_cost_ms"]) == ("shop", 0, 7)
    assert (first["sends"], first["is_send_ok"], first["store_latency_ms"]) == (1, True, 5)
    assert (first["tags"], first["keys"], first["size"], first["copies"]) == ("paid", "k1 k2", 200, 1)
    # Billing tried it, audit has passed it.
    assert (first["groups"], first["tries"], first["retries"], first["dead_letters"]) == (2, 1, 0, 0)
    third = stories["c1", "orders", "m3"]
    assert (third["tries"], third["retries"], third["dead_letters"]) == (2, 1, 1)
    twice = stories["c1", "orders", "m8"]
    assert (twice["copies"], twice["queue_offset"], ms(twice["store_time"])) == (2, 6, 6001)
    # The last of two sends, which went well.
    assert (twice["sends"], twice["send_cost_ms"], twice["is_send_ok"]) == (2, 7, True)
    parked = stories["c1", "orders", "m7"]
    assert (parked["parked_ms"], parked["store_latency_ms"]) == (60_000, 10)
    assert stories["c1", "orders", "m11"]["transaction_state"] == "COMMIT_MESSAGE"
    untraced = stories["c1", "orders", "m5"]
    assert (untraced["sends"], untraced["producer_group"], untraced["send_cost_ms"]) == (0, None, None)


def test_each_try_has_its_cost_and_its_wait(tables: Tables) -> None:
    tries = by(tables["tries"], "request_id")
    said = ("msg_id", "group", "try", "cost_ms", "is_success", "code", "wait_ms")
    assert {key: tuple(row[name] for name in said) for key, row in tries.items()} == {
        "r1": ("m1", "billing", 1, 20, True, "SUCCESS", 100),
        "r2": ("m2", "billing", 1, 50, False, "EXCEPTION", 96),
        "r3": ("m2", "billing", 2, 30, True, "SUCCESS", 10),
        "r4": ("m3", "billing", 1, 40, False, "EXCEPTION", 97),
        "r5": ("m3", "billing", 2, 50, False, "EXCEPTION", 10),
        "r6": ("m4", "billing", 1, 10, True, "SUCCESS", 98),
        "r7": ("m4", "billing", 1, 30, True, "SUCCESS", 198),
        "r8": ("m7", "billing", 1, 100, True, "SUCCESS", 100),
        "r9": ("m8", "billing", 1, None, None, None, 949),
        "r10": ("m10", "billing", 1, 10, True, "SUCCESS", -21),
        "r11": ("m12", "billing", 1, 100, True, "SUCCESS", 100),
    }
    assert {row["topic"] for row in tables["tries"]} == {"orders"}
    # Its time was left out: from the beginning and the cost.
    assert ms(tries["r7"]["ended_at"]) == 3230


def test_each_delivery_has_its_state_and_its_latency(tables: Tables) -> None:
    rows = by(tables["deliveries"], "cluster", "topic", "msg_id", "group")
    said = ("state", "tries", "successes", "failures", "unfinished", "retries", "has_passed", "wait_ms")
    billing = {key[2]: tuple(row[name] for name in said) for key, row in rows.items() if key[3] == "billing"}
    assert billing == {
        "m1": ("consumed", 1, 1, 0, 0, 0, True, 100),
        "m2": ("consumed", 2, 1, 1, 0, 1, True, 96),
        "m3": ("dead", 2, 0, 2, 0, 1, True, 97),
        "m4": ("consumed", 2, 2, 0, 0, 0, True, 98),
        "m5": ("waiting", 0, 0, 0, 0, 0, False, None),
        "m7": ("consumed", 1, 1, 0, 0, 0, False, 100),
        "m8": ("failing", 1, 0, 0, 1, 0, False, 949),
        "m9": ("waiting", 0, 0, 0, 0, 0, False, None),
        "m10": ("consumed", 1, 1, 0, 0, 0, False, -21),
        "m11": ("waiting", 0, 0, 0, 0, 0, False, None),
        "m12": ("consumed", 1, 1, 0, 0, 0, False, 100),
    }
    took = {key[2]: row["end_to_end_ms"] for key, row in rows.items() if row["end_to_end_ms"] is not None}
    assert took == {"m1": 125, "m2": 10_190, "m4": 110, "m7": 210, "m10": -10, "m12": 201}
    audit = {key[2]: row["state"] for key, row in rows.items() if key[3] == "audit"}
    assert audit["m1"] == audit["m2"] == audit["m3"] == "passed"
    assert {state for key, state in audit.items() if key not in ("m1", "m2", "m3")} == {"waiting"}
    assert rows["c1", "orders", "m9", "pops"]["state"] == "failing"
    assert rows["c1", "orders", "m9", "pops"]["retries"] == 1
    assert ms(rows["c1", "orders", "m3", "billing"]["dead_time"]) == 12_210
    assert {key[3] for key in rows} == {"billing", "audit", "pops"}


def test_latency_is_told_by_topic_group_and_hour(tables: Tables) -> None:
    said = ("p50_ms", "p90_ms", "p95_ms", "p99_ms", "max_ms")
    rows = {
        (row["level"], row["topic"], row["group"], ms(row["hour"])): row
        for row in tables["latency"]
        if row["cluster"] == "c1"
    }
    assert set(rows) == {
        ("hour", "orders", "billing", 0),
        ("hour", "orders", "billing", HOUR_MS),
        ("group", "orders", "billing", None),
        ("topic", "orders", None, None),
    }
    # 110, 125, 201, 10190 and one that only shows a clock behind.
    first = rows["hour", "orders", "billing", 0]
    assert (first["deliveries"], first["skewed"]) == (5, 1)
    assert tuple(first[name] for name in said) == (125, 10_190, 10_190, 10_190, 10_190)
    second = rows["hour", "orders", "billing", HOUR_MS]
    assert tuple(second[name] for name in said) == (210, 210, 210, 210, 210)
    # 110, 125, 201, 210, 10190
    whole = rows["topic", "orders", None, None]
    assert (whole["deliveries"], whole["skewed"], whole["p50_ms"], whole["p90_ms"]) == (6, 1, 201, 10_190)
    assert rows["group", "orders", "billing", None]["p50_ms"] == 201


def test_slow_groups_are_named(tables: Tables) -> None:
    (row,) = tables["consumers"]
    assert (row["cluster"], row["topic"], row["group"]) == ("c1", "orders", "billing")
    # Calls: 10 10 20 30 30 40 50 50 100 100, and one without an end.
    assert (row["calls"], row["successes"], row["failures"], row["unfinished"]) == (11, 7, 3, 1)
    assert row["failure_share"] == pytest.approx(0.3)
    assert (row["call_p50_ms"], row["call_p90_ms"], row["call_p95_ms"]) == (30, 100, 100)
    assert row["call_max_ms"] == 100
    # First calls: 96 97 98 100 100 100 949, and one before its message was stored.
    assert (row["messages"], row["wait_p50_ms"], row["wait_p95_ms"], row["wait_max_ms"]) == (8, 100, 949, 949)
    assert row["slow_by"] == "processing"


def test_what_nobody_consumed_is_listed(tables: Tables) -> None:
    unread = {(row["cluster"], row["topic"], row["msg_id"]): row["groups"] for row in tables["unread"]}
    assert unread == {
        ("c1", "orders", "m5"): 2,
        ("c1", "logs", "m6"): 0,
        ("c1", "orders", "m11"): 2,
        ("c1", "copies", "m12"): 0,
        ("c2", "orders", "m1"): 0,
    }


def test_what_was_consumed_twice_is_listed(tables: Tables) -> None:
    (row,) = tables["repeated"]
    assert (row["msg_id"], row["group"], row["successes"], row["clients"]) == ("m4", "billing", 2, 2)
    assert (ms(row["succeeded_at"]), ms(row["last_succeeded_at"])) == (3110, 3230)


def test_failed_sends_say_whether_the_message_is_stored(tables: Tables) -> None:
    rows = {
        row["msg_id"]: (row["is_stored"], row["cost_ms"], row["producer_group"])
        for row in tables["failed_sends"]
    }
    assert rows == {"m8": (True, 3000, "shop"), "x1": (False, 3001, "shop")}


def test_coverage_says_what_was_not_traced(tables: Tables) -> None:
    said = ("messages", "traced", "untraced", "passed", "waiting")
    rows = by(tables["coverage"], "cluster", "topic", "side", "group")
    assert {key: tuple(row[name] for name in said) for key, row in rows.items()} == {
        ("c1", "orders", "send", None): (11, 5, 6, None, None),
        ("c1", "logs", "send", None): (1, 0, 1, None, None),
        ("c1", "copies", "send", None): (1, 0, 1, None, None),
        ("c2", "orders", "send", None): (1, 0, 1, None, None),
        ("c1", "orders", "consume", "billing"): (11, 8, 3, 0, 3),
        ("c1", "orders", "consume", "audit"): (11, 0, 11, 3, 8),
        ("c1", "orders", "consume", "pops"): (1, 0, 1, 0, 0),
    }


def test_what_could_not_be_used_is_counted(report: TraceReport) -> None:
    # Two contexts that say nothing, and a body that cannot be decompressed.
    assert report.unreadable.count() == 3
    assert [row["request_id"] for row in rows_of(report.ambiguous)] == ["r12"]
    assert [row["msg_id"] for row in rows_of(report.strangers)] == ["gone"]
