"""What befalls a group of three: a member out of the set, all killed, a master that sleeps, a slow slave, a
kill in the middle of catching up, a rolling restart (F20, F21, F25, F26 and the trap of three)."""

from __future__ import annotations

import threading
import time

import pytest

from engine.errors import EngineError
from tests.crash import requests as rq
from tests.crash.cluster import ASYNC, SYNC
from tests.crash.conftest import MakeGroup
from tests.crash.group import Group, Member, until
from tests.crash.group_campaign import GroupCampaign
from tests.crash.load import Producer
from tests.crash.slow_link import LISTEN_HOST, SlowLink

SOON_LATE = {"haMaxTimeSlaveNotCatchup": "3000"}
LEAVES_S, COMES_BACK_S = 20.0, 20.0
UNAVAILABLE_S = 10.0


def in_sync_ids(group: Group) -> set[int]:
    found = group.find_master()
    return set(found[1].in_sync.ids) if found is not None else set()


def drop_third(campaign: GroupCampaign) -> tuple[Member, Member, Member]:
    """The master, the member that stays in the set, and the one that has left it."""
    first, second, third = campaign.group.members
    campaign.load_for(0.5)
    third.kill()
    until(lambda: in_sync_ids(campaign.group) == {0, 1}, "the dead member leaves the set")
    campaign.begin_load()
    time.sleep(1.0)
    until(lambda: campaign.acknowledged() > 50, "there are acknowledgements")
    return first, second, third


@pytest.mark.crash_long
def test_who_is_not_in_the_set_cannot_become_master(make_group: MakeGroup, seed: int) -> None:
    """The trap of three: the master acknowledged with one slave while the other was away."""
    group = make_group(3, flush=ASYNC, settings=SOON_LATE)
    campaign = GroupCampaign(group, seed)
    campaign.start()
    first, second, third = drop_third(campaign)
    campaign.kill(first)
    second.freeze()
    campaign.end_load()
    third.start()
    with pytest.raises(EngineError, match="are needed"):
        group.promote(third)
    second.thaw()
    with pytest.raises(EngineError, match="only the longest log may win"):
        group.promote(third, wanted=2)
    assert campaign.promote(third).master_id == 1
    first.start()
    campaign.settle()
    campaign.verify_group()


@pytest.mark.crash_long
@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("flush", [SYNC, ASYNC])
def test_all_are_killed_and_come_back_together(
    make_group: MakeGroup, flush: str, size: int, seed: int
) -> None:
    group = make_group(size, flush=flush)
    campaign = GroupCampaign(group, seed)
    campaign.start()
    for number in range(1, 6):
        campaign.begin_load()
        campaign.random_pause(0.5, 1.5)
        begun = time.monotonic()
        campaign.kill(*group.members)
        campaign.end_load()
        for member in campaign.random.sample(group.members, size):
            member.launch()
        campaign.first_ack(begun)
        campaign.settle()
        campaign.verify_group(at_least=10 * number)


def sleep_through_a_promotion(campaign: GroupCampaign, seconds: float) -> None:
    group, old = campaign.group, campaign.master
    heir = next(member for member in group.members if member is not old)
    node, epoch = campaign.node, campaign.epoch
    campaign.begin_load()
    time.sleep(0.5)
    old.freeze()
    promoting = threading.Thread(target=campaign.promote, args=(heir,), kwargs={"wanted": heir.number})
    promoting.start()
    time.sleep(seconds)
    old.thaw()
    # Whoever still believes in the old master sends to it all the while.
    stale = Producer("stale", old.address, campaign.history, rate_per_s=100, node=node, epoch=epoch)
    stale.next_seq = int(time.monotonic() * 1000)
    stale.start()
    promoting.join(60)
    assert not promoting.is_alive()
    until(lambda: campaign.group.master()[0] is heir, "the heir reigns")
    campaign.first_ack(time.monotonic())
    time.sleep(1.0)
    stale.stop()
    stale.join(10)
    campaign.end_load()
    campaign.settle()
    campaign.verify_group(at_least=50)
    assert old.is_alive and group.status(old) is not None


@pytest.mark.crash_long
@pytest.mark.parametrize("flush", [SYNC, ASYNC])
def test_a_master_that_slept_acknowledges_nothing_any_more(
    make_group: MakeGroup, flush: str, seed: int
) -> None:
    campaign = GroupCampaign(make_group(3, flush=flush), seed)
    campaign.start()
    for seconds in (1.0, 5.0, 15.0):
        sleep_through_a_promotion(campaign, seconds)


@pytest.mark.crash_long
def test_a_slow_slave_leaves_the_set_and_comes_back(make_group: MakeGroup, seed: int) -> None:
    group = make_group(3, flush=ASYNC)
    master = group.members[0]
    master.change_settings(brokerIP2=LISTEN_HOST)
    link = SlowLink(master.ha_port)
    try:
        campaign = GroupCampaign(group, seed)
        campaign.start()
        campaign.load_for(0.5)
        link.stalled.add(2)
        campaign.begin_load()
        left_s = until(lambda: in_sync_ids(group) == {0, 1}, "the slow slave leaves", 60)
        before = campaign.acknowledged()
        time.sleep(2.0)
        assert campaign.acknowledged() > before + 10, "writes go on without it"
        link.stalled.clear()
        back_s = until(lambda: in_sync_ids(group) == {0, 1, 2}, "it comes back", 60)
        print(f"left after {left_s:.1f} s, back after {back_s:.1f} s")
        assert left_s <= LEAVES_S and back_s <= COMES_BACK_S
        campaign.end_load()
        campaign.settle()
        campaign.verify_group()
    finally:
        link.close()


def fill(campaign: GroupCampaign, count: int) -> None:
    producers = [
        Producer(
            f"fill{number}",
            campaign.master.address,
            campaign.history,
            window=8,
            rate_per_s=10_000,
            count=count // 4,
            body_bytes=30_000,
            node=campaign.node,
            epoch=campaign.epoch,
        )
        for number in range(4)
    ]
    for producer in producers:
        producer.start()
    for producer in producers:
        producer.join(120)
        assert producer.codes.get(rq.SUCCESS, 0) > count // 8, producer.codes


@pytest.mark.crash_long
@pytest.mark.parametrize("flush", [SYNC, ASYNC])
def test_a_copy_that_is_killed_on_the_way_is_the_same_bytes(
    make_group: MakeGroup, flush: str, seed: int
) -> None:
    group = make_group(3, flush=flush)
    campaign = GroupCampaign(group, seed)
    campaign.start(0, 1)
    fill(campaign, 2_000)
    end = group.master()[1].log_end
    late = group.members[2]
    for _ in range(10):
        late.launch()
        time.sleep(campaign.random.uniform(0.8, 2.0))
        late.kill()
    late.start()
    campaign.settle()
    campaign.verify_group(at_least=1_000)
    print(f"{end >> 20} MB copied through ten kills")


@pytest.mark.crash_long
@pytest.mark.parametrize("size", [2, 3])
def test_a_rolling_restart_loses_nothing(make_group: MakeGroup, size: int, seed: int) -> None:
    group = make_group(size, flush=ASYNC)
    campaign = GroupCampaign(group, seed)
    campaign.start()
    for number in range(1, 4):
        for member in group.members:
            campaign.begin_load()
            campaign.random_pause(0.3, 0.8)
            begun = time.monotonic()
            if member is campaign.master:
                heir = campaign.random.choice([other for other in group.members if other is not member])
                assert campaign.promote(heir, wanted=heir.number).master_id == heir.number
            down_at = time.monotonic()
            member.stop()
            member.start()
            down_s = time.monotonic() - down_at
            campaign.end_load()
            # A machine that is slow to start processes is not the group's fault; ten seconds are its own.
            assert campaign.first_ack(begun) <= down_s + UNAVAILABLE_S
            campaign.settle()
            campaign.verify_group(at_least=10 * number)
    print(f"{campaign.acknowledged()} acknowledged, longest pause {max(campaign.outages_s):.1f} s")
