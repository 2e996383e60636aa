"""F22: forged and replayed peers are dropped, logged once, change nothing and release no acknowledgement."""

from __future__ import annotations

import random
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from engine.errors import EngineError
from tests.crash import requests as rq
from tests.crash.cluster import ASYNC
from tests.crash.conftest import MakeGroup
from tests.crash.forgeries import (
    CROWN,
    FOLLOW,
    HA_FORGERIES,
    HAND_OVER,
    PROMISE,
    PROMOTE,
    demand,
    kept_state,
    recorded_introduction,
    say,
    word,
)
from tests.crash.group import GROUP_NAME, Group, Member
from tests.crash.group_campaign import GroupCampaign
from tests.crash.load import Producer
from tests.crash.wire import Link

FORGERS = 16
"""A quarter of the connections that the HA port takes."""
PATIENT = {"haMaxTimeSlaveNotCatchup": "600000"}


def lines_about(member: Member, text: str) -> list[str]:
    return [line for line in member.log_lines() if text in line]


def forge(group: Group, tries: int, seed: int) -> None:
    """All kinds in turn, some at once, and what an honest slave once said, word for word."""
    master, slave = group.members[:2]
    secret = group.secret_file.read_bytes().strip()
    recorded = [*recorded_introduction(secret, slave), word(2, 1 << 30), word(5, 1)]
    kinds = [*HA_FORGERIES.values(), lambda _: recorded]

    def try_once(number: int) -> bytes:
        return say(master.ha_port, kinds[number % len(kinds)](random.Random(seed + number)))

    with ThreadPoolExecutor(FORGERS) as forgers:
        heard = list(forgers.map(try_once, range(tries)))
    assert not any(b'"history"' in answer for answer in heard), "a stranger was let in"
    answered = sum(map(bool, heard))
    print(f"{tries} forged peers, {answered} were told why not")
    assert answered > tries // 2, "the master must have listened"


def tries_of_strangers(make_group: MakeGroup, tries: int, seed: int) -> None:
    group = make_group(2, flush=ASYNC, settings=PATIENT)
    campaign = GroupCampaign(group, seed)
    campaign.start()
    campaign.load_for(0.5)
    campaign.settle()
    master, slave = group.members
    before = [kept_state(member) for member in group.members]
    # The only member that could acknowledge sleeps: whatever is answered with OK was released by a forgery.
    slave.freeze()
    sender = Producer("waiting", master.address, campaign.history, window=4, timeout_s=60.0)
    sender.start()
    forge(group, tries, seed)
    assert sender.codes.get(rq.SUCCESS, 0) == 0
    assert [kept_state(member) for member in group.members] == before
    refusals = lines_about(master, "refused on the HA port")
    assert 0 < len(refusals) <= 2 * len(HA_FORGERIES), refusals[-20:]
    sender.stop()
    slave.thaw()
    sender.join(60)
    campaign.settle()
    campaign.verify_group()


def test_two_hundred_forged_peers_change_nothing(make_group: MakeGroup, seed: int) -> None:
    tries_of_strangers(make_group, 200, seed)


@pytest.mark.crash_long
def test_ten_thousand_forged_peers_change_nothing(make_group: MakeGroup, seed: int) -> None:
    tries_of_strangers(make_group, 10_000, seed)


def test_stale_and_replayed_requests_change_nothing(make_group: MakeGroup, seed: int) -> None:
    """Without a proof, with one that was recorded in an earlier epoch, and an operator's request again."""
    group = make_group(2, flush=ASYNC)
    campaign = GroupCampaign(group, seed)
    campaign.start()
    campaign.load_for(0.3)
    secret = group.secret_file.read_bytes().strip()
    old = group.statuses()[0]
    group.promote(group.members[1], wanted=1)
    campaign.first_ack(time.monotonic())
    campaign.settle()
    before = [kept_state(member) for member in group.members]
    epoch, reign = {"epoch": str(old.epoch)}, {"reign": str(old.reign)}
    now = group.statuses()[1]
    for member in group.members:
        place = {"masterId": "0", "masterAddress": group.members[0].place}
        for fields, code in (
            ({**epoch, **reign}, PROMISE),
            ({**epoch, **reign}, CROWN),
            ({**epoch, **reign, **place}, FOLLOW),
            ({**epoch, "memberId": "0", "timeoutMillis": "1000"}, HAND_OVER),
        ):
            assert demand(member, code, fields, secret) != rq.SUCCESS
            newer = {**fields, "epoch": str(now.epoch + 5)}
            assert demand(member, code, newer, None) != rq.SUCCESS
            assert demand(member, code, newer, b"another secret of 16+ bytes") != rq.SUCCESS
        # Another reign of the epoch that is promised, and the promotion that made it, once more.
        same = {"epoch": str(now.epoch), "reign": str(now.reign + 1)}
        assert demand(member, PROMISE, same, secret) != rq.SUCCESS
        with Link(member.address) as link:
            again = {"brokerName": GROUP_NAME, "epoch": str(old.epoch), "unclean": "true"}
            assert link.call(PROMOTE, again).code != rq.SUCCESS
    with pytest.raises(EngineError, match="the request is for"):
        group.admin.broker_groups.promote(group.members[0].place, epoch=old.epoch)
    assert [kept_state(member) for member in group.members] == before
    assert [status.role for status in group.statuses().values()] == ["slave", "master"]
    campaign.load_for(0.5)
    campaign.settle()
    campaign.verify_group()
