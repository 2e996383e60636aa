"""The checker is only worth something if it turns red: deliberately broken brokers, each of which must be
caught."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.crash import requests as rq
from tests.crash.campaign import Campaign
from tests.crash.checker.check import check_history
from tests.crash.checker.events import OK, PULL, SEND, Event, History
from tests.crash.checker.phantom import check_phantom
from tests.crash.cluster import ASYNC, SYNC, Broker
from tests.crash.conftest import MakeBroker
from tests.crash.damage import flip_bit
from tests.crash.drain import crashing, drain
from tests.crash.faults import Faults
from tests.crash.load import TOPIC, Producer, create_topic, stored_value
from tests.crash.power import Platter
from tests.crash.shims.build import shim
from tests.crash.wire import Stored

SOUND = "engine.broker"
_AHEAD = 5
LONG = pytest.mark.crash_long
"""`make test` takes one of each kind: that the checker is alive."""


def mutant(name: str) -> str:
    return f"tests.crash.mutants.{name}"


def caught_by(campaign: Campaign, *, persist_interval_s: float = 1.5) -> set[str]:
    return {violation.checker for violation in campaign.violations(persist_interval_s=persist_interval_s)}


@pytest.mark.parametrize(
    ("name", "checker"),
    [
        ("stored_twice", "duplicate-append"),
        pytest.param("refused_after_append", "phantom", marks=LONG),
        ("unit_dropped", "lost-by-offset"),
        pytest.param("units_swapped", "order", marks=LONG),
    ],
)
def test_a_broker_that_is_wrong_in_good_weather_is_caught(
    make_broker: MakeBroker, name: str, checker: str, seed: int
) -> None:
    campaign = Campaign(make_broker(launcher=mutant(name)), seed)
    campaign.start()
    campaign.load_for(1.5)
    campaign.look()
    assert campaign.acknowledged() > 100
    assert checker in caught_by(campaign)


@pytest.mark.parametrize(
    ("name", "checker"),
    [
        ("offset_reused", "inconsistent-offset"),
        pytest.param("offsets_ahead", "offset-commit", marks=LONG),
    ],
)
def test_a_broker_that_is_wrong_after_a_restart_is_caught(
    make_broker: MakeBroker, name: str, checker: str, seed: int
) -> None:
    campaign = Campaign(make_broker(launcher=mutant(name)), seed)
    campaign.start()
    campaign.crash_under_load(1.5)
    campaign.restart()
    campaign.load_for(0.5)
    campaign.look()
    assert checker in caught_by(campaign)


@LONG
def test_a_broker_that_forgets_offsets_when_it_stops_is_caught(make_broker: MakeBroker, seed: int) -> None:
    settings = {"flushConsumerOffsetInterval": "60000"}
    campaign = Campaign(make_broker(launcher=mutant("offsets_not_saved"), settings=settings), seed)
    campaign.start()
    campaign.load_for(1.0)
    campaign.stop()
    campaign.restart()
    assert "offset-commit" in caught_by(campaign)


def a_while(campaign: Campaign) -> None:
    time.sleep(1.5)


def until_readers_are_ahead(campaign: Campaign) -> None:
    """Until something was read that nobody was told is safe: the clock alone would often miss that."""
    deadline = time.monotonic() + 10.0
    while time.monotonic() < deadline:
        events = campaign.history.events()
        acknowledged = {event.value for event in events if event.op == SEND}
        if sum(event.op == PULL and event.value not in acknowledged for event in events) >= _AHEAD:
            return
        time.sleep(0.01)
    raise AssertionError("no reader ever got ahead of the sync")


def cut_once(
    broker: Broker, platter: Platter, seed: int, wait: Callable[[Campaign], None] = a_while
) -> Campaign:
    campaign = Campaign(broker, seed)
    campaign.start()
    campaign.begin_load()
    wait(campaign)
    with crashing(campaign.history):
        platter.cut(broker)
    campaign.end_load()
    return campaign


@pytest.mark.parametrize(
    ("name", "wait", "checker"),
    [
        ("ack_before_flush", a_while, "lost"),
        pytest.param("dispatch_past_flush", until_readers_are_ahead, "phantom", marks=LONG),
    ],
)
def test_getting_ahead_of_the_sync_is_caught(
    make_broker: MakeBroker,
    tmp_path: Path,
    name: str,
    wait: Callable[[Campaign], None],
    checker: str,
    seed: int,
) -> None:
    """A slow disk makes the gap wide that a power cut then shows."""
    platter, faults = Platter(tmp_path), Faults(tmp_path, "/commitlog/")
    both = f"{shim('platter')} {shim('faults')}"
    broker = make_broker(
        flush=SYNC,
        store=platter.store,
        environment={**platter.environment, **faults.environment, "LD_PRELOAD": both},
        launcher=mutant(name),
    )
    faults.begin("sleep 1000")
    campaign = cut_once(broker, platter, seed, wait)
    faults.end()
    campaign.restart()
    assert checker in caught_by(campaign)


@LONG
def test_a_topic_that_a_power_cut_can_take_is_caught(
    make_broker: MakeBroker, tmp_path: Path, seed: int
) -> None:
    """The topic was answered for before its file's name was safe; after the cut nobody knows it."""
    platter = Platter(tmp_path)
    broker = make_broker(
        flush=SYNC, store=platter.store, environment=platter.environment, launcher=mutant("no_folder_sync")
    )
    campaign = cut_once(broker, platter, seed)
    with pytest.raises(AssertionError, match="answered with 17"):
        campaign.restart()


@LONG
def test_going_on_after_a_failed_sync_is_caught(make_broker: MakeBroker, tmp_path: Path, seed: int) -> None:
    faults = Faults(tmp_path, "/commitlog/")
    broker = make_broker(flush=SYNC, environment=faults.environment, launcher=mutant("unfenced"))
    campaign = Campaign(broker, seed)
    campaign.start()
    campaign.begin_load()
    time.sleep(0.5)
    failed_at = faults.begin("eio")
    time.sleep(0.5)
    campaign.end_load()
    assert [
        e for e in campaign.history.events() if e.op == SEND and e.status == OK and e.t_invoke > failed_at
    ]


class TornTail:
    """A store whose last segment has one bit flipped, with whole records behind it that nobody vouches
    for."""

    def __init__(self, make_broker: MakeBroker, launcher: str, chance: random.Random) -> None:
        self.broker = make_broker(flush=ASYNC, launcher=launcher)
        self.broker.start()
        create_topic(self.broker.address)
        self.history = History()
        self.send("p0", 300)
        self._flip_a_bit(drain(self.broker.address, History()), chance)

    def send(self, name: str, count: int) -> None:
        """Three digits in every sequence number: all records have one size, so new ones fit over old ones."""
        address, history = self.broker.address, self.history
        producer = Producer(name, address, history, rate_per_s=50_000, first_seq=100, count=count)
        producer.run()
        assert producer.codes.keys() <= {rq.SUCCESS, rq.SYSTEM_BUSY}, producer.codes
        assert producer.codes[rq.SUCCESS] >= 0.8 * count, producer.codes

    def _flip_a_bit(self, messages: list[Stored], chance: random.Random) -> None:
        self.broker.kill()
        victim = sorted(messages, key=lambda stored: stored.commit_log_offset)[100]
        log = self.broker.store / "commitlog" / f"{0:020d}"
        body_start = victim.commit_log_offset + 88
        flip_bit(log, (body_start, body_start + 1024), chance)
        # Without a checkpoint nothing says that the records behind were ever on disk: they are a torn tail.
        (self.broker.store / "checkpoint").unlink(missing_ok=True)
        self.broker.start()

    def survivors(self) -> list[Event]:
        """The history as if only what is readable now had ever been sent."""
        now = drain(self.broker.address, History())
        return [
            Event(SEND, "p0", topic=TOPIC, queue=m.queue_id, value=stored_value(m), offset=m.queue_offset)
            for m in now
        ]


@pytest.mark.parametrize(("launcher", "is_caught"), [(SOUND, False), (mutant("skipped_crc"), True)])
def test_delivering_a_damaged_body_is_caught(
    make_broker: MakeBroker, launcher: str, is_caught: bool, seed: int
) -> None:
    torn = TornTail(make_broker, launcher, random.Random(seed))
    drain(torn.broker.address, torn.history)
    assert bool(check_phantom(torn.history.events())) == is_caught


@LONG
@pytest.mark.parametrize(("launcher", "is_caught"), [(SOUND, False), (mutant("tail_not_cleared"), True)])
def test_a_tail_that_comes_back_to_life_is_caught(
    make_broker: MakeBroker, launcher: str, is_caught: bool, seed: int
) -> None:
    torn = TornTail(make_broker, launcher, random.Random(seed))
    torn.history = History(torn.survivors())
    torn.send("p1", 40)
    torn.broker.kill()
    torn.broker.start()
    drain(torn.broker.address, torn.history)
    assert bool(check_history(torn.history.events())) == is_caught
