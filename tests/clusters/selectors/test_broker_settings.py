"""Drift and difference are two things."""

from __future__ import annotations

from clusters.selectors.broker_settings import Told, matrix


def lines_of(*brokers: Told) -> dict[str, dict[str, object]]:
    return {line["key"]: line for line in matrix(brokers)}


def test_a_broker_that_runs_with_another_value_has_drifted() -> None:
    lines = lines_of(
        Told("a-0", {"traceOn": "true"}, {"traceOn": "false", "listenPort": "1"}),
        Told("b-0", {"traceOn": "true"}, {"traceOn": "true", "listenPort": "2"}),
    )
    assert (lines["traceOn"]["is_drifted"], lines["traceOn"]["is_different"]) == (True, True)
    assert (lines["listenPort"]["is_drifted"], lines["listenPort"]["is_different"]) == (False, False)


def test_brokers_may_differ_as_they_should() -> None:
    lines = lines_of(
        Told("a-0", {"maxMessageSize": "1"}, {"maxMessageSize": "1"}),
        Told("b-0", {"maxMessageSize": "2"}, {"maxMessageSize": "2"}),
    )
    line = lines["maxMessageSize"]
    assert (line["is_drifted"], line["is_different"]) == (False, True)


def test_a_silent_broker_says_nothing_and_is_blamed_for_nothing() -> None:
    lines = lines_of(Told("a-0", {"traceOn": "true"}, None), Told("b-0", {}, {"traceOn": "false"}))
    line = lines["traceOn"]
    assert (line["is_drifted"], line["is_different"]) == (False, False)
    assert [cell["running"] for cell in line["cells"]] == [None, "false"]  # type: ignore[attr-defined]
