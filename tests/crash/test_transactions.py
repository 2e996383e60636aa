"""F27: transactions across kill -9, at random moments and at every step: committed ones are shown exactly
once, rolled back ones never, undecided ones end where operators find them.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.crash.campaign import assert_kept
from tests.crash.checker.events import OK, History
from tests.crash.checker.transactions import TX, check_transactions
from tests.crash.cluster import ASYNC, SYNC, Broker
from tests.crash.conftest import MakeBroker
from tests.crash.load import create_topic
from tests.crash.power import Platter
from tests.crash.steps.transactions import STEPS
from tests.crash.transaction_load import (
    QUEUES,
    TOPIC,
    Answerer,
    TransactionProducer,
    decision_of,
    drain_transactions,
    never,
    open_count,
)

QUICK = {
    "transactionTimeOut": "100",
    "transactionCheckInterval": "150",
    "transactionCheckMax": "10000",
    "flushIntervalCommitLog": "50",
    "flushCommitLogLeastPages": "0",
}
PRODUCERS = 3
SETTLE_S = 30.0


class Shop:
    """Producers and their broker, through any number of crashes."""

    def __init__(self, broker: Broker, decide: object = decision_of) -> None:
        self.broker = broker
        self.history = History()
        self._decide = decide
        self._next_seq = [0] * PRODUCERS

    def open(self) -> None:
        self.broker.start()
        create_topic(self.broker.address, topic=TOPIC, queues=QUEUES)

    def trade(self, seconds: float, crash: Callable[[Broker], None] | None = Broker.kill) -> None:
        """Load, with questions answered all the while; the broker is crashed at the end, or has died by
        itself."""
        answerer = Answerer(self.broker.address, self._decide)
        producers = [
            TransactionProducer(f"t{n}", self.broker.address, self.history, self._next_seq[n], self._decide)
            for n in range(PRODUCERS)
        ]
        for thread in (answerer, *producers):
            thread.start()
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self.broker.is_alive:
            time.sleep(0.01)
        if crash is not None:
            crash(self.broker)
        for thread in (*producers, answerer):
            thread.stop()
            thread.join(15)
            assert not thread.is_alive(), f"{thread.name} hangs"
        self._next_seq = [producer.next_seq for producer in producers]

    def settle(self) -> None:
        """Questions are answered until nothing is open."""
        answerer = Answerer(self.broker.address, self._decide)
        answerer.start()
        deadline = time.monotonic() + SETTLE_S
        while open_count(self.broker.address) and time.monotonic() < deadline:
            time.sleep(0.1)
        answerer.stop()
        answerer.join(15)
        assert not open_count(self.broker.address), self.broker.tail()

    def verify(self, *, at_least: int) -> None:
        drain_transactions(self.broker.address, self.history)
        assert_kept(check_transactions(self.history.events()), self.history, self.broker.folder)
        stored = sum(event.op == TX and event.status == OK for event in self.history.events())
        assert stored >= at_least, f"only {stored} half messages: {self.broker.tail()}"


@pytest.mark.parametrize("flush", [SYNC, ASYNC])
def test_kill_9_repeats_and_loses_no_transaction(make_broker: MakeBroker, flush: str, seed: int) -> None:
    moments = random.Random(seed)
    shop = Shop(make_broker(flush=flush, settings=QUICK))
    shop.open()
    for _ in range(5):
        shop.trade(moments.uniform(0.3, 1.2))
        shop.broker.start()
    shop.settle()
    shop.verify(at_least=1_000 if flush == ASYNC else 300)


@pytest.mark.parametrize("step", sorted(STEPS))
def test_kill_9_at_this_step_does_no_harm(make_broker: MakeBroker, tmp_path: Path, step: str) -> None:
    die_at(step, make_broker, tmp_path, ASYNC, times=7)


@pytest.mark.crash_long
@pytest.mark.parametrize("times", [1, 40, 100])
@pytest.mark.parametrize("flush", [SYNC, ASYNC])
@pytest.mark.parametrize("step", sorted(STEPS))
def test_kill_9_at_every_step_sooner_and_later(
    make_broker: MakeBroker, tmp_path: Path, step: str, flush: str, times: int
) -> None:
    die_at(step, make_broker, tmp_path, flush, times=times)


def die_at(step: str, make_broker: MakeBroker, folder: Path, flush: str, *, times: int) -> None:
    died = folder / "died"
    settings = QUICK | ({"transactionCheckMax": "2"} if step == "given-up" else {})
    shop = Shop(
        make_broker(
            flush=flush,
            settings=settings,
            launcher="tests.crash.steps.transactions",
            environment={"DIE_AT": step, "DIE_AFTER": str(times), "DIE_FILE": str(died)},
        ),
        decide=never if step == "given-up" else decision_of,
    )
    shop.open()
    shop.trade(40.0)
    assert died.exists(), f"the broker never came to {step}"
    shop.broker.start()
    shop.settle()
    shop.verify(at_least=min(times - 1, 5))


def test_undecided_transactions_are_given_up_and_none_vanishes(make_broker: MakeBroker) -> None:
    shop = Shop(make_broker(settings=QUICK | {"transactionCheckMax": "3"}), decide=never)
    shop.open()
    shop.trade(0.3)
    shop.broker.start()
    shop.trade(0.3, crash=None)
    shop.settle()
    shop.verify(at_least=50)


def cut_rounds(make_broker: MakeBroker, folder: Path, flush: str, seed: int, *, cuts: int) -> Shop:
    """Power cuts. With ASYNC_FLUSH half messages of the last moment may be gone, but none decides twice."""
    moments = random.Random(seed)
    platter = Platter(folder)
    environment = platter.environment
    shop = Shop(make_broker(flush=flush, store=platter.store, environment=environment, settings=QUICK))
    shop.open()
    for _ in range(cuts):
        shop.trade(moments.uniform(0.5, 1.5), platter.cut)
        shop.broker.start()
    shop.settle()
    return shop


@pytest.mark.crash_long
def test_power_cuts_repeat_and_lose_no_transaction(
    make_broker: MakeBroker, tmp_path: Path, seed: int
) -> None:
    cut_rounds(make_broker, tmp_path, SYNC, seed, cuts=3).verify(at_least=100)


@pytest.mark.crash_long
@pytest.mark.parametrize("chain", range(5))
def test_fifty_power_cuts_repeat_and_lose_no_transaction(
    make_broker: MakeBroker, tmp_path: Path, chain: int, seed: int
) -> None:
    cut_rounds(make_broker, tmp_path, SYNC, seed + chain, cuts=10).verify(at_least=500)


@pytest.mark.crash_long
@pytest.mark.parametrize("flush", [SYNC, ASYNC])
def test_kill_9_twenty_times_in_thousands_of_transactions(
    make_broker: MakeBroker, flush: str, seed: int
) -> None:
    moments = random.Random(seed)
    shop = Shop(make_broker(flush=flush, settings=QUICK))
    shop.open()
    for _ in range(20):
        shop.trade(moments.uniform(0.3, 1.5))
        shop.broker.start()
    shop.settle()
    shop.verify(at_least=1_000)
