"""kill -9 while consumers pop: what was not acknowledged comes back, what was does not, nothing is lost."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.crash import requests as rq
from tests.crash.checker.delivery import Given, check_delivery
from tests.crash.checker.events import Value
from tests.crash.checker.violations import describe
from tests.crash.cluster import ASYNC, SYNC, Broker
from tests.crash.conftest import MakeBroker
from tests.crash.faults import Faults
from tests.crash.load import QUEUES, TOPIC, body_of, create_topic, send_surely
from tests.crash.popping_load import PoppingConsumer
from tests.crash.power import Platter
from tests.crash.shims.build import shim
from tests.crash.steps.pops import STEPS
from tests.crash.wire import Address, Link

HIDDEN_MS = 1_500
SETTLE_S = 60.0
FORGOTTEN_S = 4 * HIDDEN_MS / 1000
"""What a broker that forgets has not given until then, it never gives."""
JOIN_S = 30.0
FLUSHED_S = 30.0
SNAPSHOT = 30001
LOST = "gone without an acknowledgement"


def send(address: Address, first: int, count: int) -> list[Value]:
    values = [("p", seq) for seq in range(first, first + count)]
    with Link(address) as link:
        for _, seq in values:
            fields = rq.send_fields(TOPIC, seq % QUEUES, f"p:{seq}")
            assert send_surely(link, fields, body_of(("p", seq), 200)).code == rq.SUCCESS
    return values


def until_flushed(address: Address) -> None:
    """What was sent is on disk: the broker says so, however long a busy machine takes."""
    deadline = time.monotonic() + FLUSHED_S
    with Link(address) as link:
        while True:
            log = json.loads(link.call(SNAPSHOT, {}).body)["log"]
            if log["flushedOffset"] >= log["maxOffset"]:
                return
            assert time.monotonic() < deadline, log
            time.sleep(0.05)


def at_once(broker: Broker) -> None:
    """Nothing to do before consumers pop."""


def kill_while_popping(
    broker: Broker,
    seed: int,
    *,
    kills: int,
    per_round: int,
    before: Callable[[Broker], None] = at_once,
    crash: Callable[[Broker], None] = Broker.kill,
    most_s: float = 2.5,
    settle_s: float = SETTLE_S,
) -> tuple[list[Value], list[Given]]:
    """Everything that was sent, and everything that consumers were given."""
    chance = random.Random(seed)
    broker.start()
    create_topic(broker.address)
    sent: list[Value] = []
    given: list[Given] = []
    for number in range(kills):
        sent += send(broker.address, len(sent), per_round)
        before(broker)
        consumers = [
            PoppingConsumer(broker.address, seed + 2 * number + each, hidden_ms=HIDDEN_MS, forgets=0.5)
            for each in range(2)
        ]
        for consumer in consumers:
            consumer.start()
        time.sleep(chance.uniform(0.3, most_s))
        crash(broker)
        for consumer in consumers:
            consumer.join(JOIN_S)
            assert isinstance(consumer.failure, OSError | None), repr(consumer.failure)
            given += consumer.given
        broker.start()
    given += consume_the_rest(broker.address, seed, sent, given, settle_s=settle_s)
    return sent, given


def consume_the_rest(
    address: Address,
    seed: int,
    sent: list[Value],
    given: list[Given],
    broker: str = "broker",
    *,
    settle_s: float = SETTLE_S,
) -> list[Given]:
    """Until all is acknowledged, and then long enough for anything that should not come back."""
    done = {one.value for one in given if one.may_be_done}
    last = PoppingConsumer(address, seed, hidden_ms=HIDDEN_MS, forgets=0.0, broker=broker)
    last.start()
    deadline = time.monotonic() + settle_s
    while time.monotonic() < deadline:
        if set(sent) <= done | {one.value for one in list(last.given) if one.may_be_done}:
            break
        time.sleep(0.1)
    time.sleep(2 * HIDDEN_MS / 1000)
    last.stop()
    last.join(JOIN_S)
    assert last.failure is None, repr(last.failure)
    return last.given


@pytest.mark.parametrize("flush", [SYNC, ASYNC])
def test_kill_9_loses_no_popped_message(make_broker: MakeBroker, flush: str, seed: int) -> None:
    broker = make_broker(flush=flush)
    sent, given = kill_while_popping(broker, seed, kills=3, per_round=300)
    violations = check_delivery(sent, given)
    assert not violations, describe(violations)
    assert sum(one.is_done for one in given) >= 800
    assert len(given) > 1_000, "hardly anything came back"


def wait_for_its_death(broker: Broker) -> None:
    deadline = time.monotonic() + JOIN_S
    while broker.is_alive and time.monotonic() < deadline:
        time.sleep(0.01)


@pytest.mark.parametrize("flush", [SYNC, ASYNC])
@pytest.mark.parametrize("step", sorted(STEPS))
def test_kill_9_between_two_appends_makes_no_twins(
    make_broker: MakeBroker, tmp_path: Path, step: str, flush: str, seed: int
) -> None:
    died = tmp_path / "died"
    broker = make_broker(
        flush=flush,
        launcher="tests.crash.steps.pops",
        environment={"DIE_AT": step, "DIE_AFTER": "7", "DIE_FILE": str(died)},
    )
    sent, given = kill_while_popping(broker, seed, kills=1, per_round=100, crash=wait_for_its_death)
    assert died.exists(), f"the broker never came to {step}"
    violations = check_delivery(sent, given)
    assert not violations, describe(violations)
    assert b"left the acknowledgement" in broker.output()


LONG = pytest.mark.crash_long


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("pops_forgotten", LOST),
        pytest.param("pop_acks_unwritten", "though its acknowledgement had been answered", marks=LONG),
        pytest.param("pop_groups_not_moved", "though its acknowledgement had been answered", marks=LONG),
    ],
)
def test_a_broker_that_forgets_about_pops_is_caught(
    make_broker: MakeBroker, name: str, said: str, seed: int
) -> None:
    settings = {"flushConsumerOffsetInterval": "60000" if "moved" in name else "100"}
    broker = make_broker(launcher=f"tests.crash.mutants.{name}", settings=settings)
    history = kill_while_popping(broker, seed, kills=1, per_round=500, settle_s=FORGOTTEN_S)
    violations = check_delivery(*history)
    assert any(said in violation.text for violation in violations), describe(violations)


def cut_while_popping(
    make_broker: MakeBroker,
    folder: Path,
    flush: str,
    seed: int,
    *,
    cuts: int,
    launcher: str = "engine.broker",
) -> list[str]:
    """Power cuts while the disk is slow and offsets are saved without a pause: the gap between a pop's
    checkpoint in the log and its group's offset in the file is as wide as it gets."""
    platter, faults = Platter(folder), Faults(folder, "/commitlog/")
    both = {**faults.environment, "LD_PRELOAD": f"{shim('platter')} {shim('faults')}"}
    broker = make_broker(
        flush=flush,
        store=platter.store,
        environment={**platter.environment, **both},
        settings={"flushConsumerOffsetInterval": "20"},
        launcher=launcher,
    )

    def slow_down(broker: Broker) -> None:
        until_flushed(broker.address)
        faults.begin("sleep 700")

    def cut(broker: Broker) -> None:
        platter.cut(broker)
        broker.use_environment(**both)
        faults.end()

    sent, given = kill_while_popping(
        broker, seed, kills=cuts, per_round=200, before=slow_down, crash=cut, most_s=1.2
    )
    return [violation.text for violation in check_delivery(sent, given)]


@pytest.mark.parametrize("flush", [SYNC, pytest.param(ASYNC, marks=LONG)])
def test_a_power_cut_loses_no_popped_message(
    make_broker: MakeBroker, tmp_path: Path, flush: str, seed: int
) -> None:
    """With ASYNC_FLUSH it may take acknowledgements back, but never a message that was on disk."""
    broken = cut_while_popping(make_broker, tmp_path, flush, seed, cuts=2)
    assert not [text for text in broken if flush == SYNC or LOST in text], broken[:5]


@pytest.mark.crash_long
@pytest.mark.parametrize("chain", range(5))
@pytest.mark.parametrize("flush", [SYNC, ASYNC])
def test_fifty_power_cuts_lose_no_popped_message(
    make_broker: MakeBroker, tmp_path: Path, flush: str, chain: int, seed: int
) -> None:
    broken = cut_while_popping(make_broker, tmp_path, flush, seed + chain, cuts=5)
    assert not [text for text in broken if flush == SYNC or LOST in text], broken[:5]


@pytest.mark.crash_long
def test_offsets_that_run_ahead_of_the_log_are_caught(
    make_broker: MakeBroker, tmp_path: Path, seed: int
) -> None:
    launcher = "tests.crash.mutants.offsets_before_checkpoints"
    broken = cut_while_popping(make_broker, tmp_path, ASYNC, seed, cuts=2, launcher=launcher)
    assert any(LOST in text for text in broken)
