"""F35: messages and frames of exactly the size that is allowed, and one byte more."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.crash import requests as rq
from tests.crash.cluster import Broker, Daemon
from tests.crash.conftest import MakeBroker
from tests.crash.load import TOPIC, create_topic, send_surely
from tests.crash.wire import Link, LinkClosed, decode_stored, encode_request

MB = 1 << 20
MAX_BODY = 4 * MB
MAX_FRAME = 16 * MB
MAX_PROPERTIES = 32_767
SEND_BATCH = 320


@pytest.fixture
def broker(make_broker: MakeBroker) -> Broker:
    broker = make_broker(settings={"mappedFileSizeCommitLog": str(32 * MB), "maxMessageSize": str(MAX_BODY)})
    broker.start()
    create_topic(broker.address)
    return broker


def send(link: Link, body: bytes, properties: str = "", **fields: str) -> int:
    request = {**rq.send_fields(TOPIC, 0, "k"), "i": properties, **fields}
    return send_surely(link, request, body, timeout_s=10).code


def stored_count(link: Link) -> int:
    return int(link.call(rq.GET_MAX_OFFSET, rq.queue_fields(TOPIC, 0)).fields["offset"])


def test_the_largest_body_is_stored_and_read(broker: Broker) -> None:
    body = bytes(range(256)) * (MAX_BODY // 256)
    with Link(broker.address) as link:
        assert send(link, body) == rq.SUCCESS
        answer = link.call(rq.PULL, rq.pull_fields(TOPIC, "Giants", 0, 0), timeout_s=10)
        assert [stored.body for stored in decode_stored(answer.body)] == [body]


def test_one_byte_more_is_refused_and_not_stored(broker: Broker) -> None:
    with Link(broker.address) as link:
        assert send(link, bytes(MAX_BODY + 1)) == rq.MESSAGE_ILLEGAL
        assert send(link, b"small") == rq.SUCCESS
        assert stored_count(link) == 1


def test_a_batch_over_the_limit_is_refused(broker: Broker) -> None:
    item = (122).to_bytes(4, "big") + bytes(12) + (100).to_bytes(4, "big") + bytes(100) + bytes(2)
    batch = item * (MAX_BODY // len(item) + 1)
    with Link(broker.address) as link:
        fields = {**rq.send_fields(TOPIC, 0, "k"), "m": "true"}
        answer = send_surely(link, fields, batch, code=SEND_BATCH, timeout_s=10)
        assert answer.code == rq.MESSAGE_ILLEGAL
        assert stored_count(link) == 0


def test_properties_up_to_the_limit_are_stored(broker: Broker) -> None:
    """The limit is on what is stored: the request's properties and those that the broker adds."""
    key = "UNIQ_KEY\x01" + "A" * 32 + "\x02"

    def properties(size: int) -> str:
        return f"{key}x\x01" + "v" * (size - len(key) - 3) + "\x02"

    with Link(broker.address) as link:
        assert send(link, b"b", properties(100)) == rq.SUCCESS
        (stored,) = decode_stored(link.call(rq.PULL, rq.pull_fields(TOPIC, "Giants", 0, 0)).body)
        added = stored.size - 91 - len("b") - len(TOPIC) - 100
        assert send(link, b"b", properties(MAX_PROPERTIES - added)) == rq.SUCCESS
        assert send(link, b"b", properties(MAX_PROPERTIES - added + 1)) == rq.MESSAGE_ILLEGAL
        assert send(link, b"b", properties(MAX_PROPERTIES + 1)) == rq.MESSAGE_ILLEGAL
        assert stored_count(link) == 2


def test_a_frame_over_the_limit_closes_its_connection_alone(broker: Broker) -> None:
    with Link(broker.address) as honest, Link(broker.address) as giant:
        frame = encode_request(rq.SEND_V2, 1, rq.send_fields(TOPIC, 0, "k"), bytes(MAX_FRAME))
        with pytest.raises((LinkClosed, ConnectionError)):
            giant.write(frame, timeout_s=10)
            giant.receive(5.0)
        assert send(honest, b"small") == rq.SUCCESS
        assert broker.is_alive


def test_a_frame_just_below_the_limit_is_read_and_refused(broker: Broker) -> None:
    fields = rq.send_fields(TOPIC, 0, "k")
    overhead = len(encode_request(rq.SEND_V2, 1, fields)) - 4
    with Link(broker.address) as link:
        answer = send_surely(link, fields, bytes(MAX_FRAME - overhead), timeout_s=10)
        assert answer.code == rq.MESSAGE_ILLEGAL


class PeakMemory(threading.Thread):
    """The most anonymous memory that a daemon was seen with."""

    def __init__(self, daemon: Daemon) -> None:
        super().__init__(daemon=True)
        self._daemon = daemon
        self._quit = threading.Event()
        self.peak_bytes = 0

    def run(self) -> None:
        while not self._quit.wait(0.01):
            self.peak_bytes = max(self.peak_bytes, self._daemon.sample().anonymous_bytes)

    def stop(self) -> int:
        self._quit.set()
        self.join()
        return self.peak_bytes


def giants_in_flight(broker: Broker, count: int) -> int:
    """All sent at once, each over a connection of its own; the peak of memory. The broker takes as many at a
    time as it has room for (docs/limits.md), and the others wait: nobody is closed."""
    peak = PeakMemory(broker)
    peak.start()
    links = [Link(broker.address) for _ in range(count)]
    frame = encode_request(rq.SEND_V2, 1, rq.send_fields(TOPIC, 0, "k"), bytes(MAX_BODY))

    def send_one(link: Link) -> int:
        link.write(frame, timeout_s=60)
        return link.receive(60)[0].code

    with ThreadPoolExecutor(count) as pool:
        codes = list(pool.map(send_one, links))
    for link in links:
        link.close()
    assert set(codes) <= {rq.SUCCESS, rq.SYSTEM_BUSY}, codes
    with Link(broker.address) as link:
        assert stored_count(link) == codes.count(rq.SUCCESS)
        assert send(link, b"small") == rq.SUCCESS
    return peak.stop()


def test_many_giants_in_flight_fit_into_memory(broker: Broker) -> None:
    """96 MB of them, in a budget of 32 MB for one address."""
    peak_bytes = giants_in_flight(broker, 24)
    print(f"{peak_bytes >> 20} MB")
    assert peak_bytes <= 200 * MB, f"{peak_bytes >> 20} MB"


@pytest.mark.crash_long
def test_a_hundred_giants_in_flight_fit_into_a_gigabyte(broker: Broker) -> None:
    peak_bytes = giants_in_flight(broker, 100)
    print(f"{peak_bytes >> 20} MB")
    assert peak_bytes <= 1024 * MB, f"{peak_bytes >> 20} MB"
