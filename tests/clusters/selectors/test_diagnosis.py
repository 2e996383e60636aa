"""Every check of a group's diagnosis: what it finds, what it lets pass, when it does not know."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from clusters.selectors.diagnosis import CRITICAL, OK, UNKNOWN, WARNING, Evidence, Queue, diagnose
from clusters.selectors.lag_history import sampled
from clusters.selectors.thread_dumps import parse_dump, where_listeners_stand

NOW_MS = 1_000_000_000
RATE = {"consume_ms": 3.0, "ok_per_s": 10.0, "failed_per_s": 0.0}


def member(client_id: str, **more: Any) -> dict[str, Any]:
    queue = {"topic": "t", "broker": "b", "queue": 0, "last_consume_ms": NOW_MS, "cached_messages": 1}
    return {
        "client_id": client_id,
        "consume_type": "CONSUME_PASSIVELY",
        "subscriptions": [{"topic": "t", "expression": "*", "type": "TAG"}],
        "queues": [queue],
        "rates": {"t": RATE},
    } | more


STACK = """\
ConsumeMessageThread_g_1                TID: 7 STATE: BLOCKED
ConsumeMessageThread_g_1                shop.Stock.reserve(Stock.java:41)
ConsumeMessageThread_g_1                shop.Listener.consume(Listener.java:9)

ConsumeMessageThread_g_2                TID: 8 STATE: WAITING
ConsumeMessageThread_g_2                jdk.internal.misc.Unsafe.park(Native Method)
ConsumeMessageThread_g_2                java.util.concurrent.LinkedBlockingQueue.take(Unknown Source)
ConsumeMessageThread_g_2                java.util.concurrent.ThreadPoolExecutor.getTask(Unknown Source)

main                                    TID: 1 STATE: WAITING
main                                    java.lang.Object.wait(Native Method)
"""

GOOD = Evidence(
    now_ms=NOW_MS,
    model="CLUSTERING",
    members=[member("c1")],
    queues=[Queue("t", "b", 0, 5, 0, 9)],
    stacks={"c1": "main                                    TID: 1 STATE: WAITING\n"},
    lag_history=[(0.0, 5), (60.0, 3), (120.0, 4)],
    retries=0,
    dead_letters=0,
    is_enabled=True,
)


def state_of(check: str, evidence: Evidence) -> str:
    return {finding.check: finding.state for finding in diagnose(evidence)}[check]


def test_a_healthy_group_passes_every_check() -> None:
    assert {finding.state for finding in diagnose(GOOD)} == {OK}


def test_what_could_not_be_learnt_is_unknown_never_ok() -> None:
    nothing = Evidence(NOW_MS, "", None, [])
    states = {finding.check: finding.state for finding in diagnose(nothing)}
    assert states.pop("offsets_in_range") == OK
    assert set(states.values()) == {UNKNOWN}
    silent = replace(GOOD, members=[member("c1", subscriptions=None, queues=None, rates=None)])
    assert state_of("subscriptions", silent) == UNKNOWN
    assert state_of("slow_consumers", silent) == UNKNOWN


@pytest.mark.parametrize(
    ("check", "change", "state"),
    [
        ("enabled", {"is_enabled": False}, CRITICAL),
        ("members", {"members": []}, CRITICAL),
        ("members", {"members": [], "queues": []}, WARNING),
        (
            "subscriptions",
            {
                "members": [
                    member("c1"),
                    member("c2", subscriptions=[{"topic": "t", "expression": "a", "type": "TAG"}]),
                ]
            },
            CRITICAL,
        ),
        ("subscriptions", {"members": [member("c1"), member("c2", subscriptions=[])]}, CRITICAL),
        ("spare_members", {"members": [member("c1"), member("c2")]}, WARNING),
        (
            "spare_members",
            {"members": [member("c1", consume_type="CONSUME_POP"), member("c2", consume_type="CONSUME_POP")]},
            OK,
        ),
        ("spare_members", {"members": [member("c1"), member("c2")], "model": "BROADCASTING"}, OK),
        ("stuck_queues", {"members": [member("c1", queues=[])]}, CRITICAL),
        ("stuck_queues", {"members": []}, CRITICAL),
        ("stuck_queues", {"members": [], "queues": []}, OK),
        ("growing_lag", {"lag_history": [(0.0, 1), (60.0, 5), (120.0, 9)]}, WARNING),
        ("growing_lag", {"lag_history": [(0.0, 1), (60.0, 5)]}, UNKNOWN),
        ("slow_consumers", {"members": [member("c1", rates={"t": RATE | {"consume_ms": 2000.0}})]}, WARNING),
        ("slow_consumers", {"members": [member("c1", rates={"t": RATE | {"failed_per_s": 11.0}})]}, CRITICAL),
        ("blocked_threads", {"stacks": {"c1": STACK}}, WARNING),
        ("blocked_threads", {"stacks": {}}, UNKNOWN),
        ("retries", {"dead_letters": 3}, WARNING),
        ("retries", {"retries": 3}, WARNING),
        ("offsets_in_range", {"queues": [Queue("t", "b", 0, 12, 0, 9)]}, CRITICAL),
        ("offsets_in_range", {"queues": [Queue("t", "b", 0, 2, 5, 9)]}, CRITICAL),
        ("offsets_in_range", {"queues": [Queue("t", "b", 0, None, 5, 9)]}, OK),
    ],
)
def test_each_check_finds_its_trouble(check: str, change: dict[str, Any], state: str) -> None:
    evidence = replace(GOOD, **change)
    assert state_of(check, evidence) == state
    found = {finding.check: finding for finding in diagnose(evidence)}[check]
    assert found.text and found.code
    assert all(value in found.text for value in found.values.values()), "other languages tell the same"
    if state in (WARNING, CRITICAL):
        assert found.advice


def test_a_queue_is_stuck_when_its_holder_is_quiet_with_messages_in_hand() -> None:
    quiet = {"topic": "t", "broker": "b", "queue": 0, "last_consume_ms": NOW_MS - 61_000}
    held = replace(GOOD, members=[member("c1", queues=[quiet | {"cached_messages": 4}])])
    assert state_of("stuck_queues", held) == CRITICAL
    idle = replace(GOOD, members=[member("c1", queues=[quiet | {"cached_messages": 0}])])
    assert state_of("stuck_queues", idle) == OK


def test_a_dump_of_javas_client_is_read() -> None:
    threads = parse_dump(STACK)
    assert [(thread.name, thread.state) for thread in threads] == [
        ("ConsumeMessageThread_g_1", "BLOCKED"),
        ("ConsumeMessageThread_g_2", "WAITING"),
        ("main", "WAITING"),
    ]
    assert threads[0].frames[0] == "shop.Stock.reserve(Stock.java:41)"
    assert [thread.is_idle for thread in threads[:2]] == [False, True]
    [stand] = where_listeners_stand(threads)
    assert (stand.call, stand.count) == ("shop.Stock.reserve(Stock.java:41)", 1)


def test_lag_holds_until_it_changes_and_gaps_are_left_out() -> None:
    points = sampled([(10.0, 5.0), (130.0, None), (190.0, 7.0)], 0.0, 240.0)
    assert points == [(60.0, 5), (120.0, 5), (240.0, 7)]
    assert sampled([], 0.0, 240.0) == []
