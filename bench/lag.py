"""How far a slave is behind its master, in seconds: the age of the newest byte that it has.

Both members are asked where their logs end, each by a thread and over a connection of its own. A master's
answer counts from when it was asked for and a slave's from when it came, so what is reported is never less
than the truth, by as much as an answer takes.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise

from engine.protocol.bodies.brokers import GroupStatus
from engine.protocol.codes import RequestCode
from tests.crash.wire import Address, Link

SAMPLE_S = 0.02
_ANSWER_S = 10.0


def status(link: Link) -> GroupStatus:
    answer = link.call(RequestCode.SIGNALBOX_GROUP_STATUS, timeout_s=_ANSWER_S)
    if answer.code != 0:
        raise RuntimeError(f"a member does not say how it is: {answer}")
    return GroupStatus.decode(answer.body)


@dataclass(slots=True)
class Timeline:
    """Where a member's log ended, by the time of the clock that `is_early` says."""

    is_early: bool
    times: list[float] = field(default_factory=list)
    log_ends: list[int] = field(default_factory=list)

    def note(self, asked: float, answered: float, log_end: int) -> None:
        self.times.append(asked if self.is_early else answered)
        self.log_ends.append(log_end)


def lags(master: Timeline, slave: Timeline) -> list[float]:
    """For every answer of the slave that the master's cover: how long ago the master's log ended there."""
    found = []
    for now, log_end in zip(slave.times, slave.log_ends, strict=True):
        passed = bisect_right(master.log_ends, log_end)
        if not passed or now > master.times[-1]:
            continue
        is_level = passed == len(master.log_ends)
        found.append(0.0 if is_level else max(0.0, now - _reached(master, passed, log_end)))
    return found


def _reached(master: Timeline, passed: int, log_end: int) -> float:
    """When the master's log grew beyond this end; evenly between two answers."""
    before, after = master.log_ends[passed - 1], master.log_ends[passed]
    share = (log_end - before) / (after - before)
    return master.times[passed - 1] + share * (master.times[passed] - master.times[passed - 1])


def intervals(times: Sequence[float]) -> list[float]:
    return [later - earlier for earlier, later in pairwise(times)]


@contextmanager
def watched(master: Address, slave: Address) -> Iterator[tuple[Timeline, Timeline]]:
    """Both are asked until the block ends; what a thread raises is raised then."""
    lines = Timeline(is_early=True), Timeline(is_early=False)
    is_over, failures = threading.Event(), []

    def watch(address: Address, line: Timeline) -> None:
        try:
            with Link(address) as link:
                _sample(link, line, is_over.is_set)
        except (OSError, RuntimeError) as error:
            failures.append(error)

    threads = [threading.Thread(target=watch, args=pair) for pair in zip((master, slave), lines, strict=True)]
    for thread in threads:
        thread.start()
    try:
        yield lines
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
    if failures:
        raise failures[0]


def _sample(link: Link, line: Timeline, is_over: Callable[[], bool]) -> None:
    while not is_over():
        asked = time.monotonic()
        log_end = status(link).log_end
        answered = time.monotonic()
        line.note(asked, answered, log_end)
        time.sleep(max(0.0, asked + SAMPLE_S - time.monotonic()))
