"""How a parallel run (`-n`) shares the tests out among its workers, and keeps some of them alone.

A file is one unit, so that what its fixtures start is started once; but a test that starts everything itself
and mostly waits is a unit of its own. Rooms of long tests come first, so that none is left for the end.

A test marked `alone` measures time or memory: it runs when no other test does. Every test holds one lock of
the whole run, together with the others, and such a test holds it for itself. These come last, where nobody
waits for them.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Generator

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

_SINGLY = ("tests/crash/", "tests/fuzz/", "tests/limits/")
_TURNS = ("tests/packaging/", "tests/test_setup.py", "tests/fuzz/", "tests/limits/", "tests/crash/", "")
_ALONE = "alone"


class Sharing(LoadScopeScheduling):
    """The units in the order in which the workers have collected them."""

    def __init__(self, config: pytest.Config, log: Producer | None = None) -> None:
        config.option.loadscopereorder = False
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        return nodeid if nodeid.startswith(_SINGLY) else nodeid.partition("::")[0]


@pytest.hookimpl(tryfirst=True, optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Sharing | None:
    return Sharing(config, log) if config.getoption("dist") == "load" else None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):
        items.sort(key=_turn)


def _turn(item: pytest.Item) -> int:
    if item.get_closest_marker(_ALONE) is not None:
        return len(_TURNS)
    return next(turn for turn, room in enumerate(_TURNS) if item.nodeid.startswith(room))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Outside everything: waiting for a turn is not the test's time."""
    if not hasattr(item.config, "workerinput"):
        return (yield)
    folder = item.config._tmp_path_factory.getbasetemp().parent  # type: ignore[attr-defined]
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_SH if item.get_closest_marker(_ALONE) is None else fcntl.LOCK_EX)
        return (yield)
    finally:
        os.close(lock)
