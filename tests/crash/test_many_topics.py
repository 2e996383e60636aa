"""F34: 100,000 topics end to end: made, announced, written, read and there again after a restart."""

from __future__ import annotations

import os
import random
import resource
import time
from pathlib import Path

import orjson
import pytest

from tests.crash import requests as rq
from tests.crash.cluster import Broker, Daemon, NameServer
from tests.crash.load import send_surely
from tests.crash.wire import Address, Answer, Link, decode_stored, encode_request

pytestmark = pytest.mark.crash_long

TOPICS = int(os.environ.get("MANY_TOPICS", "100000"))
CREATE_S = 600.0
RESTART_S = 60.0
MOST_ANONYMOUS = 1_500 << 20
MOST_DESCRIPTORS = 2_000
GET_ALL_TOPICS = 206
WINDOW = 256
SAMPLE = 300


def name_of(number: int) -> str:
    return f"ManyTopics-{number:06d}"


def in_flight(address: Address, requests: list[tuple[int, dict[str, str], bytes]]) -> None:
    """All of them with a window in flight; each must succeed. A busy broker's refusal is asked again."""
    waiting: dict[int, int] = {}
    todo = list(range(len(requests)))[::-1]
    with Link(address, timeout_s=60.0) as link:

        def take(answers: list[Answer]) -> None:
            for answer in answers:
                number = waiting.pop(answer.opaque)
                if answer.code == rq.SYSTEM_BUSY:
                    todo.append(number)
                else:
                    assert answer.code == rq.SUCCESS, f"{answer.code} {answer.remark}"

        while todo or waiting:
            while todo and len(waiting) < WINDOW:
                number = todo.pop()
                opaque = link.next_opaque()
                waiting[opaque] = number
                code, fields, body = requests[number]
                link.write(encode_request(code, opaque, fields, body), timeout_s=60.0)
            take(link.receive(60.0))


def topics_at(name_server: Address) -> set[str]:
    with Link(name_server) as link:
        answer = link.call(GET_ALL_TOPICS, {}, timeout_s=60.0)
    assert answer.code == rq.SUCCESS, answer.remark
    return set(orjson.loads(answer.body)["topicList"])


def wait_until_announced(name_server: Address, within_s: float) -> float:
    begun = time.monotonic()
    wanted = {name_of(number) for number in range(TOPICS)}
    while not wanted <= topics_at(name_server):
        assert time.monotonic() - begun < within_s, "not all topics are announced"
        time.sleep(0.5)
    return time.monotonic() - begun


def is_small(broker: Broker, when: str) -> None:
    sample = broker.sample()
    print(f"{when}: {sample.anonymous_bytes >> 20} MB, {sample.descriptors} descriptors")
    assert sample.anonymous_bytes <= MOST_ANONYMOUS, f"{when}: {sample.anonymous_bytes >> 20} MB"
    assert sample.descriptors <= MOST_DESCRIPTORS, f"{when}: {sample.descriptors} descriptors"


def reads_back(address: Address, chance: random.Random) -> None:
    with Link(address) as link:
        for number in chance.sample(range(TOPICS), SAMPLE):
            answer = link.call(rq.PULL, rq.pull_fields(name_of(number), "Many", 0, 0))
            assert [stored.body for stored in decode_stored(answer.body)] == [b"%d" % number]


@pytest.mark.timeout(3600)
def test_a_hundred_thousand_topics(tmp_path: Path, daemons: list[Daemon], seed: int) -> None:
    """A registration of all of them passes the frame of 16 MiB only in parts: the name server would close
    the connection, and not know them."""
    chance = random.Random(seed)
    name_server = NameServer(tmp_path)
    daemons.append(name_server)
    name_server.start()
    settings = {"mappedFileSizeCommitLog": str(64 << 20), "mappedFileSizeConsumeQueue": "2000"}
    broker = Broker(tmp_path, name_servers=[name_server.address], settings=settings)
    daemons.append(broker)
    broker.start()
    begun = time.monotonic()
    names = [name_of(number) for number in range(TOPICS)]
    in_flight(broker.address, [(rq.CREATE_TOPIC, rq.topic_fields(name, 1), b"") for name in names])
    created_s = time.monotonic() - begun
    print(f"{TOPICS} topics made in {created_s:.0f} s")
    assert created_s <= CREATE_S
    wait_until_announced(name_server.address, 60.0)
    is_small(broker, "created")
    sends = [(rq.SEND_V2, rq.send_fields(name, 0, "k"), b"%d" % n) for n, name in enumerate(names)]
    in_flight(broker.address, sends)
    reads_back(broker.address, chance)
    is_small(broker, "written")
    for word, end in (("kill -9", broker.kill), ("stop", lambda: broker.stop(timeout_s=60.0))):
        end()
        name_server.kill()  # comes back empty: all has to be announced again
        name_server.start()
        took_s = broker.start(timeout_s=120.0)
        announced_s = wait_until_announced(name_server.address, 60.0)
        print(f"{word}: ready after {took_s:.1f} s, announced {announced_s:.1f} s later")
        assert took_s <= RESTART_S, f"ready only {took_s:.1f} s after a {word}"
        reads_back(broker.address, chance)
        is_small(broker, f"after a {word}")
    with Link(broker.address) as link:
        assert send_surely(link, rq.send_fields(names[-1], 0, "k"), b"x").code == rq.SUCCESS


def test_this_machine_lets_a_broker_open_enough_files() -> None:
    """Otherwise the bound of 2,000 descriptors would be the system's, not ours."""
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[1] > MOST_DESCRIPTORS
