"""Every report on the store of a real broker: its figures are what senders and consumers counted."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from spark.jobs import message_trace, retention, search, usage
from tests.spark.jobs.conftest import Run
from tests.spark.shop import BIG, LOG_COUNT, LOGS, ORDER_COUNT, ORDERS, Shop

pytestmark = pytest.mark.timeout(900)


def test_a_trace_tells_what_senders_and_consumers_did(run: Run, shop: Shop) -> None:
    done = run(message_trace.JOB, shop.store)
    assert (done.exit_code, done.said) == (0, [])
    figures = {name: value for name, value in done.summary["figures"].items() if not name.endswith("_ms")}
    assert figures == {
        # Of the logs one was stored twice: one message.
        "messages": str(ORDER_COUNT + LOG_COUNT - 1),
        "consumed": str(ORDER_COUNT - 1),
        "dead": "1",
        "failing": "0",
        "passed": str(LOG_COUNT - 1),
        "unread": "0",
        "traced_sends": str(ORDER_COUNT - 1),
        "stored_twice": "1",
        # Orders have billing and late, logs have audit.
        "deliveries": str(2 * ORDER_COUNT + LOG_COUNT - 1),
        "retries": "2",
        "dead_letters": "1",
        "tries": str(shop.calls.total()),
        "skewed": "0",
        "repeated": "0",
        "failed_sends": "0",
        "slow_consumers": "0",
        "unreadable_traces": "0",
        "ambiguous_calls": "0",
        "traced_elsewhere": "0",
    }
    ids = {result.msg_id: body for body, result in shop.sent.items()}
    assert Counter(ids[row["msg_id"]] for row in done.rows("tries")) == shop.calls
    stories = {ids[row["msg_id"]]: row for row in done.rows("messages")}
    assert stories["poison"]["state"] == "dead"
    assert 900 < stories["later"]["parked_ms"] < 10_000
    took = [row["end_to_end_ms"] for row in done.rows("deliveries") if row["state"] == "consumed"]
    assert len(took) == ORDER_COUNT - 1
    assert done.summary["figures"]["end_to_end_p99_ms"] == str(max(took))
    assert "the sending of 7 of 17 messages was not traced" in done.summary["unknown"]
    assert "audit has passed 6 messages of logs untraced: read or skipped" in done.summary["unknown"]


@pytest.mark.nightly
def test_a_trace_of_a_range_is_of_the_messages_stored_in_it(run: Run, shop: Shop) -> None:
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    done = run(message_trace.JOB, shop.store, f"--from={tomorrow}", "--topic=orders")
    assert done.exit_code == 0
    assert (done.summary["figures"]["messages"], done.rows("messages")) == ("0", [])
    assert done.summary["stores"][0]["records"] == "0"


def test_retention_says_who_has_not_read_what(run: Run, shop: Shop) -> None:
    done = run(retention.JOB, shop.store, "--disk-bytes=100000000", "--disk-free-bytes=50000000")
    assert (done.exit_code, done.said) == (0, [])
    (store,) = done.summary["stores"]
    (row,) = done.rows("stores")
    assert row["messages"] == int(store["records"]) == int(done.summary["figures"]["messages"])
    # The log has no holes: its bytes are the offset that it ends at.
    assert row["bytes"] == int(store["to_offset"]) == sum(each["bytes"] for each in done.rows("volume"))
    unread = {(each["topic"], each["group"]): each["unread_messages"] for each in done.rows("groups")}
    assert unread[ORDERS, "late"] == ORDER_COUNT
    assert unread[ORDERS, "billing"] == unread[LOGS, "audit"] == unread["%RETRY%billing", "billing"] == 0
    topics = {each["topic"]: each["messages"] for each in done.rows("topics")}
    assert (topics[ORDERS], topics[LOGS]) == (ORDER_COUNT, LOG_COUNT)
    assert (topics["%RETRY%billing"], topics["%DLQ%billing"]) == (2, 1)
    # One file, which is the last: no setting frees it.
    assert {each["files_freed"] for each in done.rows("settings")} == {0}
    assert done.rows("disks")[0]["disk"] == "as said"


def test_usage_knows_producers_keys_and_teams(run: Run, shop: Shop) -> None:
    done = run(
        usage.JOB, shop.store, "--label=topic:orders=shop", "--label=group:bill*=money", "--price-per-gb=1"
    )
    assert (done.exit_code, done.said) == (0, [])
    senders = Counter[tuple[str, str | None]]()
    for row in done.rows("usage"):
        if row["kind"] == "normal":
            senders[row["topic"], row["producer_group"]] += row["messages"]
    assert senders == {(ORDERS, "shop"): ORDER_COUNT - 1, (ORDERS, "tellers"): 1, (LOGS, None): LOG_COUNT}
    keys = Counter[str]()
    for row in done.rows("keys"):
        keys[row["key"]] += row["messages"]
    assert keys["all"] == 6
    unused = {(row["kind"], row["name"]): row["reason"] for row in done.rows("unused")}
    assert unused == {("topic", "idle"): "not_written_nor_read"}
    teams = {row["team"]: row["bytes"] for row in done.rows("costs")}
    assert set(teams) == {"shop", "money", None}
    assert sum(teams.values()) == int(done.summary["figures"]["bytes"])


@pytest.mark.parametrize(
    ("words", "bodies"),
    [
        (("--key=all",), [f"order-{number}" for number in range(6)]),
        (("--tag=paid", "--sql=KEYS IS NOT NULL"), ["order-1", "order-3", "order-5"]),
        (("--property=shop=7",), [BIG.decode()[:16]]),
        (("--body=teapots",), [BIG.decode()[:16]]),
        (("--body=teapots", "--tag=paid"), []),
    ],
)
def test_a_search_finds_what_was_sent(
    run: Run, shop: Shop, words: tuple[str, ...], bodies: list[str]
) -> None:
    done = run(search.JOB, shop.store, "--topic=orders", *words)
    assert (done.exit_code, done.said) == (0, [])
    # As they were sent: those of one millisecond come queue by queue.
    hits = sorted(done.rows("hits"), key=lambda row: row["offset_id"])
    assert [row["offset_id"] for row in hits] == [shop.sent[body].offset_msg_id for body in bodies]
    assert [row["msg_id"] for row in hits] == [shop.sent[body].msg_id for body in bodies]
    places = [(row["broker"], row["queue_id"], row["queue_offset"]) for row in hits]
    sent = [shop.sent[body] for body in bodies]
    assert places == [(each.queue.broker_name, each.queue.queue_id, each.queue_offset) for each in sent]
    assert [row["body_size"] for row in hits] == [
        len(BIG) if body == BIG.decode()[:16] else len(body) for body in bodies
    ]
    figures = {"messages": str(ORDER_COUNT), "found": str(len(bodies)), "stopped": "end"}
    assert done.summary["figures"] == figures


def test_a_search_stops_at_its_limit_and_says_so(run: Run, shop: Shop) -> None:
    done = run(search.JOB, shop.store, "--topic=orders", "--key=all", "--max-hits=2")
    assert done.summary["figures"]["stopped"] == "max_hits"
    assert done.summary["figures"]["found"] == "2"
    # The third says that there is more.
    assert len(done.rows("hits")) == 3
