"""F28: kill -9 while messages wait for their level or their time: none lost, early or doubled."""

from __future__ import annotations

import random
import time

import pytest

from tests.crash.checker.delay import Outage, Waiting, check_delay
from tests.crash.checker.violations import Violation, describe
from tests.crash.cluster import ASYNC, SYNC, Broker
from tests.crash.conftest import MakeBroker
from tests.crash.delayed_load import LEVELS, LaterProducer, deliveries
from tests.crash.load import create_topic

LATE_MS = 3_000
JOIN_S = 30.0


def now_ms() -> float:
    return time.time() * 1000


def kill_while_waiting(
    broker: Broker, seed: int, *, kills: int, per_round: int, rate_per_s: float = 150.0
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
    return waitings, check_delay(waitings, deliveries(broker.address), outages, late_ms=LATE_MS)


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


@pytest.mark.parametrize(
    ("name", "said"), [("delivered_early", "ms early"), ("timers_forgotten", "never delivered")]
)
def test_a_broker_that_delivers_early_or_forgets_is_caught(
    make_broker: MakeBroker, name: str, said: str, seed: int
) -> None:
    broker = make_broker(settings=LEVELS, launcher=f"tests.crash.mutants.{name}")
    _, violations = kill_while_waiting(broker, seed, kills=2, per_round=300)
    assert any(said in violation.text for violation in violations)
