"""F39: one member's disk fills up, in each role, and somebody is promoted: nothing acknowledged is lost, and
nothing that could be read and has not expired vanishes at the front.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash.cluster import ASYNC, SYNC
from tests.crash.conftest import MakeGroup
from tests.crash.full_members import BY_HAND, MASTER, SLAVE, TO_FULL, Round, every_round, make_full_members
from tests.crash.small_disk import FORCE, REFUSE


def test_a_full_disk_and_a_promotion_lose_nothing(make_group: MakeGroup, tmp_path: Path, seed: int) -> None:
    rounds = [Round(SLAVE, TO_FULL, FORCE), Round(MASTER, BY_HAND, REFUSE)]
    make_full_members(make_group, tmp_path, 2, seed, flush=SYNC).run(rounds)


@pytest.mark.crash_long
@pytest.mark.parametrize("flush", [SYNC, ASYNC])
@pytest.mark.parametrize("size", [2, 3])
def test_every_member_in_every_role_fills_up(
    make_group: MakeGroup, tmp_path: Path, size: int, flush: str, seed: int
) -> None:
    """18 rounds each, 72 in all."""
    campaign = make_full_members(make_group, tmp_path, size, seed, flush=flush)
    campaign.run(campaign.random.sample(every_round(), len(every_round())))
    print(f"{len(every_round())} rounds, {campaign.acknowledged()} acknowledged", end=", ")
    print(f"{len(campaign.refusals)} promotions of a full member refused: {set(campaign.refusals)}")
