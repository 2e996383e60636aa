"""Every route × every kind of caller against tests/console/routes.txt; unsafe routes name their audit rows.

The real request goes through the real middleware, authentication and permissions, and is stopped just before
the view's own code: whoever gets that far is admitted ("yes"), whatever the view would have said.
"""

from __future__ import annotations

from typing import Any

import pytest

from console.core.problems import Problem
from console.core.views import PlatformView
from tests.console.route_map import CALLERS, TABLE, UNSAFE, Route, line, routes, table
from tests.platform_fixtures import People

ADMITTED = 418


@pytest.fixture
def stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    checked = PlatformView.initial

    def initial(self: PlatformView, *args: Any, **kwargs: Any) -> None:
        checked(self, *args, **kwargs)
        raise Problem("admitted", "stopped before the view's own code", ADMITTED)

    monkeypatch.setattr(PlatformView, "initial", initial)


def answer_of(route: Route, people: People, caller: str) -> str:
    client = getattr(people, caller)
    response = client.generic(route.method, route.address(), "{}", content_type="application/json")
    is_admitted = response.status_code == ADMITTED or (route.view is None and response.status_code == 200)
    return "yes" if is_admitted else str(response.status_code)


def test_every_route_answers_every_caller_as_the_table_says(
    people: People, redis: str, stopped: None
) -> None:
    expected, wrong = table(), []
    for route in routes():
        measured = tuple(answer_of(route, people, caller) for caller in CALLERS)
        row = expected.get(route.key)
        if row is None:
            audit = "?" if route.method in UNSAFE else "-"
            wrong.append(f"missing, if this is what you want: {line(route, measured, audit)}")
        elif row.answers != measured:
            wrong.append(f"answers differ: {line(route, measured, row.audit)}")
    assert not wrong, f"{TABLE.name}, columns {' '.join(CALLERS)}:\n" + "\n".join(wrong)


def test_the_table_names_no_route_that_is_gone() -> None:
    assert not set(table()) - {route.key for route in routes()}


def test_every_unsafe_route_names_its_audit_rows() -> None:
    rows = table()
    unnamed = [
        route.key for route in routes() if route.method in UNSAFE and rows[route.key].audit in ("?", "-")
    ]
    assert not unnamed


def test_nobody_but_the_listed_few_gets_in_without_signing_in() -> None:
    opened = {key for key, row in table().items() if row.answers[0] == "yes"}
    # /metrics: from this machine, which the tests are.
    assert opened == {
        "GET (front)",
        "GET <path:page>",
        "GET healthz",
        "GET readyz",
        "GET metrics",
        "GET api/v1/session/",
        "POST api/v1/session/",
    }


def test_every_view_says_what_it_needs_for_each_of_its_methods() -> None:
    for route in routes():
        if route.view is not None:
            assert route.method in route.view.needs, (
                f"{route.key} has no entry in {route.view.__name__}.needs"
            )
            assert hasattr(route.view, route.method.lower())


def test_options_tell_strangers_nothing(people: People) -> None:
    for route in routes():
        if route.view is not None:
            assert people.anonymous.options(route.address()).status_code == 401
