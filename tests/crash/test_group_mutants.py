"""Broken groups that the checkers must catch. Each story is also told of a sound group, which must pass."""

from __future__ import annotations

import time

import pytest

from tests.crash import requests as rq
from tests.crash.conftest import MakeGroup
from tests.crash.group import until
from tests.crash.group_campaign import GroupCampaign
from tests.crash.load import Producer

pytestmark = pytest.mark.crash_long

SOUND = "engine.broker"
SOON_LATE = {"haMaxTimeSlaveNotCatchup": "3000"}


def mutant(name: str) -> str:
    return f"tests.crash.mutants.{name}"


def caught_by(campaign: GroupCampaign) -> set[str]:
    violations = campaign.violations(persist_interval_s=None) + campaign.group.check_equality()
    return {violation.checker for violation in violations}


def lonely_master(campaign: GroupCampaign) -> None:
    """The slave dies and the master works on; then the master dies, and the slave is back and takes over."""
    master, slave = campaign.group.members
    campaign.start()
    campaign.load_for(0.5)
    campaign.begin_load()
    time.sleep(0.3)
    slave.kill()
    time.sleep(6.0)
    campaign.kill(master)
    campaign.end_load()
    slave.start()
    campaign.promote(slave)


@pytest.mark.parametrize(
    ("launcher", "checkers"),
    [
        (SOUND, set()),
        (mutant("acks_before_replicas"), {"lost"}),
        (mutant("shrinks_silently"), {"lost"}),
        (mutant("shows_unconfirmed"), {"phantom"}),
    ],
)
def test_a_master_that_runs_ahead_of_its_slave_is_caught(
    make_group: MakeGroup, launcher: str, checkers: set[str], seed: int
) -> None:
    campaign = GroupCampaign(make_group(2, settings=SOON_LATE, launcher=launcher), seed)
    lonely_master(campaign)
    campaign.group.members[0].launch()
    campaign.first_ack(time.monotonic())
    campaign.settle()
    assert checkers <= caught_by(campaign) and bool(checkers) == bool(caught_by(campaign))


@pytest.mark.parametrize(("launcher", "is_caught"), [(SOUND, False), (mutant("tail_not_cut"), True)])
def test_a_tail_that_is_not_cut_is_caught(
    make_group: MakeGroup, launcher: str, is_caught: bool, seed: int
) -> None:
    """Of three, so that the others go on until they are ahead of the old master."""
    group = make_group(3, launcher=launcher)
    campaign = GroupCampaign(group, seed)
    campaign.start()
    first, second, third = group.members
    campaign.begin_load()
    time.sleep(0.5)
    for slave in (second, third):
        slave.kill()
    time.sleep(1.0)
    campaign.kill(first)
    campaign.end_load()
    for slave in (second, third):
        slave.start()
    campaign.promote(second)
    campaign.first_ack(time.monotonic())
    campaign.load_for(3.0)
    first.launch()
    group.await_in_sync()
    campaign.load_for(0.3)
    group.await_in_sync()
    assert bool(group.check_equality()) == is_caught


@pytest.mark.parametrize(
    ("launcher", "is_caught"), [(SOUND, False), (mutant("fenced_and_acknowledging"), True)]
)
def test_a_fenced_master_that_acknowledges_is_caught(
    make_group: MakeGroup, launcher: str, is_caught: bool, seed: int
) -> None:
    group = make_group(3, launcher=launcher, settings={"slaveTimeout": "60000", "syncFlushTimeout": "60000"})
    campaign = GroupCampaign(group, seed)
    campaign.start()
    first, second, third = group.members
    for slave in (second, third):
        slave.freeze()
    waiting = Producer(
        "waiting", first.address, campaign.history, window=8, timeout_s=60, node="member-0", epoch=1
    )
    waiting.start()
    time.sleep(0.5)
    first.freeze()
    for slave in (second, third):
        slave.thaw()
    campaign.promote(second, wanted=1)
    campaign.first_ack(time.monotonic())
    time.sleep(1.0)
    first.thaw()
    until(lambda: rq.SUCCESS in waiting.codes or waiting.codes, "those who wait are answered")
    waiting.stop()
    waiting.join(90)
    campaign.settle()
    assert ("epoch" in caught_by(campaign)) == is_caught
