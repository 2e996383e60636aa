"""F7: power is cut while configuration is written: whole old or whole new files, no promise taken back.

A topic that was answered for exists ever after; an offset is never ahead of what was committed.
"""

from __future__ import annotations

import random
import threading
import time
from pathlib import Path

import pytest

from tests.crash import requests as rq
from tests.crash.campaign import assert_kept
from tests.crash.checker.events import COMMIT, INFO, OK, Event, History
from tests.crash.checker.offset_commit import check_offset_commit
from tests.crash.cluster import Broker
from tests.crash.conftest import MakeBroker
from tests.crash.drain import crashing
from tests.crash.load import GROUP, TOPIC, create_topic, fetch_offsets
from tests.crash.power import Platter
from tests.crash.wire import Address, Link

SETTINGS = {"flushConsumerOffsetInterval": "10"}
PERSIST_INTERVAL_S = 1.0
TOPIC_CONFIG = 351


class Clerk(threading.Thread):
    """Creates topics and commits offsets without a pause, and writes down what was answered."""

    def __init__(self, address: Address, history: History, first: int) -> None:
        super().__init__(daemon=True)
        self._address = address
        self._history = history
        self.next = first
        self.topics: list[str] = []

    def run(self) -> None:
        try:
            with Link(self._address) as link:
                while True:
                    self._step(link, self.next)
                    self.next += 1
        except OSError:
            pass

    def _step(self, link: Link, number: int) -> None:
        topic = f"Topic{number}"
        if link.call(rq.CREATE_TOPIC, rq.topic_fields(topic, 1)).code == rq.SUCCESS:
            self.topics.append(topic)
        now = time.monotonic()
        status = INFO
        try:
            if link.call(rq.UPDATE_OFFSET, rq.commit_fields(TOPIC, GROUP, 0, number)).code == rq.SUCCESS:
                status = OK
        finally:
            event = Event(COMMIT, "clerk", now, time.monotonic(), status, TOPIC, 0, GROUP, None, number)
            self._history.add(event)


def persist_rounds(broker: Broker, platter: Platter, rounds: int, chance: random.Random) -> None:
    history, topics, number = History(), [TOPIC], 1
    broker.start()
    create_topic(broker.address)
    for _ in range(rounds):
        clerk = Clerk(broker.address, history, number)
        clerk.start()
        time.sleep(chance.uniform(0.1, 0.5))
        with crashing(history):
            platter.cut(broker)
        clerk.join(10)
        number = clerk.next + 1
        topics += clerk.topics
        broker.start()
        fetch_offsets(broker.address, history)
        known = [topic for topic in topics if exists(broker.address, topic)]
        assert known == topics, f"{len(topics) - len(known)} topics of {len(topics)} vanished"
        violations = check_offset_commit(history.events(), persist_interval_s=PERSIST_INTERVAL_S)
        violations = [found for found in violations if found.evidence[-1].queue == 0]
        assert_kept(violations, history, broker.folder)
    assert len(topics) > rounds


def exists(address: Address, topic: str) -> bool:
    with Link(address) as link:
        return link.call(TOPIC_CONFIG, {"topic": topic}).code == rq.SUCCESS


def run(make_broker: MakeBroker, folder: Path, rounds: int, seed: int) -> None:
    platter = Platter(folder)
    broker = make_broker(store=platter.store, environment=platter.environment, settings=SETTINGS)
    persist_rounds(broker, platter, rounds, random.Random(seed))


def test_power_cuts_while_persisting_take_nothing_back(
    make_broker: MakeBroker, tmp_path: Path, seed: int
) -> None:
    run(make_broker, tmp_path, 4, seed)


@pytest.mark.crash_long
@pytest.mark.parametrize("chain", range(20))
def test_five_hundred_power_cuts_while_persisting(
    make_broker: MakeBroker, tmp_path: Path, chain: int, seed: int
) -> None:
    run(make_broker, tmp_path, 25, seed + chain)
