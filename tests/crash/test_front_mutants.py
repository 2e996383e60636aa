"""Groups that lose the front of their log, which the checkers must catch. Each story is also told of a sound
group, which must pass.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from engine.errors import EngineError
from tests.crash.conftest import MakeGroup
from tests.crash.drain import drain
from tests.crash.full_members import MASTER, SETTINGS, TO_OTHER, Round, make_full_members
from tests.crash.log_fronts import AT_ANY_HOUR, QUIET_S, SEGMENT_BYTES, age, lose_front, started
from tests.crash.small_disk import FORCE

pytestmark = pytest.mark.crash_long

SOUND = "engine.broker"


def mutant(name: str) -> str:
    return f"tests.crash.mutants.{name}"


@pytest.mark.parametrize(
    ("launcher", "checkers"),
    [(SOUND, set()), (mutant("forced_deletion"), {"front", "lost", "phantom", "log-start"})],
)
def test_a_full_disk_that_costs_messages_is_caught(
    make_group: MakeGroup, tmp_path: Path, launcher: str, checkers: set[str], seed: int
) -> None:
    campaign = make_full_members(make_group, tmp_path, 2, seed, launcher=launcher)
    campaign.start()
    campaign.play(Round(MASTER, TO_OTHER, FORCE))
    campaign.settle()
    caught = {violation.checker for violation in campaign.judge()}
    assert checkers <= caught and bool(checkers) == bool(caught)


@pytest.mark.parametrize(
    ("launcher", "checkers"), [(SOUND, set()), (mutant("slave_expires_alone"), {"front"})]
)
def test_a_slave_that_expires_by_itself_is_caught(
    make_group: MakeGroup, launcher: str, checkers: set[str], seed: int
) -> None:
    campaign = started(make_group, 2, seed, launcher=launcher, settings={**SETTINGS, **AT_ANY_HOUR})
    slave = campaign.group.members[1]
    age(slave, 3 * SEGMENT_BYTES)
    time.sleep(QUIET_S)
    campaign.look()
    assert {violation.checker for violation in campaign.violations(persist_interval_s=None)} == checkers


@pytest.mark.parametrize(
    ("launcher", "checkers"), [(SOUND, set()), (mutant("log_start_ignored"), {"front", "lost"})]
)
def test_an_election_that_looks_at_log_ends_only_is_caught(
    make_group: MakeGroup, launcher: str, checkers: set[str], seed: int
) -> None:
    campaign = started(make_group, 2, seed, launcher=launcher, settings=SETTINGS)
    master, slave = campaign.group.members
    lose_front(slave, 2 * SEGMENT_BYTES)
    campaign.kill(master)
    try:
        campaign.promote(slave)
    except EngineError as error:
        assert "lacks" in error.text and not checkers
    master.start()
    campaign.meet_master()
    drain(campaign.master.address, campaign.history, node=campaign.node)
    caught = {violation.checker for violation in campaign.violations(persist_interval_s=None)}
    assert checkers <= caught and bool(checkers) == bool(caught)
