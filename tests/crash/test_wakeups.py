"""No wake-up is lost: whoever waits in a long poll gets a message when it is there, not when the poll ends.

Few messages and many polls, so that nearly every message finds its queue waited for; polls last 15 s, so that
a lost wake-up is late by seconds, however busy the machine is.
"""

from __future__ import annotations

import threading
import time

import pytest

from tests.crash import requests as rq
from tests.crash.checker.events import OK, PULL, SEND, Event, History
from tests.crash.cluster import ASYNC, SYNC, Broker
from tests.crash.conftest import MakeBroker
from tests.crash.load import GROUP, TOPIC, Producer, Reader, create_topic, value_of
from tests.crash.popping_load import POP
from tests.crash.wire import Address, Link, decode_stored

LATE_S = 4.0
READERS = 4
POPPERS = 4


class Popper(threading.Thread):
    """Pops for a group of its own with long polls, and notes what came when."""

    def __init__(self, name: str, address: Address, history: History) -> None:
        super().__init__(name=name, daemon=True)
        self._address = address
        self._history = history
        self._quit = threading.Event()

    def stop(self) -> None:
        self._quit.set()

    def run(self) -> None:
        """Its last poll outlives the test and ends with the broker."""
        try:
            with Link(self._address) as link:
                self._pop(link)
        except OSError:
            if not self._quit.is_set():
                raise

    def _pop(self, link: Link) -> None:
        fields = {
            "consumerGroup": f"{GROUP}-{self.name}",
            "topic": TOPIC,
            "queueId": "-1",
            "maxMsgNums": "32",
            "invisibleTime": "600000",
            "pollTime": "15000",
            "bornTime": "0",
            "initMode": "0",
        }
        while not self._quit.is_set():
            answer = link.call(POP, {**fields, "bornTime": str(int(time.time() * 1000))}, timeout_s=30.0)
            now = time.monotonic()
            if answer.code == rq.SUCCESS:
                self._history.add(
                    *(
                        Event(PULL, self.name, now, now, OK, TOPIC, value=value_of(stored.body))
                        for stored in decode_stored(answer.body)
                    )
                )


def lateness(history: History, expected_readers: int) -> list[float]:
    """For each message and each reader: how long after its acknowledgement it was there."""
    events = history.events()
    sent = {event.value: event.t_done for event in events if event.op == SEND and event.status == OK}
    reads: dict[tuple[str, object], float] = {}
    for event in events:
        if event.op == PULL and event.value in sent:
            reads.setdefault((event.proc, event.value), event.t_done)
    missing = len(sent) * expected_readers - len(reads)
    assert not missing, f"{missing} of {len(sent) * expected_readers} reads did not happen"
    return [at - sent[value] for (_, value), at in reads.items()]  # type: ignore[index]


def run(broker: Broker, seconds: float) -> None:
    broker.start()
    create_topic(broker.address)
    history = History()
    consumers: list[Reader | Popper] = [
        Reader(f"r{n}", broker.address, history, group=f"Readers{n}") for n in range(READERS)
    ]
    consumers += [Popper(f"o{n}", broker.address, history) for n in range(POPPERS)]
    producers = [
        Producer(f"p{n}", broker.address, history, rate_per_s=5.0 + 7.0 * n, body_bytes=100) for n in range(4)
    ]
    for thread in (*consumers, *producers):
        thread.start()
    time.sleep(seconds)
    for producer in producers:
        producer.stop()
        producer.join(15)
    time.sleep(LATE_S)
    for consumer in consumers:
        consumer.stop()
    late = lateness(history, READERS + POPPERS)
    print(f"{len(late)} reads, the latest {max(late):.3f} s behind its acknowledgement")
    assert max(late) < LATE_S, (
        f"{sum(each >= LATE_S for each in late)} reads are late by up to {max(late):.1f} s"
    )


@pytest.mark.parametrize("flush", [SYNC, ASYNC])
def test_no_wake_up_is_lost(make_broker: MakeBroker, flush: str) -> None:
    run(make_broker(flush=flush), 3.0)


@pytest.mark.crash_long
@pytest.mark.parametrize("flush", [SYNC, ASYNC])
def test_no_wake_up_is_lost_in_two_minutes(make_broker: MakeBroker, flush: str) -> None:
    run(make_broker(flush=flush), 120.0)
