"""F30, F31: consumers are killed in the middle of a batch, and come and go all the time."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tests.crash.checker.events import History
from tests.crash.cluster import Broker, Daemon, NameServer
from tests.crash.consumer_process import BATCH, COMMITTED, THREADS, ConsumerProcess, Processed, read_processed
from tests.crash.load import QUEUES, TOPIC, Producer, create_topic, fetch_offsets

GROUP = "KilledConsumers"
LOCK_MOVES_S = 60.0
DRAIN_S = 90.0


@pytest.fixture
def cluster(tmp_path: Path, daemons: list[Daemon]) -> Iterator[tuple[str, Broker]]:
    name_server = NameServer(tmp_path)
    name_server.start()
    broker = Broker(tmp_path, name_servers=[name_server.address])
    daemons += [name_server, broker]
    broker.start()
    create_topic(broker.address)
    yield f"{name_server.address[0]}:{name_server.address[1]}", broker


class Victims:
    """One consumer after the other, each killed; what they processed, and when they were killed."""

    def __init__(self, namesrv: str, folder: Path, *, orderly: bool) -> None:
        self._namesrv = namesrv
        self._folder = folder
        self._orderly = orderly
        self.lives: list[list[Processed]] = []
        self.committed_at: list[float] = []
        """When the last commit of each life began that was answered."""

    def start(self) -> tuple[ConsumerProcess, Path]:
        path = self._folder / f"life-{len(self.lives)}"
        return ConsumerProcess(self._namesrv, GROUP, TOPIC, path, orderly=self._orderly), path

    def kill(self, process: ConsumerProcess, path: Path) -> None:
        process.kill()
        lines = read_processed(path)
        self.lives.append([line for line in lines if line.queue != COMMITTED])
        self.committed_at.append(max((line.at for line in lines if line.queue == COMMITTED), default=0.0))


def kill_rounds(namesrv: str, broker: Broker, folder: Path, kills: int, seed: int, *, orderly: bool) -> None:
    chance = random.Random(seed)
    history = History()
    producers = [Producer(f"p{n}", broker.address, history, rate_per_s=150.0) for n in range(2)]
    for producer in producers:
        producer.start()
    victims = Victims(namesrv, folder, orderly=orderly)
    for _ in range(kills):
        process, path = victims.start()
        try:
            wait_for_lines(process, path, chance.randrange(100, 400))
        finally:
            victims.kill(process, path)
        check_commits(broker, victims)
    for producer in producers:
        producer.stop()
        producer.join(15)
    process, path = victims.start()
    try:
        drain(process, path, victims, history)
    finally:
        victims.kill(process, path)
    check_again(victims)
    if orderly:
        check_order(victims)


def drain(process: ConsumerProcess, path: Path, victims: Victims, history: History) -> None:
    """Everything that was acknowledged is processed in the end."""
    sent = {(e.queue, e.offset) for e in history.events() if e.status == "ok"}
    deadline = time.monotonic() + LOCK_MOVES_S + DRAIN_S
    while not sent <= {(p.queue, p.offset) for life in [*victims.lives, read_processed(path)] for p in life}:
        assert time.monotonic() < deadline, "messages were not delivered again"
        time.sleep(0.2)


def wait_for_lines(process: ConsumerProcess, path: Path, count: int) -> None:
    deadline = time.monotonic() + LOCK_MOVES_S + 10.0
    while len(read_processed(path)) < count:
        assert process.is_alive
        assert time.monotonic() < deadline, f"no {count} messages within {LOCK_MOVES_S} s of a kill"
        time.sleep(0.02)


def check_commits(broker: Broker, victims: Victims) -> None:
    """Everything before a committed offset was processed."""
    processed = {(p.queue, p.offset) for life in victims.lives for p in life}
    for queue, offset in fetch_offsets(broker.address, History(), group=GROUP).items():
        missing = [number for number in range(offset) if (queue, number) not in processed]
        assert not missing, f"queue {queue} is committed to {offset}, and {missing[:5]} were not processed"


def check_again(victims: Victims) -> None:
    """What comes again was processed behind the last commit, or lay behind something that was in hand then;
    in one life nothing does."""
    done: set[tuple[int, int]] = set()
    for number, life in enumerate(victims.lives):
        twice = [place for place, count in Counter((p.queue, p.offset) for p in life).items() if count > 1]
        assert not twice, f"life {number} got {twice[:5]} more than once"
        again = [p for p in life if (p.queue, p.offset) in done]
        assert len(again) <= BATCH * THREADS, f"{len(again)} old messages came again in life {number}"
        done |= {(p.queue, p.offset) for p in life if p.at < victims.committed_at[number]}


def check_order(victims: Victims) -> None:
    """Of one holder: each message behind its forerunner, none left out."""
    for life in victims.lives:
        for queue in range(QUEUES):
            offsets = [p.offset for p in life if p.queue == queue]
            assert all(after == before + 1 for before, after in pairwise(offsets)), offsets


def test_a_consumer_killed_in_a_batch_loses_nothing(
    cluster: tuple[str, Broker], tmp_path: Path, seed: int
) -> None:
    kill_rounds(*cluster, tmp_path, 2, seed, orderly=False)


@pytest.mark.crash_long
def test_a_consumer_killed_twenty_times_loses_nothing(
    cluster: tuple[str, Broker], tmp_path: Path, seed: int
) -> None:
    kill_rounds(*cluster, tmp_path, 20, seed, orderly=False)


@pytest.mark.crash_long
def test_the_locks_of_a_killed_consumer_move(cluster: tuple[str, Broker], tmp_path: Path, seed: int) -> None:
    """They are the dead one's for up to a minute, as in RocketMQ, so there are few kills here."""
    kill_rounds(*cluster, tmp_path, 3, seed, orderly=True)
