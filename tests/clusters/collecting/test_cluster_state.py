"""What follows from brokers' answers: rows that changed, events, points; silence keeps what was known."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest

from clusters.collecting.answers import Answer, Watched
from clusters.collecting.cluster_state import ClusterState
from clusters.collecting.findings import Findings

START = datetime(2026, 1, 1, tzinfo=UTC)
T0_MS = int(START.timestamp() * 1000)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def topic(*ends: int, low: int = 0) -> dict[str, Any]:
    queues = [[number, low, end] for number, end in enumerate(ends)]
    return {
        "readQueues": len(ends),
        "writeQueues": len(ends),
        "perm": 6,
        "isOrdered": False,
        "queues": queues,
    }


def group(*members: str, **subscriptions: str) -> dict[str, Any]:
    listed = [[member, "10.0.0.1:5", "JAVA", 400] for member in members]
    wanted = {name: [expression, "TAG"] for name, expression in subscriptions.items()}
    return {"members": listed, "model": "CLUSTERING", "type": "CONSUME_PASSIVELY", "subscriptions": wanted}


def answer(
    seconds: float, name: str = "a", *, full: bool = False, role: str = "ASYNC_MASTER", **sections: Any
) -> Answer:
    about = {"broker": {"name": name, "id": 0}, "ha": {"role": role}} if full else {}
    return Answer(f"{name}:{role}", at(seconds), is_full=full, sections={**about, **sections})


def state_of(*answers: Answer) -> tuple[ClusterState, Findings]:
    state = ClusterState("DefaultCluster")
    for one in answers:
        state.take(one)
    return state, state.work_out(at(0))


def lagging(committed: int = 40, end: int = 100) -> ClusterState:
    offsets = {"orders@billing": [[0, committed, T0_MS - 5000]]}
    state, _ = state_of(
        answer(0, full=True, topics={"orders": topic(end)}, groups={"billing": group("c1")}, offsets=offsets)
    )
    return state


def test_lag_in_messages_and_the_age_of_the_oldest() -> None:
    state = lagging()
    row = state.groups["billing"]
    assert (row.lag, row.oldest_unread_at, row.member_count) == (60, at(-5), 1)
    assert state.topics["orders"].messages == 100
    assert state.topics["orders"].group_count == 1


def test_what_is_not_known_stays_unknown() -> None:
    offsets = {"orders@billing": [[0, 40], [1, 100, T0_MS]]}
    state, _ = state_of(
        answer(0, full=True, topics={"orders": topic(100, 200)}, groups={"billing": group()}, offsets=offsets)
    )
    row = state.groups["billing"]
    assert (row.lag, row.oldest_unread_at, row.consume_rate, row.eta_s) == (160, None, None, None)
    assert state.topics["orders"].put_rate is None


def test_a_group_that_subscribes_and_never_committed_has_no_lag() -> None:
    state, _ = state_of(
        answer(
            0, full=True, topics={"orders": topic(9)}, groups={"new": group("c1", orders="TagA")}, offsets={}
        )
    )
    assert state.groups["new"].lag is None
    assert state.subscriptions[("orders", "new")].expression == "TagA"
    assert state.topics["orders"].group_count == 1


def test_a_topic_without_a_message_leaves_nothing_unread() -> None:
    tables = {"topics": {"orders": topic(0, 0)}, "groups": {"new": group("c1", orders="*")}, "offsets": {}}
    state, _ = state_of(answer(0, full=True, **tables))
    assert (state.groups["new"].lag, state.groups["new"].lag_is_partial) == (0, False)


@pytest.mark.parametrize(
    ("committed", "lag"),
    [([[0, 100]], None), ([[0, 40]], 60), ([[0, 100], [1, 200]], 0)],
    ids=["rest-unknown", "at-least", "all"],
)
def test_a_queue_without_an_offset_never_counts_as_read(committed: list[list[int]], lag: int | None) -> None:
    tables = {"topics": {"orders": topic(100, 200, 0)}, "groups": {"billing": group("c1")}}
    state, _ = state_of(answer(0, full=True, **tables, offsets={"orders@billing": committed}))
    is_partial = len(committed) == 1
    row, pair = state.groups["billing"], state.subscriptions[("orders", "billing")]
    assert (row.lag, row.lag_is_partial) == (pair.lag, pair.lag_is_partial) == (lag, is_partial)
    assert ('"committed":null' in pair.queues) == is_partial
    assert (row.eta_s, pair.eta_s) == ((None, None) if lag != 0 else (0.0, 0.0))
    assert state.topics["orders"].lag == (None if is_partial else lag)


def test_a_read_retry_topic_does_not_make_an_unread_topic_look_read() -> None:
    tables = {
        "topics": {"orders": topic(9), "%RETRY%billing": topic(3)},
        "groups": {"billing": group("c1", **{"orders": "*", "%RETRY%billing": "*"})},
        "offsets": {"%RETRY%billing@billing": [[0, 3]]},
    }
    state, _ = state_of(answer(0, full=True, **tables))
    row = state.groups["billing"]
    assert (row.lag, row.lag_is_partial, row.eta_s) == (None, True, None), "nor to be clear soon"


def test_a_topics_lag_is_its_groups_together_and_unknown_when_one_is() -> None:
    offsets = {"orders@billing": [[0, 40]], "orders@audit": [[0, 90]], "idle@billing": [[0, 5]]}
    state, _ = state_of(
        answer(
            0,
            full=True,
            topics={"orders": topic(100), "idle": topic(5), "unread": topic(7)},
            groups={"billing": group(), "audit": group()},
            offsets=offsets,
        )
    )
    assert {name: row.lag for name, row in state.topics.items()} == {"orders": 70, "idle": 0, "unread": 0}
    state.take(answer(10, groups={"new": group("c1", orders="*")}))
    assert "orders" in {row.name for row in state.work_out(at(10)).topics}
    assert state.topics["orders"].lag is None, "the new group has committed nothing yet"


def test_a_topic_changes_when_what_its_groups_have_read_does() -> None:
    state = lagging()
    state.take(answer(10, offsets={"orders@billing": [[0, 75]]}))
    found = state.work_out(at(10))
    assert [(row.name, row.lag) for row in found.topics] == [("orders", 25)]


def test_only_what_changed_is_found() -> None:
    state = lagging(100, 100)
    state.work_out(at(10))
    state.work_out(at(20))
    assert state.work_out(at(30)) == Findings(brokers=[])
    state.take(answer(40, topics={"orders": topic(110)}))
    found = state.work_out(at(40))
    assert [row.name for row in found.topics] == ["orders"]
    assert [(row.name, row.lag) for row in found.groups] == [("billing", 10)]


def test_rates_fall_to_zero_when_nothing_comes_any_more() -> None:
    state = lagging(100, 100)
    state.work_out(at(10))
    state.take(answer(20, topics={"orders": topic(150)}, offsets={"orders@billing": [[0, 120, T0_MS]]}))
    state.work_out(at(20))
    assert (state.topics["orders"].put_rate, state.groups["billing"].consume_rate) == (5.0, 2.0)
    state.work_out(at(30))
    state.work_out(at(40))
    assert (state.topics["orders"].put_rate, state.groups["billing"].consume_rate) == (0.0, 0.0)
    assert state.groups["billing"].never_clears


def test_a_broker_that_is_silent_keeps_its_figures_and_their_age() -> None:
    state = lagging()
    state.take(Answer("a:ASYNC_MASTER", at(10), error="no answer"))
    found = state.work_out(at(10))
    [row] = found.brokers
    assert (row.is_reachable, row.error, row.sampled_at) == (False, "no answer", at(0))
    assert state.groups["billing"].lag == 60
    assert not found.gone_topics and not found.rebalances


def test_figures_of_brokers_are_put_together() -> None:
    one = {"topics": {"orders": topic(100)}, "groups": {}, "offsets": {"orders@billing": [[0, 90, T0_MS]]}}
    other = {
        "topics": {"orders": topic(50)},
        "groups": {},
        "offsets": {"orders@billing": [[0, 45, T0_MS - 9]]},
    }
    state, _ = state_of(answer(0, "a", full=True, **one), answer(0, "b", full=True, **other))
    assert state.groups["billing"].lag == 15
    assert state.topics["orders"].read_queues == 2
    assert orjson.loads(state.topics["orders"].brokers).keys() == {"a", "b"}
    state.keep_brokers(["a:ASYNC_MASTER"])
    found = state.work_out(at(10))
    assert state.groups["billing"].lag == 10
    assert found.gone_brokers == [("b", 0)]


def test_the_master_speaks_for_its_group() -> None:
    about = {"topics": {"orders": topic(100)}, "groups": {}, "offsets": {}}
    behind = {"topics": {"orders": topic(60)}, "groups": {}, "offsets": {}}
    state, _ = state_of(
        answer(0, full=True, role="SLAVE", **behind), answer(0, full=True, role="ASYNC_MASTER", **about)
    )
    assert state.topics["orders"].messages == 100


def test_who_came_and_who_went() -> None:
    state = lagging()
    state.take(answer(10, groups={"billing": group("c2", "c3")}))
    [event] = state.work_out(at(10)).rebalances
    assert (event.joined, event.left, event.member_count) == (["c2", "c3"], ["c1"], 2)


def test_what_is_gone_is_found_gone() -> None:
    state = lagging()
    state.take(
        answer(10, topics={"orders": None}, groups={"billing": None}, offsets={"orders@billing": None})
    )
    found = state.work_out(at(10))
    assert (found.gone_topics, found.gone_groups) == (["orders"], ["billing"])
    assert found.gone_subscriptions == [("billing", "orders")]


def test_only_watched_names_are_worked_out_every_second() -> None:
    offsets = {"orders@billing": [[0, 0, T0_MS]], "orders@audit": [[0, 0, T0_MS]]}
    tables = {"topics": {"orders": topic(10)}, "groups": {}, "offsets": offsets}
    state, _ = state_of(answer(0, full=True, **tables))
    state.take(answer(1, topics={"orders": topic(20)}))
    found = state.work_out(at(1), Watched(groups=frozenset(["billing"])))
    assert [(row.name, row.lag) for row in found.groups] == [("billing", 20)]
    assert not found.topics
    found = state.work_out(at(10))
    assert {row.name for row in found.groups} >= {"audit"}
    assert [row.name for row in found.topics] == ["orders"]


def test_kinds_of_topics() -> None:
    names = {
        "%RETRY%g": "retry",
        "%DLQ%g": "dlq",
        "TBW102": "system",
        "orders": "normal",
        "DefaultCluster": "system",
    }
    state, _ = state_of(
        answer(0, full=True, topics={name: topic(1) for name in names}, groups={}, offsets={})
    )
    assert {name: state.topics[name].kind for name in names} == names
