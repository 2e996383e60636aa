"""F11, F12: how long recovery takes, and a polite stop under load."""

from __future__ import annotations

import struct

import pytest

from tests.crash import requests as rq
from tests.crash.campaign import Campaign
from tests.crash.cluster import ASYNC, SYNC, Broker
from tests.crash.conftest import MakeBroker
from tests.crash.load import QUEUES, TOPIC, create_topic, send_surely
from tests.crash.wire import Link, LinkClosed

STOP_S = 5.0
START_S = 2.0
RECOVERY_S_PER_GB = 20.0
SEND_BATCH = 320
BATCH = 100


def stop_rounds(broker: Broker, rounds: int, seed: int) -> None:
    campaign = Campaign(broker, seed)
    campaign.start()
    for number in range(1, rounds + 1):
        campaign.begin_load()
        campaign.random_pause(0.5, 1.2)
        took_s = campaign.stop()
        assert took_s <= STOP_S, f"stopped only after {took_s:.1f} s"
        assert not (broker.store / "abort").exists(), "a clean stop leaves no abort file"
        campaign.restart()
        campaign.verify(at_least=100 * number)


@pytest.mark.parametrize("flush", [SYNC, ASYNC])
def test_a_stop_under_load_loses_nothing(make_broker: MakeBroker, flush: str, seed: int) -> None:
    stop_rounds(make_broker(flush=flush), 2, seed)


@pytest.mark.crash_long
@pytest.mark.parametrize("flush", [SYNC, ASYNC])
@pytest.mark.parametrize("chain", range(5))
def test_a_hundred_stops_under_load(make_broker: MakeBroker, flush: str, chain: int, seed: int) -> None:
    stop_rounds(make_broker(flush=flush), 10, seed + chain)


def fill_with_small_messages(broker: Broker, megabytes: int) -> int:
    """Batches of 128-byte messages; returns how many messages were acknowledged."""
    stored = 0
    item = struct.pack(">iiiii", 22 + 128, 0, 0, 0, 128) + b"x" * 128 + struct.pack(">h", 0)
    fields = {**rq.send_fields(TOPIC, 0, "k"), "m": "true", "i": ""}
    with Link(broker.address) as link:
        while log_bytes(broker) < megabytes << 20:
            for queue in range(8):
                answer = send_surely(link, {**fields, "e": str(queue)}, item * BATCH, code=SEND_BATCH)
                assert answer.code == rq.SUCCESS, answer.remark
                stored += BATCH
    return stored


def log_bytes(broker: Broker) -> int:
    """All but the last two segments are surely full (the newest may only be made ready)."""
    sizes = [path.stat().st_size for path in sorted((broker.store / "commitlog").iterdir())]
    return sum(sizes[:-2])


def recover(broker: Broker, megabytes: int) -> None:
    broker.start()
    create_topic(broker.address)
    stored = fill_with_small_messages(broker, megabytes)
    size_bytes = log_bytes(broker)
    broker.kill()
    took_s = broker.start()
    allowed_s = START_S + RECOVERY_S_PER_GB * size_bytes / (1 << 30)
    print(f"{size_bytes >> 20} MB recovered in {took_s:.2f} s")
    assert took_s <= allowed_s, f"{took_s:.1f} s to recover {size_bytes >> 20} MB, allowed {allowed_s:.1f} s"
    assert stored_count(broker) == stored


def stored_count(broker: Broker) -> int:
    with Link(broker.address) as link:
        ends = [link.call(rq.GET_MAX_OFFSET, rq.queue_fields(TOPIC, queue)) for queue in range(QUEUES)]
    return sum(int(answer.fields["offset"]) for answer in ends)


@pytest.mark.alone
def test_recovery_takes_time_in_proportion(make_broker: MakeBroker) -> None:
    recover(make_broker(settings={"mappedFileSizeCommitLog": str(16 << 20)}), megabytes=48)


@pytest.mark.crash_long
def test_recovery_of_a_gigabyte(make_broker: MakeBroker) -> None:
    recover(make_broker(settings={"mappedFileSizeCommitLog": str(128 << 20)}), megabytes=1024)


def test_a_second_broker_on_the_same_store_is_refused(make_broker: MakeBroker) -> None:
    first = make_broker()
    first.start()
    second = make_broker(name="second", store=first.store)
    with pytest.raises(AssertionError, match=r"ended with [1-9]"):
        second.start()
    with Link(first.address) as link:
        assert link.call(rq.SEND_V2, rq.send_fields("Any", 0, "k"), b"x").code == rq.SUCCESS


def test_a_stopped_broker_closes_its_connections(make_broker: MakeBroker) -> None:
    broker = make_broker()
    broker.start()
    with Link(broker.address) as link:
        link.call(rq.GET_MAX_OFFSET, rq.queue_fields(TOPIC, 0))
        broker.stop()
        with pytest.raises(LinkClosed):
            link.receive(1.0)
