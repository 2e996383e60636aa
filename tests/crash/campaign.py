"""A broker under load, crashed and restarted as often as wanted, with one history of it all.

The load of faults.md: four producers (two wait for each answer, two keep a window in flight), two readers in
groups of their own that hold long polls and commit. After each restart every queue is drained from its
beginning and the whole history is judged.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from pathlib import Path

from tests.crash import requests as rq
from tests.crash.checker.check import check_history
from tests.crash.checker.events import CLEAN_STOP, OK, SEND, Event, History
from tests.crash.checker.violations import Violation, describe
from tests.crash.cluster import Broker
from tests.crash.drain import crashing, drain, mark_event
from tests.crash.load import Producer, Reader, create_topic, fetch_offsets

_JOIN_S = 15.0
_READY_S = 10.0
PERSIST_INTERVAL_S = 1.5
"""Offsets are saved every 500 ms here; the rest is for a machine that is busy."""


@dataclass(frozen=True, slots=True)
class Windows:
    """Requests in flight of each producer."""

    sizes: tuple[int, ...] = (1, 1, 8, 32)
    rate_per_s: float = 500.0


class Campaign:
    def __init__(
        self,
        broker: Broker,
        seed: int,
        *,
        windows: Windows | None = None,
        readers: int = 2,
    ) -> None:
        self.broker = broker
        self.random = random.Random(seed)
        self.history = History()
        self.reader_troubles = {rq.SYSTEM_BUSY}
        """Response codes at which a reader may give up: a broker that stops says that it is busy."""
        self._windows = windows or Windows()
        self._groups = [f"CrashGroup{number}" for number in range(readers)]
        self._next_seq: dict[str, int] = {}
        self._offsets: dict[str, dict[int, int]] = {}
        self.node, self.epoch = "", 0
        """Who the load goes to; a broker without a group has neither."""
        self._producers: list[Producer] = []
        self._readers: list[Reader] = []

    def start(self) -> None:
        self.broker.start()
        create_topic(self.broker.address)

    def begin_load(self) -> None:
        address = self.broker.address
        for number, window in enumerate(self._windows.sizes):
            name = f"p{number}"
            self._producers.append(
                Producer(
                    name,
                    address,
                    self.history,
                    window=window,
                    first_seq=self._next_seq.get(name, 0),
                    rate_per_s=self._windows.rate_per_s,
                    node=self.node,
                    epoch=self.epoch,
                )
            )
        for number, group in enumerate(self._groups):
            offsets = self._offsets.get(group)
            self._readers.append(Reader(f"c{number}", address, self.history, group=group, offsets=offsets))
        for thread in (*self._readers, *self._producers):
            thread.start()

    def end_load(self) -> dict[int, int]:
        """Stops or outlives every client; returns how often each response code answered a send."""
        codes: dict[int, int] = {}
        for producer in self._producers:
            producer.stop()
        for reader in self._readers:
            reader.stop()
        for producer in self._producers:
            producer.join(_JOIN_S)
            assert not producer.is_alive(), "a producer hangs"
            self._next_seq[producer.name] = producer.next_seq
            for code, count in producer.codes.items():
                codes[code] = codes.get(code, 0) + count
        for group, reader in zip(self._groups, self._readers, strict=False):
            reader.join(_JOIN_S)
            assert not reader.is_alive(), "a reader hangs"
            # The next one goes on there: one that began anew would set its group back.
            self._offsets[group] = dict(reader.offsets)
            assert {answer.code for answer in reader.refusals} <= self.reader_troubles, reader.refusals
        self._producers, self._readers = [], []
        return codes

    def refused(self, code: int) -> int:
        """How many sends of the running load were answered with this code so far."""
        return sum(producer.codes.get(code, 0) for producer in self._producers)

    def random_pause(self, least_s: float = 0.05, most_s: float = 0.6) -> None:
        time.sleep(self.random.uniform(least_s, most_s))

    def load_for(self, seconds: float) -> dict[int, int]:
        self.begin_load()
        time.sleep(seconds)
        return self.end_load()

    def crash_under_load(self, seconds: float) -> None:
        self.begin_load()
        time.sleep(seconds)
        self.crash()

    def crash(self) -> None:
        with crashing(self.history):
            self.broker.kill()
        self.end_load()

    def stop(self) -> float:
        """A clean stop, under load if there is one."""
        took_s = self.broker.stop()
        self.history.add(mark_event(CLEAN_STOP))
        self.end_load()
        return took_s

    def restart(self) -> float:
        took_s = self.broker.start()
        assert took_s <= _READY_S, f"ready only after {took_s:.1f} s"
        self.look()
        return took_s

    def look(self) -> None:
        """Reads back the groups' offsets and drains every queue."""
        for group in self._groups:
            self._offsets[group] = fetch_offsets(self.broker.address, self.history, group=group)
        drain(self.broker.address, self.history, node=self.node)

    def acknowledged(self) -> int:
        return sum(event.op == SEND and event.status == OK for event in self.history.events())

    def violations(self, *, persist_interval_s: float = PERSIST_INTERVAL_S) -> list[Violation]:
        return check_history(self.history.events(), persist_interval_s=persist_interval_s)

    def verify(self, *, at_least: int = 100, persist_interval_s: float = PERSIST_INTERVAL_S) -> None:
        """No broken promise, and enough acknowledged that this means something."""
        violations = self.violations(persist_interval_s=persist_interval_s)
        assert_kept(violations, self.history, self.broker.folder)
        assert self.acknowledged() >= at_least, (
            f"only {self.acknowledged()} acknowledged: {self.broker.tail()}"
        )


def assert_kept(violations: list[Violation], history: History, folder: Path) -> None:
    if violations:
        path = folder / "history.jsonl"
        history.save(path)
        raise AssertionError(f"{describe(violations)}\nhistory: {path}")


def sends_after(events: list[Event], moment: float, status: str) -> list[Event]:
    return [
        event for event in events if event.op == SEND and event.status == status and event.t_invoke > moment
    ]
