"""A configured master that comes back with an empty disk: it must not found a second group of the same name.

Its broker.conf says master and its store knows nothing; the name server and the other members know better.
"""

from __future__ import annotations

import shutil
import time

import pytest

from tests.crash import requests as rq
from tests.crash.cluster import ASYNC, SYNC
from tests.crash.conftest import MakeGroup
from tests.crash.group import Group, Member, until
from tests.crash.group_campaign import GroupCampaign
from tests.crash.load import TOPIC
from tests.crash.wire import Link


def lose_disk(campaign: GroupCampaign) -> Member:
    """The master dies under load, and with it all that it had."""
    master = campaign.master
    campaign.begin_load()
    campaign.random_pause(0.6, 1.2)
    campaign.kill(master)
    campaign.end_load()
    shutil.rmtree(master.store)
    master.store.mkdir()
    return master


def refuses(member: Member) -> bool:
    with Link(member.address) as link:
        answer = link.call(rq.SEND_V2, rq.send_fields(TOPIC, 0, "stray"), b"x")
    assert answer.code in (rq.SERVICE_NOT_AVAILABLE, rq.SYSTEM_BUSY), answer
    return True


def settle_with(campaign: GroupCampaign, member: Member) -> None:
    """Topics come some seconds behind the log."""
    until(lambda: campaign.knows_topic(member), f"{member.name} knows the topic")
    campaign.settle()


def trouble_of(group: Group, member: Member) -> str:
    status = group.status(member)
    return (status.trouble or "") if status is not None else ""


@pytest.mark.parametrize("flush", [SYNC, pytest.param(ASYNC, marks=pytest.mark.crash_long)])
def test_it_follows_the_master_that_replaced_it(make_group: MakeGroup, flush: str, seed: int) -> None:
    group = make_group(3, flush=flush)
    campaign = GroupCampaign(group, seed)
    campaign.start()
    killed_at = time.monotonic()
    emptied = lose_disk(campaign)
    answer = campaign.promote(group.members[1])
    assert answer.may_be_lost is None and answer.master_id != emptied.number
    campaign.first_ack(killed_at)
    emptied.start()
    assert refuses(emptied)
    settle_with(campaign, emptied)
    assert campaign.master is not emptied
    campaign.load_for(0.5)
    campaign.settle()
    campaign.verify_group(at_least=50)


def test_it_takes_no_writes_until_another_is_promoted(make_group: MakeGroup, seed: int) -> None:
    """Nobody replaced it: the group takes this member for its master, and has what it lost."""
    group = make_group(2, flush=ASYNC)
    campaign = GroupCampaign(group, seed)
    campaign.start()
    killed_at = time.monotonic()
    emptied = lose_disk(campaign)
    emptied.start()
    assert refuses(emptied)
    until(lambda: "promote member 1" in trouble_of(group, emptied), "it says what to do")
    time.sleep(3.0)
    assert refuses(emptied) and group.find_master() is None
    assert campaign.promote(group.members[1]).master_id == 1
    campaign.first_ack(killed_at)
    settle_with(campaign, emptied)
    campaign.verify_group(at_least=50)


def test_without_its_name_server_it_waits(make_group: MakeGroup, seed: int) -> None:
    group = make_group(2, flush=ASYNC)
    campaign = GroupCampaign(group, seed)
    campaign.start()
    killed_at = time.monotonic()
    emptied = lose_disk(campaign)
    group.name_server.kill()
    assert campaign.promote(group.members[1]).master_id == 1
    emptied.start()
    until(lambda: "no name server" in trouble_of(group, emptied), "it says what it waits for")
    assert refuses(emptied)
    group.name_server.start()
    campaign.first_ack(killed_at)
    settle_with(campaign, emptied)
    assert campaign.master is group.members[1]
    campaign.verify_group(at_least=50)
