"""F28: delays, timers, recalls, transactions and pops that are under way when another member becomes master:
nothing is lost, what was committed is shown once, what was recalled or rolled back never."""

from __future__ import annotations

import time

import pytest

from tests.crash import requests as rq
from tests.crash.checker.delay import Outage, Waiting, check_delay
from tests.crash.checker.delivery import Given, check_delivery
from tests.crash.checker.events import Value
from tests.crash.checker.violations import describe
from tests.crash.cluster import ASYNC, SYNC, Broker
from tests.crash.conftest import MakeGroup
from tests.crash.delayed_load import LEVELS, LaterProducer, deliveries
from tests.crash.group import GROUP_NAME, until
from tests.crash.group_campaign import GroupCampaign
from tests.crash.load import create_topic
from tests.crash.popping_load import PoppingConsumer
from tests.crash.test_pop import HIDDEN_MS, LOST, consume_the_rest, send
from tests.crash.test_transactions import QUICK, Shop
from tests.crash.transaction_load import QUEUES, TOPIC
from tests.crash.wire import Link

pytestmark = pytest.mark.crash_long

LATE_MS = 10_000
JOIN_S = 30.0
ROUNDS = 3
AGAIN_PER_ROUND = 100
"""What the producer sends within a second or so, as all of it may be due at once."""


def now_ms() -> float:
    return time.time() * 1000


def fail_over(campaign: GroupCampaign) -> Outage:
    old = campaign.master
    begun_ms = now_ms()
    campaign.kill(old)
    heir = campaign.random.choice([member for member in campaign.group.members if member is not old])
    campaign.promote(heir)
    campaign.first_ack(time.monotonic())
    outage = Outage(begun_ms, now_ms())
    old.launch()
    campaign.group.await_in_sync()
    campaign.meet_master()
    return outage


@pytest.mark.parametrize("flush", [SYNC, ASYNC])
def test_waiting_messages_outlive_their_master(make_group: MakeGroup, flush: str, seed: int) -> None:
    campaign = GroupCampaign(make_group(3, flush=flush, settings=LEVELS), seed)
    campaign.start()
    waitings: list[Waiting] = []
    outages: list[Outage] = []
    seq = 0
    for number in range(ROUNDS + 1):
        producer = LaterProducer(
            campaign.master.address, seed + number, first_seq=seq, count=300, rate_per_s=100.0
        )
        producer.start()
        if number < ROUNDS:
            campaign.random_pause(1.5, 3.0)
            outages.append(fail_over(campaign))
        producer.join(JOIN_S)
        assert not producer.is_alive()
        seq = producer.next_seq
        waitings += producer.waitings
    last_ms = max(waiting.due_ms for waiting in waitings)
    time.sleep(max(0.0, last_ms + 3_000 - now_ms()) / 1000)
    campaign.meet_master()
    delivered = [one for one in deliveries(campaign.master.address) if one.value and one.value[0] == "later"]
    violations = check_delay(waitings, delivered, outages, late_ms=LATE_MS)
    # How far delays are is copied every few seconds: what was delivered since is delivered again.
    again = [violation for violation in violations if "times" in violation.text]
    broken = [violation for violation in violations if violation not in again]
    print(f"{len(waitings)} waited, {len(delivered)} delivered, {len(again)} twice, {ROUNDS} fail-overs")
    assert not broken, describe(broken)
    assert len(again) <= AGAIN_PER_ROUND * ROUNDS
    assert sum(waiting.is_sure for waiting in waitings) >= 100
    assert any(waiting.is_recalled for waiting in waitings)


@pytest.mark.parametrize("flush", [SYNC, ASYNC])
def test_transactions_outlive_their_master(make_group: MakeGroup, flush: str, seed: int) -> None:
    campaign = GroupCampaign(make_group(3, flush=flush, settings=QUICK), seed)
    campaign.start()
    create_topic(campaign.broker.address, topic=TOPIC, queues=QUEUES)
    for member in campaign.group.members:
        until(lambda at=member: knows(at), "the topic is known")  # type: ignore[misc]
    shop = Shop(campaign.broker)

    def replaced(broker: Broker) -> None:
        fail_over(campaign)

    for _ in range(ROUNDS):
        shop.trade(campaign.random.uniform(1.0, 4.0), replaced)
        shop.broker = campaign.broker
    shop.settle()
    shop.verify(at_least=50)


def knows(member: Broker) -> bool:
    with Link(member.address) as link:
        return link.call(rq.PULL, rq.pull_fields(TOPIC, "CrashDrain", 0, 0)).code in rq.PULL_CODES


@pytest.mark.parametrize("flush", [SYNC, ASYNC])
def test_popped_messages_outlive_their_master(make_group: MakeGroup, flush: str, seed: int) -> None:
    campaign = GroupCampaign(make_group(3, flush=flush), seed)
    campaign.start()
    sent: list[Value] = []
    given: list[Given] = []
    for number in range(ROUNDS):
        sent += send(campaign.master.address, len(sent), 200)
        consumers = [
            PoppingConsumer(
                campaign.master.address,
                seed + 2 * number + each,
                hidden_ms=HIDDEN_MS,
                forgets=0.5,
                broker=GROUP_NAME,
            )
            for each in range(2)
        ]
        for consumer in consumers:
            consumer.start()
        campaign.random_pause(0.5, 4.0)
        fail_over(campaign)
        for consumer in consumers:
            consumer.join(JOIN_S)
            given += consumer.given
    given += consume_the_rest(campaign.master.address, seed, sent, given, GROUP_NAME)
    broken = check_delivery(sent, given)
    again = [violation for violation in broken if LOST not in violation.text]
    print(f"{len(sent)} sent, {len(given)} given, {len(again)} given again after an acknowledgement")
    lost = [violation for violation in broken if LOST in violation.text]
    assert not lost, describe(lost)
