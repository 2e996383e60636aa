"""Message traces of any history: many small clusters at once, against a model that follows each message."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

import pytest
from pyspark.sql import SparkSession

from engine.protocol.traces import ConsumeCode, PubTrace, SubAfterTrace, SubBeforeTrace, Trace
from spark.transforms.copies import COPY_COLUMNS
from spark.transforms.subscriptions import COMMITTED
from spark.transforms.trace_events import TRACE_COLUMNS
from spark.transforms.trace_report import trace_report
from tests.spark.worlds import T0, cached, frame, log_of, message, rows_of, trace_message

pytestmark = pytest.mark.timeout(900)
EPOCH_MS = int(T0.timestamp() * 1000)
Row = dict[str, Any]
Key = tuple[str, str]
"""Message and group."""


@dataclass(slots=True)
class History:
    """What happened in one cluster, and what must be said of it."""

    name: str
    log: list[Row] = field(default_factory=list)
    traces: list[Row] = field(default_factory=list)
    committed: list[Row] = field(default_factory=list)
    states: dict[Key, str] = field(default_factory=dict)
    took: dict[Key, int] = field(default_factory=dict)
    tries: Counter[Key] = field(default_factory=Counter)
    repeated: set[Key] = field(default_factory=set)
    sends: int = 0


def history(seed: int) -> History:
    rng = random.Random(seed)
    made = History(f"w{seed}")
    count = rng.randrange(1, 7)
    groups = rng.sample(("g", "h", "i"), rng.randrange(3))
    commits = {group: rng.randrange(count + 1) for group in groups}
    where = {"cluster": made.name, "broker": "b", "store": made.name}
    made.committed = [
        {**where, "topic": "orders", "group": group, "queue_id": 0, "committed": commit}
        for group, commit in commits.items()
    ]
    for number in range(count):
        born = 1000 * number
        row = message("orders", **where, id=f"m{number}", queue_offset=number, born=born, stored=born + 3)
        made.log.append(row)
        if rng.random() < 0.5:
            made.sends += 1
            _trace(made, rng, PubTrace(EPOCH_MS + born, "r", "shop", "orders", f"m{number}"))
        for group in {*groups, *rng.sample(("g", "h", "z"), rng.randrange(3))}:
            _live(made, rng, number, born, group, commits.get(group))
    return made


def _live(made: History, rng: random.Random, number: int, born: int, group: str, commit: int | None) -> None:
    """What one group makes of one message."""
    key = (f"m{number}", group)
    now, successes, copies, is_dead = born + 10, [], 0, False
    for attempt in range(rng.choice((0, 0, 1, 1, 2, 3))):
        cost, ok = rng.randrange(1, 50), rng.random() < 0.6
        has_end = rng.random() < 0.9
        request = f"{made.name}-{number}-{group}-{attempt}"
        traces: list[Trace] = [SubBeforeTrace(EPOCH_MS + now, "r", group, request, key[0], attempt)]
        if has_end:
            code = ConsumeCode.SUCCESS if ok else ConsumeCode.FAILED
            traces.append(SubAfterTrace(request, key[0], cost, ok, "", code, EPOCH_MS + now + cost, group))
            successes += [now + cost] * ok
        for trace in traces:
            _trace(made, rng, trace)
        made.tries[key] += 1
        now += cost + 100
    if rng.random() < 0.2:
        copies += 1
        _copy(made, f"%RETRY%{group}", key[0], now)
    if rng.random() < 0.2:
        is_dead = True
        _copy(made, f"%DLQ%{group}", key[0], now)
    _judge(made, key, successes, copies, is_dead, None if commit is None else commit > number)
    if successes:
        made.took[key] = min(successes) - born


def _judge(
    made: History, key: Key, successes: list[int], copies: int, is_dead: bool, has_passed: bool | None
) -> None:
    if successes:
        made.states[key] = "consumed"
    elif is_dead:
        made.states[key] = "dead"
    elif made.tries[key] or copies:
        made.states[key] = "failing"
    elif has_passed is not None:
        made.states[key] = "passed" if has_passed else "waiting"
    if len(successes) > 1:
        made.repeated.add(key)


def _copy(made: History, topic: str, msg_id: str, stored: int) -> None:
    where = {"cluster": made.name, "broker": "b", "store": made.name}
    said = {"RETRY_TOPIC": "orders"}
    made.log.append(message(topic, **where, id=msg_id, stored=stored, reconsume_times=1, properties=said))


def _trace(made: History, rng: random.Random, trace: Trace) -> None:
    # Now and then an answer is lost, and the trace is sent again.
    for _ in range(rng.choice((1, 1, 1, 2))):
        made.traces.append(trace_message(trace, cluster=made.name))


def nearest_rank(values: list[int], share: float) -> int:
    return sorted(values)[math.ceil(share * len(values)) - 1]


@pytest.mark.nightly
def test_every_message_and_group_ends_as_its_history_says(session: SparkSession, seeds: list[int]) -> None:
    histories = {f"w{seed}": history(seed) for seed in seeds}
    report = trace_report(
        log_of(session, [row for made in histories.values() for row in made.log], COPY_COLUMNS),
        log_of(session, [row for made in histories.values() for row in made.traces], TRACE_COLUMNS),
        frame(session, [row for made in histories.values() for row in made.committed], COMMITTED),
        begin=None,
        end=None,
        slow_call_ms=1000,
        slow_wait_ms=1000,
        keep=cached,
    )
    names = ("messages", "deliveries", "repeated", "latency")
    tables: dict[str, dict[str, list[Row]]] = {name: defaultdict(list) for name in names}
    for name in names:
        for row in rows_of(report.tables[name]):
            tables[name][row["cluster"]].append(row)
    order = ("consumed", "dead", "failing", "passed", "waiting")
    for name, made in histories.items():
        delivered = {(row["msg_id"], row["group"]): row for row in tables["deliveries"][name]}
        assert {key: row["state"] for key, row in delivered.items()} == made.states, name
        took = {
            key: row["end_to_end_ms"] for key, row in delivered.items() if row["end_to_end_ms"] is not None
        }
        assert took == made.took, name
        assert Counter({key: row["tries"] for key, row in delivered.items() if row["tries"]}) == made.tries, (
            name
        )
        stories = {row["msg_id"]: row for row in tables["messages"][name]}
        assert len(stories) == sum(row["kind"] == "normal" for row in made.log), name
        for msg_id, story in stories.items():
            states = [state for key, state in made.states.items() if key[0] == msg_id]
            best = min(states, key=order.index, default="waiting")
            assert story["state"] == ("unread" if best == "waiting" else best), (name, msg_id)
        assert sum(row["sends"] > 0 for row in stories.values()) == made.sends, name
        assert {(row["msg_id"], row["group"]) for row in tables["repeated"][name]} == made.repeated, name
        for row in tables["latency"][name]:
            if row["level"] == "topic":
                assert row["p95_ms"] == nearest_rank(list(made.took.values()), 0.95), name
