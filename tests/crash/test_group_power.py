"""F18 and F5 for groups: the power of a member's machine fails, for real (as root, on a disk of its own)."""

from __future__ import annotations

import time

import pytest

from tests.crash.cluster import ASYNC, SYNC
from tests.crash.conftest import MakeGroup
from tests.crash.drain import crashing
from tests.crash.group import until
from tests.crash.group_campaign import GroupCampaign
from tests.crash.power import Ext4Disk
from tests.crash.test_group_faults import SOON_LATE, in_sync_ids

pytestmark = [pytest.mark.crash_long, pytest.mark.needs_mounts]


@pytest.mark.parametrize("flush", [SYNC, ASYNC])
def test_a_master_that_lost_its_tail_is_not_chosen_again(
    make_group: MakeGroup, disk: Ext4Disk, flush: str, seed: int
) -> None:
    """Its slaves have what its disk lost: nobody is asked, and whoever has the longest log reigns."""
    group = make_group(3, flush=flush, stores={0: disk.store})
    campaign = GroupCampaign(group, seed)
    campaign.start()
    for number in range(1, 4):
        if group.master()[0].number != 0:
            campaign.promote(group.members[0], wanted=0)
            campaign.first_ack(time.monotonic())
            group.await_in_sync()
            campaign.meet_master()
        campaign.begin_load()
        campaign.random_pause(0.8, 1.6)
        with crashing(campaign.history):
            disk.cut(campaign.master)
        cut_at = time.monotonic()
        campaign.end_load()
        group.members[0].launch()
        campaign.first_ack(cut_at)
        campaign.settle()
        campaign.verify_group(at_least=10 * number)
        print(f"after the cut member {campaign.master.number} reigns, epoch {campaign.epoch}")


def test_the_last_one_standing_keeps_what_it_acknowledged_alone(
    make_group: MakeGroup, disk: Ext4Disk, seed: int
) -> None:
    """One is enough here; the others come back after the cut and are not cut below what is confirmed."""
    group = make_group(
        3, flush=SYNC, settings={**SOON_LATE, "minInSyncReplicas": "1"}, stores={0: disk.store}
    )
    campaign = GroupCampaign(group, seed)
    campaign.start()
    first, second, third = group.members
    campaign.load_for(0.5)
    for member in (second, third):
        member.kill()
    until(lambda: in_sync_ids(group) == {0}, "the master stands alone")
    campaign.begin_load()
    time.sleep(1.5)
    with crashing(campaign.history):
        disk.cut(first)
    campaign.end_load()
    for member in (second, third, first):
        member.launch()
    campaign.first_ack(time.monotonic())
    campaign.settle()
    assert campaign.master is first
    campaign.verify_group()
