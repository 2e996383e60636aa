"""The usage report on a handful of messages whose every figure is worked out by hand."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from pyspark.sql import SparkSession

from engine.protocol.traces import PubTrace
from spark.transforms.costs import LABELS, Prices, costs
from spark.transforms.trace_events import TRACE_COLUMNS
from spark.transforms.unused import NAMES
from spark.transforms.usage import USAGE_COLUMNS
from spark.transforms.usage_report import usage_report
from tests.spark.worlds import (
    DAY_MS,
    HOUR_MS,
    at,
    cached,
    committed_of,
    frame,
    log_of,
    message,
    rows_of,
    trace_message,
)

pytestmark = pytest.mark.timeout(600)
FIRST, SECOND = date(2026, 11, 16), date(2026, 11, 17)
"""T0 is ten in the morning of the first."""


def sized(topic: str, size: int, body_size: int, hours: float = 0, **fields: Any) -> dict[str, Any]:
    return message(topic, size=size, body_size=body_size, stored=hours * HOUR_MS, **fields)


LOG = [
    sized("orders", 1000, 0, id="m1", tags="paid", keys="k1 k2"),
    sized("orders", 1000, 1, id="m2", tags="paid", keys="k1 k1"),
    sized("orders", 1000, 2, id="m3", tags="sent", keys="k1", born_host="10.0.0.2:5"),
    sized("orders", 1000, 1000, id="m4", keys=" k3  k2 ", born_host="10.0.0.2:6"),
    sized("orders", 2000, 1024, 24, id="m5", tags="paid", born_host="[::1]:7"),
    # A transaction says its producer group; its half was parked for orders.
    sized("orders", 3000, 1025, 24, id="m6", properties={"PGROUP": "tellers"}),
    sized(
        "RMQ_SYS_TRANS_HALF_TOPIC",
        3000,
        1025,
        24,
        id="m6",
        properties={"PGROUP": "tellers", "REAL_TOPIC": "orders"},
    ),
    sized("logs", 500, 100, 36),
    sized("%RETRY%billing", 700, 10, 24, id="m1"),
    sized("%RETRY%pops+orders", 70, 10, 24, id="m1"),
    sized("%DLQ%billing", 800, 10, 24, id="m1"),
    sized("RMQ_SYS_TRACE_TOPIC", 300, 200, 24),
    sized("orders", 9000, 9, 0, id="m1", cluster="c2"),
]
TRACES = [
    trace_message(*(PubTrace(1, "r", "shop", "orders", msg_id) for msg_id in ("m1", "m2", "m3"))),
    trace_message(PubTrace(2, "r", "shop", "orders", "m1"), PubTrace(3, "r", "other", "elsewhere", "m4")),
]
TOLD = {
    "topic": ["orders", "logs", "idle", "forgotten", "TBW102", "c1", "b1", "%RETRY%billing", "rmq_sys_x"],
    "group": ["billing", "audit", "tools", "CID_RMQ_SYS_TRANS", "TOOLS_CONSUMER"],
}
OFFSETS = {"orders@billing": {0: 1}, "idle@audit": {0: 0}, "%RETRY%tools@tools": {0: 1}}
TEAMS = [
    {"kind": "topic", "pattern": "ord*", "team": "nobody"},
    {"kind": "topic", "pattern": "orders", "team": "shop"},
    {"kind": "topic", "pattern": "lo*", "team": "platform"},
    {"kind": "topic", "pattern": "l*", "team": "nobody"},
    {"kind": "group", "pattern": "billing", "team": "money"},
    {"kind": "group", "pattern": "p.ps", "team": "nobody"},
]
PRICES = Prices(per_million_messages=1_000_000.0, per_gigabyte=1_000_000.0, per_gigabyte_day=1_000_000.0)
"""A message costs 1, a thousand bytes 1, a thousand bytes for a day 1."""
Tables = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def tables(session: SparkSession) -> Tables:
    names = [
        {"cluster": "c1", "broker": broker, "store": f"/s/{broker}", "kind": kind, "name": name}
        for kind, told in TOLD.items()
        for name in told
        for broker in (("b1", "b2") if name == "idle" else ("b1",))
    ]
    report = usage_report(
        log_of(session, LOG, USAGE_COLUMNS),
        log_of(session, TRACES, TRACE_COLUMNS),
        frame(session, names, NAMES),
        committed_of(session, OFFSETS),
        frame(session, TEAMS, LABELS),
        until=at(2 * DAY_MS),
        prices=PRICES,
        most=2,
        hot_share=0.5,
        keep=cached,
    )
    return {name: rows_of(table) for name, table in report.items()}


def test_volume_is_per_topic_producer_group_and_day(tables: Tables) -> None:
    said = ("messages", "bytes", "body_bytes", "senders")
    rows = {
        (row["topic"], row["kind"], row["producer_group"], row["day"]): tuple(row[name] for name in said)
        for row in tables["usage"]
        if row["cluster"] == "c1"
    }
    assert rows == {
        ("orders", "normal", "shop", FIRST): (3, 3000, 3, 2),
        ("orders", "normal", None, FIRST): (1, 1000, 1000, 1),
        ("orders", "normal", None, SECOND): (1, 2000, 1024, 1),
        ("orders", "normal", "tellers", SECOND): (1, 3000, 1025, 1),
        ("orders", "half", "tellers", SECOND): (1, 3000, 1025, 1),
        ("logs", "normal", None, SECOND): (1, 500, 100, 1),
        ("%RETRY%billing", "retry", None, SECOND): (1, 700, 10, 1),
        ("%RETRY%pops+orders", "retry", None, SECOND): (1, 70, 10, 1),
        ("%DLQ%billing", "dead_letter", None, SECOND): (1, 800, 10, 1),
        ("RMQ_SYS_TRACE_TOPIC", "trace", None, SECOND): (1, 300, 200, 1),
    }


def test_sizes_of_bodies_are_told(tables: Tables) -> None:
    (row,) = [row for row in tables["usage"] if row["producer_group"] == "shop"]
    assert (row["min_body_bytes"], row["mean_body_bytes"], row["max_body_bytes"]) == (0, 1.0, 2)
    assert (row["p50_body_bytes"], row["p95_body_bytes"], row["p99_body_bytes"]) == (1, 2, 2)
    classes = {
        (row["topic"], row["day"], row["up_to_bytes"]): row["messages"]
        for row in tables["sizes"]
        if row["cluster"] == "c1"
    }
    assert classes == {
        ("orders", FIRST, 0): 1,
        ("orders", FIRST, 1): 1,
        ("orders", FIRST, 2): 1,
        ("orders", FIRST, 1024): 1,
        ("orders", SECOND, 1024): 1,
        ("orders", SECOND, 2048): 1,
        ("logs", SECOND, 128): 1,
    }


def test_frequent_tags_are_ranked(tables: Tables) -> None:
    rows = {
        (row["topic"], row["day"], row["rank"]): (row["tag"], row["messages"], row["share"])
        for row in tables["tags"]
        if row["cluster"] == "c1"
    }
    # One without a tag has as many as "sent", and names go first.
    assert rows == {
        ("orders", FIRST, 1): ("paid", 2, 0.5),
        ("orders", FIRST, 2): ("sent", 1, 0.25),
        ("orders", SECOND, 1): ("paid", 1, 0.5),
        ("orders", SECOND, 2): (None, 1, 0.5),
        ("logs", SECOND, 1): (None, 1, 1.0),
    }


def test_hot_keys_are_named(tables: Tables) -> None:
    rows = {(row["day"], row["rank"]): row for row in tables["keys"]}
    said = ("key", "messages", "share", "is_hot")
    assert {place: tuple(row[name] for name in said) for place, row in rows.items()} == {
        (FIRST, 1): ("k1", 3, 0.75, True),
        (FIRST, 2): ("k2", 2, 0.5, True),
    }


def test_what_nobody_uses_is_named_with_its_reason(tables: Tables) -> None:
    rows = {(row["kind"], row["name"]): (row["reason"], row["brokers"]) for row in tables["unused"]}
    assert rows == {
        ("topic", "logs"): ("not_read", ["b1"]),
        ("topic", "idle"): ("not_written", ["b1", "b2"]),
        ("topic", "forgotten"): ("not_written_nor_read", ["b1"]),
        ("group", "audit"): ("topics_not_written", ["b1"]),
        # Its own retry topic says nothing about what it reads.
        ("group", "tools"): ("never_committed", ["b1"]),
    }


def test_each_team_has_its_cost(tables: Tables) -> None:
    rows = {row["team"]: row for row in tables["costs"] if row["cluster"] == "c1"}
    said = ("topics", "groups", "messages", "bytes")
    assert {team: tuple(row[name] for name in said) for team, row in rows.items()} == {
        "shop": (1, 0, 7, 12_000),
        "platform": (1, 0, 1, 500),
        "money": (0, 1, 2, 1500),
        # The traces, and the retries of a group whose label is a name with a dot, not a pattern.
        None: (0, 1, 2, 370),
    }
    # 4,000 bytes lie for two days, 8,000 for one.
    assert rows["shop"]["gigabyte_days"] == pytest.approx(16_000 / 1e9)
    assert rows["shop"]["cost"] == pytest.approx(7 + 12 + 16)
    assert rows["platform"]["cost"] == pytest.approx(1 + 0.5 + 0.25)
    assert rows["shop"]["bytes_share"] == pytest.approx(12_000 / 14_370)


def test_without_prices_the_cost_is_not_known(session: SparkSession) -> None:
    held = [("c1", "topic", "orders", 1, 10, 5.0)]
    holdings = session.createDataFrame(
        held, "cluster string, owner_kind string, owner string, messages bigint, bytes bigint, byte_ms double"
    )
    (row,) = rows_of(costs(holdings, frame(session, [], LABELS), Prices()))
    assert (row["team"], row["cost"], row["bytes"]) == (None, None, 10)
