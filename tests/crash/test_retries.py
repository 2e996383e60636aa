"""F29: all fails, and the broker is killed in the middle: 16 tries each, then a dead letter; none lost."""

from __future__ import annotations

import random
import threading
import time

import pytest

from tests.crash import requests as rq
from tests.crash.cluster import Broker
from tests.crash.conftest import MakeBroker
from tests.crash.load import GROUP, TOPIC, body_of, create_topic, send_surely, value_of
from tests.crash.wire import Address, Link, decode_stored

SEND_BACK = 36
TRIES = 16
SCHEDULE = "SCHEDULE_TOPIC_XXXX"
RETRY, DEAD = f"%RETRY%{GROUP}", f"%DLQ%{GROUP}"
NO_DELAY = {"messageDelayLevel": " ".join(["0s"] * 18)}
_RECONSUME_AT = 72


class FailingConsumer:
    """Pulls the topic and its retries, and sends everything back, until the broker is gone or all is dead."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._offsets = {TOPIC: 0, RETRY: 0}
        self.tries: dict[int, list[int]] = {seq: [] for seq in range(count)}

    def run(self, address: Address, until_s: float) -> None:
        """Offsets move behind what was sent back only, as a consumer's do."""
        deadline = time.monotonic() + until_s
        try:
            with Link(address) as link:
                while time.monotonic() < deadline and len(dead_letters(link)) < self._count:
                    for topic in self._offsets:
                        self._round(link, topic)
        except OSError:
            pass

    def _round(self, link: Link, topic: str) -> None:
        answer = link.call(rq.PULL, rq.pull_fields(topic, GROUP, 0, self._offsets[topic]))
        if answer.code != rq.SUCCESS:
            return
        position = 0
        for stored in decode_stored(answer.body):
            value = value_of(stored.body)
            assert value is not None
            at = position + _RECONSUME_AT
            self.tries[value[1]].append(int.from_bytes(answer.body[at : at + 4], "big"))
            fields = {"offset": str(stored.commit_log_offset), "group": GROUP, "delayLevel": "0"}
            back = link.call(SEND_BACK, fields)
            assert back.code == rq.SUCCESS, back.remark
            self._offsets[topic] = stored.queue_offset + 1
            position += stored.size


def dead_letters(link: Link) -> list[int]:
    offset, found = 0, []
    while True:
        answer = link.call(rq.PULL, rq.pull_fields(DEAD, GROUP, 0, offset))
        if answer.code != rq.SUCCESS:
            return found
        for stored in decode_stored(answer.body):
            value = value_of(stored.body)
            assert value is not None
            found.append(value[1])
        offset = int(answer.fields["nextBeginOffset"])


def retry_storm(broker: Broker, seed: int, *, count: int, kills: int) -> None:
    chance = random.Random(seed)
    broker.start()
    create_topic(broker.address, TOPIC, 1)
    with Link(broker.address) as link:
        for seq in range(count):
            fields = rq.send_fields(TOPIC, 0, f"r:{seq}")
            assert send_surely(link, fields, body_of(("r", seq), 100)).code == rq.SUCCESS
    consumer = FailingConsumer(count)
    for _ in range(kills):
        killer = threading.Timer(chance.uniform(0.5, 1.5), broker.kill)
        killer.start()
        consumer.run(broker.address, 120.0)
        killer.join()
        broker.start()
    consumer.run(broker.address, 120.0)
    with Link(broker.address) as link:
        dead = dead_letters(link)
        waited = [link.call(rq.GET_MAX_OFFSET, rq.queue_fields(SCHEDULE, level)) for level in range(18)]
    # Level 3 for the first redelivery, one more for each after it: 16 of the 18 queues of waiting messages.
    per_level = [int(answer.fields["offset"]) for answer in waited]
    assert per_level[:2] == [0, 0], per_level
    assert all(count <= number <= count + kills for number in per_level[2:]), per_level
    assert set(dead) == set(range(count)), f"lost: {sorted(set(range(count)) - set(dead))[:10]}"
    # One message is in flight at a kill: it may have come back already, and is then sent back again.
    assert len(dead) <= count + kills
    assert all(set(tries) == set(range(TRIES + 1)) for tries in consumer.tries.values()), consumer.tries
    assert sum(map(len, consumer.tries.values())) <= (count + kills) * (TRIES + 1) + kills


def test_kill_9_in_a_retry_storm(make_broker: MakeBroker, seed: int) -> None:
    retry_storm(make_broker(settings=NO_DELAY), seed, count=40, kills=3)


@pytest.mark.crash_long
def test_kill_9_in_a_storm_of_a_thousand(make_broker: MakeBroker, seed: int) -> None:
    retry_storm(make_broker(settings=NO_DELAY), seed, count=1_000, kills=10)
