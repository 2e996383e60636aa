"""Each attack, short: what it makes a daemon hold, and that a good client is served meanwhile.

Bytes and connections are asserted, not times, because the machine may be busy; `test_long_attacks` asserts
those.
"""

from __future__ import annotations

import pytest

from engine.net.shares import MemoryLimits
from tests.crash.group import until
from tests.crash.wire import Link
from tests.hostile import victim as scene
from tests.hostile.attacks import MIB
from tests.hostile.victim import OTHER, OWN, Outcome, Victim, attack

COUNT, SECONDS = 40, 1.2
LIMITS = MemoryLimits()
MOST_ABOVE_IDLE = 160 * MIB
"""Both budgets, and what Python needs beside them."""


def check(outcome: Outcome, victim: Victim) -> None:
    report = outcome.report
    print(report, outcome.tally)
    assert victim.daemon.is_alive
    assert not report.failures, report
    assert report.requests >= 3
    # One read of each kind may come before anybody knows that there is no room.
    assert report.most_receiving <= LIMITS.receiving_bytes + MIB
    assert report.most_sending <= LIMITS.sending_bytes + 5 * MIB
    assert outcome.above_idle_bytes <= MOST_ABOVE_IDLE
    assert "Traceback" not in victim.daemon.tail(500)


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("unfinished_frames", OTHER),
        ("refused_then_unfinished", OWN),
        ("unread_pulls", OTHER),
        ("pipelined_pulls", OWN),
        ("long_polls", OTHER),
        ("filtered_polls", OWN),
        ("slow_loris", OWN),
        ("header_bombs", OTHER),
        ("sql_bombs", OWN),
    ],
)
def test_a_broker_under_attack_holds_little_and_serves_others(broker: Victim, name: str, source: str) -> None:
    check(attack(broker, name, count=COUNT, seconds=SECONDS, source=source, patience_s=0), broker)


def test_unfinished_frames_of_those_who_cannot_sign_leave_room_for_those_who_can(guarded: Victim) -> None:
    """A good client at the same address, whose sends are large."""
    outcome = attack(
        guarded,
        "refused_then_unfinished",
        count=COUNT,
        seconds=SECONDS,
        source=OWN,
        body=bytes(MIB),
        patience_s=0,
    )
    check(outcome, guarded)
    assert outcome.report.most_receiving <= LIMITS.receiving_bytes // 2 + 2 * MIB


def test_a_send_of_four_megabytes_works_signed_or_where_none_needs_to_sign(
    broker: Victim, guarded: Victim
) -> None:
    for victim in (broker, guarded):
        with Link(victim.daemon.address, 30.0) as link:
            fields = scene.rq.send_fields(scene.TOPIC, 1, "large")
            body, codes = bytes(4 * MIB - 1000), []
            # The attack before this one may still be in the broker's queues: busy means "send it again".
            while not codes or (codes[-1] == scene.rq.SYSTEM_BUSY and len(codes) < 20):
                codes.append(victim.call(link, scene.rq.SEND_V2, fields, body).code)
            assert codes[-1] == 0
        figures = victim.figures
        until(lambda read=figures: read()["signalbox_receiving_bytes"] == 0, "its memory is given back")


def test_a_name_server_under_a_flood_of_registrations_serves_others(name_server: Victim) -> None:
    outcome = attack(name_server, "registrations", count=10, seconds=SECONDS, source=OWN, patience_s=0)
    check(outcome, name_server)


def test_a_name_server_holds_little_of_unfinished_frames(name_server: Victim) -> None:
    check(attack(name_server, "unfinished_frames", count=COUNT, seconds=SECONDS, patience_s=0), name_server)
