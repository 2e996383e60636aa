"""F27: applications die at each step of a transaction, and the broker with them: what the application's own
database says is what consumers see, once.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.crash.cluster import ASYNC, SYNC, Broker, Daemon, NameServer
from tests.crash.drain import read_queue
from tests.crash.load import create_topic, value_of
from tests.crash.test_transactions import QUICK
from tests.crash.transaction_load import QUEUES, TOPIC, open_count
from tests.crash.transaction_process import COMMIT, STEPS, ApplicationProcess, read_ledger
from tests.crash.wire import Address, Link

LIFE_S = 60.0
SETTLE_S = 60.0
GAP = 1_000_000
"""Numbers of one life, so that no two lives share one."""


def shown(address: Address) -> Counter[int]:
    found: Counter[int] = Counter()
    with Link(address) as link:
        for queue in range(QUEUES):
            for stored in read_queue(link, TOPIC, queue, group="CrashDrain"):
                value = value_of(stored.body)
                assert value is not None
                found[value[1]] += 1
    return found


def lives(folder: Path, daemons: list[Daemon], flush: str, seed: int, *, count: int, each: int) -> None:
    chance = random.Random(seed)
    name_server = NameServer(folder)
    name_server.start()
    broker = Broker(folder, flush=flush, name_servers=[name_server.address], settings=QUICK)
    daemons += [name_server, broker]
    broker.start()
    create_topic(broker.address, topic=TOPIC, queues=QUEUES)
    ledger = folder / "ledger"
    namesrv = f"{name_server.address[0]}:{name_server.address[1]}"
    for number in range(count):
        application = ApplicationProcess(namesrv, ledger, number * GAP, each, STEPS[number % len(STEPS)])
        try:
            if number % 2:
                restart_during(broker, chance)
            application.wait(LIFE_S)
        finally:
            application.kill()
    survivor = ApplicationProcess(namesrv, ledger, 0, 0, "never")
    try:
        settle(broker.address)
    finally:
        survivor.kill()
    judge(read_ledger(ledger), shown(broker.address))
    assert len(read_ledger(ledger)) >= 0.9 * count * each


def restart_during(broker: Broker, chance: random.Random) -> None:
    """Killed while the application is at work."""
    time.sleep(chance.uniform(0.6, 1.6))
    broker.kill()
    broker.start()


def settle(address: Address) -> None:
    deadline = time.monotonic() + SETTLE_S
    while open_count(address):
        assert time.monotonic() < deadline, f"{open_count(address)} transactions are still open"
        time.sleep(0.1)


def judge(ledger: dict[int, str], found: Counter[int]) -> None:
    committed = {number for number, decision in ledger.items() if decision == COMMIT}
    assert not (missing := committed - found.keys()), f"committed and missing: {sorted(missing)[:5]}"
    assert not (wrong := found.keys() - committed), f"shown without a commit: {sorted(wrong)[:5]}"
    assert not (twice := [number for number, times in found.items() if times > 1]), f"twice: {twice[:5]}"


def test_applications_that_die_at_every_step(tmp_path: Path, daemons: list[Daemon], seed: int) -> None:
    lives(tmp_path, daemons, ASYNC, seed, count=3, each=20)


@pytest.mark.crash_long
@pytest.mark.parametrize("flush", [SYNC, ASYNC])
def test_a_thousand_transactions_of_applications_that_die(
    tmp_path: Path, daemons: list[Daemon], flush: str, seed: int
) -> None:
    lives(tmp_path, daemons, flush, seed, count=24, each=50)
