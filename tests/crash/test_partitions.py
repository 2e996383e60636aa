"""F19: the network between the members breaks in every shape. Two masters never both acknowledge, nothing is
lost, and when the network is whole again there is one master that all follow."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from engine.errors import EngineError
from tests.crash.cluster import ASYNC
from tests.crash.conftest import MakeGroup
from tests.crash.group import until
from tests.crash.group_campaign import GroupCampaign
from tests.crash.network import Network
from tests.crash.test_group_faults import SOON_LATE, in_sync_ids

pytestmark = [pytest.mark.crash_long, pytest.mark.needs_namespaces]

HEAL_S = 20.0
SIZE = 3


@pytest.fixture
def network() -> Iterator[Network]:
    made = Network(SIZE)
    yield made
    made.close()


@pytest.fixture
def campaign(network: Network, make_group: MakeGroup, seed: int) -> Iterator[GroupCampaign]:
    group = make_group(
        SIZE,
        flush=ASYNC,
        settings=SOON_LATE,
        hosts={number: network.address(number) for number in range(SIZE)},
        name_server_host=network.host,
    )
    for number, member in enumerate(group.members):
        member.prefix = network.prefix(number)
    made = GroupCampaign(group, seed)
    made.start()
    yield made


def alone(network: Network, master: int, others: list[int]) -> None:
    for other in others:
        network.cut(master, other)


def mute(network: Network, master: int, others: list[int]) -> None:
    for other in others:
        network.cut_one_way(master, other)


def deaf(network: Network, master: int, others: list[int]) -> None:
    for other in others:
        network.cut_one_way(other, master)


@pytest.mark.parametrize("shape", [alone, mute, deaf])
def test_a_master_that_is_cut_off_is_replaced(
    campaign: GroupCampaign, network: Network, shape: Callable[[Network, int, list[int]], None]
) -> None:
    """Its clients still reach it, and keep on sending."""
    group = campaign.group
    for number in range(1, 4):
        old = campaign.master
        others = [member.number for member in group.members if member is not old]
        campaign.begin_load()
        time.sleep(0.5)
        shape(network, old.number, others)
        cut_at = time.monotonic()
        answer = campaign.promote(group.members[others[0]])
        assert answer.may_be_lost is None and answer.master_id in others
        campaign.first_ack(cut_at)
        time.sleep(1.0)
        network.heal()
        healed_at = time.monotonic()
        group.await_in_sync()
        healed_s = time.monotonic() - healed_at
        campaign.end_load()
        campaign.settle()
        campaign.verify_group(at_least=10 * number)
        print(f"{shape.__name__}: replaced in {campaign.outages_s[-1]:.1f} s, whole in {healed_s:.1f} s")
        assert healed_s <= HEAL_S


def test_the_smaller_half_gets_no_master(campaign: GroupCampaign, network: Network) -> None:
    group = campaign.group
    campaign.begin_load()
    time.sleep(0.5)
    network.cut(2, 0)
    network.cut(2, 1)
    with pytest.raises(EngineError, match="are needed"):
        group.promote(group.members[2])
    until(lambda: in_sync_ids(group) == {0, 1}, "the one behind the cut leaves")
    before = campaign.acknowledged()
    until(lambda: campaign.acknowledged() > before + 20, "the others go on")
    network.heal()
    took_s = group.await_in_sync()
    campaign.end_load()
    campaign.settle()
    campaign.verify_group()
    assert campaign.epoch == 1 and took_s <= HEAL_S


def test_a_bridge_between_two_that_do_not_hear_each_other(campaign: GroupCampaign, network: Network) -> None:
    """Member 2 hears both: the master goes on with it, and cannot hand over to who does not hear it."""
    group = campaign.group
    campaign.begin_load()
    time.sleep(0.5)
    network.cut(0, 1)
    with pytest.raises(EngineError):
        group.promote(group.members[2], wanted=1)
    until(lambda: in_sync_ids(group) == {0, 2}, "the one behind the cut leaves")
    before = campaign.acknowledged()
    until(lambda: campaign.acknowledged() > before + 20, "the others go on")
    network.heal()
    group.await_in_sync()
    campaign.end_load()
    campaign.settle()
    campaign.verify_group()
