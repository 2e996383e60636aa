"""What holds for every test: the needs_* markers, and no skip that is not on the one list.

The list itself is tests/requirements_probe.py. Whatever else skips (pytest.skip, importorskip, skipif, at
run time or while collecting) fails, so that a green run means that everything ran.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, settings

from tests.requirements_probe import REQUIREMENTS, NotInstalled

pytest_plugins = ["tests.sharing"]

# How long an example takes says how busy the machine is, and nothing about what it shows.
settings.register_profile("signalbox", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("signalbox")

_R = TypeVar("_R", pytest.TestReport, pytest.CollectReport)
_LISTED = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    for requirement in REQUIREMENTS:
        config.addinivalue_line("markers", f"{requirement.marker}: {requirement.meaning}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for requirement in REQUIREMENTS:
        for item in items:
            suites = requirement.long_suites
            if item.get_closest_marker(requirement.marker) is None or not suites:
                continue
            if not any(item.get_closest_marker(suite) for suite in suites):
                raise pytest.UsageError(
                    f"{item.nodeid}: {requirement.marker} is only for tests marked {' or '.join(suites)}"
                )


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """First of all, so that no fixture is built for a test that cannot run."""
    for requirement in REQUIREMENTS:
        if item.get_closest_marker(requirement.marker) and (reason := requirement.probe()):
            item.stash[_LISTED] = reason
            pytest.skip(f"{requirement.marker}: {reason}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    lacks_package = call.excinfo is not None and isinstance(call.excinfo.value, NotInstalled)
    return _refuse_skip(report, is_listed=lacks_package or _LISTED in item.stash)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    return _refuse_skip(report, is_listed=False)


def _refuse_skip(report: _R, *, is_listed: bool) -> _R:
    """An xfail also counts as "skipped" for pytest, but it ran: it passes."""
    if not report.skipped or hasattr(report, "wasxfail"):
        return report
    require_all = os.environ.get("REQUIRE_ALL") == "1"
    if is_listed and not require_all:
        return report
    why = "REQUIRE_ALL=1 allows no skip" if is_listed else "not on the list of tests/requirements_probe.py"
    report.longrepr = f"skipped, but {why}: {_reason(report)}"
    report.outcome = "failed"
    return report


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    return str(report.longrepr[2]) if isinstance(report.longrepr, tuple) else str(report.longrepr)
