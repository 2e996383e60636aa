"""Searches by Spark find what the console's own searches find: its `Wanted` is the judge."""

from __future__ import annotations

import zlib
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from clusters.gateway import scanning, stored
from engine.protocol.message_ids import offset_msg_id
from engine.protocol.sys_flags import COMPRESSED
from spark.transforms.matches import MATCH_COLUMNS, Wanted, hits, matching, plain_sizes
from tests.spark.worlds import log_of, message, ms, rows_of

pytestmark = pytest.mark.timeout(600)
COLUMNS = (*MATCH_COLUMNS, "body")
FIRST_ID = offset_msg_id(("10.0.0.9", 10911), 100)

LOG = [
    message("orders", commit_log_offset=100, stored=50, tags="paid", keys="k1 k2", properties={"shop": "7"}),
    message("orders", queue_id=1, stored=40, id="m2", tags="sent", keys="k2", body=b"17 teapots"),
    message(
        "orders",
        queue_offset=5,
        stored=60,
        id="m3",
        sys_flag=COMPRESSED,
        body=zlib.compress(b"many teapots " * 9),
        properties={"shop": "8", "RETRY_TOPIC": "elsewhere"},
    ),
    message("orders", stored=70, id="m4", sys_flag=COMPRESSED, body=b"teapots, not zlib", keys="k1"),
    message(
        "%DLQ%g",
        stored=80,
        id="m5",
        keys="k1",
        properties={"RETRY_TOPIC": "orders"},
        store_host="[::1]:10911",
    ),
    message("logs", stored=90, id="m6", keys="k1", body=b"17 teapots"),
]


def found(session: SparkSession, wanted: Wanted) -> list[str | None]:
    rows = rows_of(matching(log_of(session, LOG, COLUMNS), wanted).orderBy("store_time"))
    return [row["unique_key"] for row in rows]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (Wanted(("orders",)), ["m2", None, "m3", "m4"]),
        (Wanted(("orders", "%DLQ%g"), key="k1"), [None, "m4", "m5"]),
        (Wanted(("orders",), key="m3"), ["m3"]),
        (Wanted(("orders",), key=FIRST_ID), [None]),
        (Wanted(("orders",), tag="sent"), ["m2"]),
        (Wanted(("orders",), property_name="shop"), [None, "m3"]),
        (Wanted(("orders",), property_name="shop", property_value="8"), ["m3"]),
        (Wanted(("orders",), sql="shop > 7"), ["m3"]),
        (Wanted(("orders",), body="teapots"), ["m2", "m3"]),
        (Wanted(("orders",), body="teapots", sql="shop IS NOT NULL"), ["m3"]),
    ],
)
def test_a_message_must_have_all_that_is_wanted(
    session: SparkSession, wanted: Wanted, expected: list[str | None]
) -> None:
    assert found(session, wanted) == expected


def test_hits_have_the_shape_of_the_consoles_results(session: SparkSession) -> None:
    log = log_of(session, LOG, COLUMNS)
    rows = rows_of(hits(matching(log, Wanted(("orders", "%DLQ%g"))), most=4))
    first = rows[0]
    # The oldest first, and no more than asked for.
    assert [row["msg_id"] for row in rows] == ["m2", FIRST_ID, "m3", "m4"]
    assert (first["queue_id"], first["broker"], ms(first["store_time"]), first["queue_offset"]) == (
        1,
        "b1",
        40,
        0,
    )
    assert [row["body_size"] for row in rows] == [10, 0, None, None]
    assert rows[1]["offset_id"] == FIRST_ID
    (letter,) = rows_of(hits(matching(log, Wanted(("%DLQ%g",))), most=4))
    assert letter["origin_topic"] == "orders"
    assert letter["offset_id"] == offset_msg_id(("::1", 10911), 0)


def test_compressed_bodies_are_measured_plain(session: SparkSession) -> None:
    rows = rows_of(plain_sizes(log_of(session, LOG[2:4], COLUMNS)))
    assert [row["plain_bytes"] for row in rows] == [len(b"many teapots ") * 9, 0]


_WORDS = st.sampled_from(["a", "b", "ab", "teapot"])
_SETS = st.lists(_WORDS, max_size=3)
_BODIES = st.lists(_WORDS, max_size=3).map(lambda words: " ".join(words).encode())


@st.composite
def messages(draw: st.DrawFn) -> dict[str, Any]:
    body = draw(_BODIES)
    is_compressed = draw(st.booleans())
    keys, tag = draw(_SETS), draw(st.none() | _WORDS)
    properties = dict.fromkeys(draw(_SETS), draw(_WORDS))
    properties |= {"KEYS": " ".join(keys)} if keys else {}
    properties |= {"TAGS": tag} if tag else {}
    return message(
        "orders",
        tags=tag,
        keys=properties.get("KEYS"),
        id=draw(_WORDS | st.just("m")),
        stored=draw(st.integers(0, 3)),
        sys_flag=COMPRESSED if is_compressed else 0,
        body=zlib.compress(body) if is_compressed else body,
        properties=properties,
    )


_MAYBE = st.none() | _WORDS
_QUERIES = st.builds(
    dict,
    key=_MAYBE,
    tag=_MAYBE,
    property_name=_MAYBE,
    property_value=st.none(),
    sql=st.none() | st.sampled_from(["a = 'b'", "a IS NULL OR b <> 'a'", "ab CONTAINS 'a' AND TAGS = 'a'"]),
    body=_MAYBE,
)


def as_the_console_sees_it(row: dict[str, Any]) -> stored.StoredMessage:
    body, fault = stored._plain(row["body"], row["sys_flag"])
    return stored.StoredMessage(
        row["topic"],
        "b1",
        0,
        0,
        0,
        "",
        row["unique_key"],
        0,
        "",
        0,
        "",
        0,
        0,
        0,
        0,
        dict(row["properties"]),
        body,
        fault,
    )


@given(
    rows=st.lists(messages(), min_size=20, max_size=60), queries=st.lists(_QUERIES, min_size=6, max_size=6)
)
@settings(max_examples=2, suppress_health_check=list(HealthCheck))
def test_any_query_finds_what_the_console_finds(
    session: SparkSession, rows: list[dict[str, Any]], queries: list[dict[str, Any]]
) -> None:
    numbered = [{**row, "commit_log_offset": number} for number, row in enumerate(rows)]
    log = log_of(session, numbered, COLUMNS).cache()
    for query in queries:
        judge = scanning.Wanted(**query)
        expected = {
            row["commit_log_offset"] for row in numbered if judge.matches(as_the_console_sees_it(row))
        }
        got = matching(log, Wanted(("orders",), **query)).select("commit_log_offset").toArrow()
        assert set(got["commit_log_offset"].to_pylist()) == expected, query
