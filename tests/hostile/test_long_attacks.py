"""Each attack for ten seconds, alone on the machine: slowest request of a good client, memory, its return."""

from __future__ import annotations

import pytest

from tests.hostile.attacks import MIB
from tests.hostile.victim import OTHER, OWN, Victim, attack

pytestmark = [pytest.mark.nightly, pytest.mark.alone]

SECONDS = 10.0
MOST_ABOVE_IDLE = 300 * MIB
SLOWEST_S = 1.0
BACK_S = 60.0
ATTACKS = [
    ("unfinished_frames", 200),
    ("refused_then_unfinished", 200),
    ("refused_then_unfinished", 10_000),
    ("unread_pulls", 300),
    ("unread_pulls", 5_000),
    ("pipelined_pulls", 300),
    ("long_polls", 300),
    ("slow_loris", 2_000),
    ("header_bombs", 100),
    ("sql_bombs", 100),
]


def check(victim: Victim, name: str, count: int, source: str) -> None:
    outcome = attack(victim, name, count=count, seconds=SECONDS, source=source, kept_bytes=64 * MIB)
    report = outcome.report
    print(
        f"{name} × {count} from {source}: {outcome.above_idle_bytes >> 20} MB above idle, slowest of "
        f"{report.requests} requests {report.slowest_s:.2f} s, {report.busy} busy, given back after "
        f"{outcome.given_back_s:.1f} s, {outcome.tally['closed_by_server']} closed"
    )
    assert not report.failures, report
    assert outcome.above_idle_bytes <= MOST_ABOVE_IDLE
    assert report.slowest_s <= SLOWEST_S
    assert outcome.given_back_s < BACK_S


@pytest.mark.parametrize("source", [OTHER, OWN])
@pytest.mark.parametrize(("name", "count"), ATTACKS)
def test_a_broker_under_attack(fresh_broker: Victim, name: str, count: int, source: str) -> None:
    check(fresh_broker, name, count, source)


@pytest.mark.parametrize("source", [OTHER, OWN])
def test_a_guarded_broker_under_attack(fresh_guarded: Victim, source: str) -> None:
    check(fresh_guarded, "refused_then_unfinished", 100, source)


@pytest.mark.parametrize("source", [OTHER, OWN])
@pytest.mark.parametrize(("name", "count"), [("registrations", 50), ("refused_then_unfinished", 200)])
def test_a_name_server_under_attack(name_server: Victim, name: str, count: int, source: str) -> None:
    check(name_server, name, count, source)
