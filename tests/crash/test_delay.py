"""F28: kill -9 while messages wait for their level or their time: none lost, early or doubled."""

from __future__ import annotations

import random
import time

import pytest

from tests.crash.checker.delay import Outage, Waiting, check_delay
from tests.crash.checker.violations import Violation, describe
from tests.crash.cluster import ASYNC, SYNC, Broker
from tests.crash.conftest import MakeBroker
from tests.crash.delayed_load import LEVELS, Delays, LaterProducer, settled_deliveries
from tests.crash.load import create_topic

LATE_MS = 3_000
JOIN_S = 30.0
LOST_S = 30.0
"""What is not there so long after the last was due is lost, and not late."""


def now_ms() -> float:
    return time.time() * 1000


def kill_while_waiting(
    broker: Broker,
    seed: int,
    *,
    kills: int,
    per_round: int,
    rate_per_s: float = 150.0,
    lost_s: float = LOST_S,
) -> tuple[list[Waiting], list[Violation]]:
    """Rounds of sends, each cut short by a kill at a random moment; the broker is back at once."""
    chance = random.Random(seed)
    waitings: list[Waiting] = []
    outages: list[Outage] = []
    broker.start()
    create_topic(broker.address)
    seq = 0
    for number in range(kills + 1):
        producer = LaterProducer(
            broker.address, seed + number, first_seq=seq, count=per_round, rate_per_s=rate_per_s
        )
        producer.start()
        if number < kills:
            time.sleep(chance.uniform(1.0, 2.0))
            killed_ms = now_ms()
            broker.kill()
            producer.join(JOIN_S)
            broker.start()
            outages.append(Outage(killed_ms, now_ms()))
        else:
            producer.join(JOIN_S)
        assert not producer.is_alive()
        seq = producer.next_seq
        waitings += producer.waitings
    last_ms = max(waiting.due_ms for waiting in waitings)
    time.sleep(max(0.0, last_ms + LATE_MS - now_ms()) / 1000)
    delivered = settled_deliveries(broker.address, waitings, lost_s)
    return waitings, check_delay(waitings, delivered, outages, late_ms=LATE_MS)


@pytest.mark.parametrize("flush", [SYNC, ASYNC])
def test_kill_9_loses_no_waiting_message(make_broker: MakeBroker, flush: str, seed: int) -> None:
    broker = make_broker(flush=flush, settings=LEVELS)
    waitings, violations = kill_while_waiting(broker, seed, kills=3, per_round=300)
    assert not violations, describe(violations)
    assert sum(waiting.is_sure for waiting in waitings) >= 200
    assert any(waiting.is_recalled for waiting in waitings)


@pytest.mark.crash_long
@pytest.mark.parametrize("flush", [SYNC, ASYNC])
def test_kill_9_loses_none_of_ten_thousand(make_broker: MakeBroker, flush: str, seed: int) -> None:
    broker = make_broker(flush=flush, settings=LEVELS)
    _, violations = kill_while_waiting(broker, seed, kills=10, per_round=1_500, rate_per_s=1_000.0)
    assert not violations, describe(violations)


LONG_DELAYS = Delays((30_000, 35_000, 40_000, 45_000), least_ms=30_000, most_ms=45_000)
PENDING = 10_000
AFTER_A_KILL_MS = 10_000


@pytest.mark.crash_long
@pytest.mark.parametrize("flush", [SYNC, ASYNC])
def test_kill_9_while_ten_thousand_wait(make_broker: MakeBroker, flush: str, seed: int) -> None:
    """All of them are pending at three kills, a tenth is recalled; nine in ten and more are in time."""
    broker = make_broker(flush=flush, settings=LONG_DELAYS.settings)
    broker.start()
    create_topic(broker.address)
    begun_ms = now_ms()
    producers = [
        LaterProducer(
            broker.address,
            seed + number,
            first_seq=number * PENDING,
            count=PENDING // 8,
            rate_per_s=1_000.0,
            delays=LONG_DELAYS,
        )
        for number in range(8)
    ]
    for producer in producers:
        producer.start()
    for producer in producers:
        producer.join(JOIN_S)
        assert not producer.is_alive(), f"only {producer.next_seq} sent"
    waitings = [waiting for producer in producers for waiting in producer.waitings]
    assert now_ms() < begun_ms + LONG_DELAYS.least_ms, "the first were due before the last was sent"
    assert sum(waiting.is_sure for waiting in waitings) >= 0.9 * PENDING
    outages = []
    for _ in range(3):
        killed_ms = now_ms()
        broker.kill()
        broker.start()
        outages.append(Outage(killed_ms, now_ms()))
    last_ms = max(waiting.due_ms for waiting in waitings)
    time.sleep(max(0.0, last_ms + AFTER_A_KILL_MS - now_ms()) / 1000)
    delivered = settled_deliveries(broker.address, waitings, LOST_S)
    violations = check_delay(waitings, delivered, outages, late_ms=AFTER_A_KILL_MS)
    assert not violations, describe(violations)
    due_ms = {waiting.value: waiting.due_ms for waiting in waitings}
    in_time = sum(one.stored_ms <= due_ms[one.value] + 1_000 for one in delivered if one.value is not None)
    print(f"{in_time} of {len(delivered)} within a second of their time")
    assert in_time >= 0.95 * len(delivered)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("delivered_early", "ms early"),
        pytest.param("timers_forgotten", "never delivered", marks=pytest.mark.crash_long),
    ],
)
def test_a_broker_that_delivers_early_or_forgets_is_caught(
    make_broker: MakeBroker, name: str, said: str, seed: int
) -> None:
    broker = make_broker(settings=LEVELS, launcher=f"tests.crash.mutants.{name}")
    _, violations = kill_while_waiting(broker, seed, kills=2, per_round=300, lost_s=0.0)
    assert any(said in violation.text for violation in violations)
