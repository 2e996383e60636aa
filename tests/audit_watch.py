"""Watches all tests: a successful call of an unsafe route leaves the audit rows that the table names.

The table is tests/console/routes.txt. This is a plugin (addopts, -p), so that no test can forget it: the
fixture `audit_is_watched` (tests/platform_fixtures.py) looks at each call. When the whole suite ran, every
unsafe route of the table must have been called with success by some test, or the run fails: a route that
nothing calls proves nothing.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

_KEY = "called_routes"
called: set[str] = set()
ROOMS = {"tests/clusters", "tests/console", "tests/reports"}
"""Whose tests together call every route (`make test-platform`)."""


def fits(action: str, expected: str) -> bool:
    """`topic.create`, one of several by comma, or `topic.` for all that begin so."""
    return any(
        action.startswith(each) if each.endswith(".") else action == each for each in expected.split(",")
    )


def watch(monkeypatch: pytest.MonkeyPatch) -> None:
    from console.core.views import PlatformView
    from tests.console.route_map import UNSAFE, table

    rows, began, finalized = table(), PlatformView.initial, PlatformView.finalize_response

    def initial(self: Any, request: Any, *args: Any, **kwargs: Any) -> None:
        self.watched_from = _last_id() if request.method in UNSAFE else None
        began(self, request, *args, **kwargs)

    def finalize_response(self: Any, request: Any, response: Any, *args: Any, **kwargs: Any) -> Any:
        _look(rows, self, request, response)
        return finalized(self, request, response, *args, **kwargs)

    monkeypatch.setattr(PlatformView, "initial", initial)
    monkeypatch.setattr(PlatformView, "finalize_response", finalize_response)


def _look(rows: dict[str, Any], view: Any, request: Any, response: Any) -> None:
    before = getattr(view, "watched_from", None)
    if before is None or not 200 <= response.status_code < 300 or "Idempotent-Replay" in response:
        return
    key = f"{request.method} {request.resolver_match.route}"
    row = rows.get(key)
    if row is None:
        return  # Not in the table: test_routes says so. Or a view of a test.
    called.add(key)
    if row.audit == "read" or view.is_dry_run:
        return
    actions = _actions_after(before)
    assert any(fits(action, row.audit) for action in actions), (
        f"{key} answered {response.status_code} and left {actions or 'no audit row'}, expected {row.audit}"
    )


def _last_id() -> int:
    from console.core.models import AuditHead

    return AuditHead.objects.filter(pk=1).values_list("last_id", flat=True).first() or 0


def _actions_after(last_id: int) -> list[str]:
    from console.core.models import AuditEntry

    return list(AuditEntry.objects.filter(id__gt=last_id).values_list("action", flat=True))


# -- at the end of a whole run ------------------------------------------------------------------------------


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """A worker of a parallel run has ended."""
    called.update(getattr(node, "workeroutput", {}).get(_KEY, []))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput[_KEY] = sorted(called)
        return
    if is_whole(session.config) and not session.testsfailed and (missing := uncalled()):
        reporter = session.config.pluginmanager.get_plugin("terminalreporter")
        reporter.write_line("no test called these routes with success (tests/audit_watch.py):", red=True)
        for key in missing:
            reporter.write_line(f"  {key}", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def is_whole(config: pytest.Config) -> bool:
    """Every test of the platform was asked for: no names, no -k, nothing left over from last time.

    `-m` may leave markers out, as `make test` does; one that it asks for narrows the run.
    """
    option = config.option
    is_narrowed = option.keyword or option.collectonly or getattr(option, "lf", False) or option.deselect
    is_narrowed = is_narrowed or re.sub(r"\bnot \w+|\band\b", "", option.markexpr).strip()
    asked = {argument.rstrip("/") for argument in config.args}
    return not is_narrowed and ("tests" in asked or asked >= ROOMS)


def uncalled() -> list[str]:
    from tests.console.route_map import UNSAFE, table

    return sorted(key for key in table() if key.split()[0] in UNSAFE and key not in called)
