"""The crash suite's own tools, tested against a listener that is none of ours."""

from __future__ import annotations

import socket
import struct
import threading
import zlib
from collections.abc import Iterator

import orjson
import pytest

from tests.crash import requests as rq
from tests.crash.checker.events import FAIL, INFO, OK, History
from tests.crash.load import Producer, body_of, read_events, value_of
from tests.crash.wire import Address, Answer, Link, LinkClosed, decode_answer, decode_stored, encode_request


def answer_frame(opaque: int, code: int, fields: dict[str, str]) -> bytes:
    header = orjson.dumps({"code": code, "opaque": opaque, "flag": 1, "extFields": fields})
    return struct.pack(">iI", 4 + len(header), len(header)) + header


def record(body: bytes, queue: int, offset: int, *, crc: int | None = None) -> bytes:
    topic = b"T"
    size = 91 + len(body) + len(topic)
    crc = zlib.crc32(body) & 0x7FFFFFFF if crc is None else crc
    head = struct.pack(
        ">iIiiiqqiq8sq8siq", size, 0xDAA320A7, crc, queue, 0, offset, 0, 0, 1, b"", 2, b"", 0, 0
    )
    return (
        head
        + struct.pack(">i", len(body))
        + body
        + struct.pack(">B", len(topic))
        + topic
        + struct.pack(">h", 0)
    )


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def address_of(listener: socket.socket) -> Address:
    host, port = listener.getsockname()
    return host, port


def test_a_request_is_one_whole_frame() -> None:
    frame = encode_request(310, 7, {"b": "T"}, b"body")
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    decoded = decode_answer(frame[4:])
    assert (decoded.code, decoded.opaque, decoded.fields, decoded.body) == (310, 7, {"b": "T"}, b"body")


def test_answers_are_cut_from_any_pieces(listener: socket.socket) -> None:
    frames = answer_frame(1, 0, {"x": "1"}) + answer_frame(2, 19, {})
    with Link(address_of(listener)) as link:
        peer, _ = listener.accept()
        with peer:
            answers: list[Answer] = []
            for byte in frames:
                peer.sendall(bytes([byte]))
            while len(answers) < 2:
                answers += link.receive(2.0)
    assert [(answer.opaque, answer.code) for answer in answers] == [(1, 0), (2, 19)]


def test_silence_and_the_end_of_the_stream_are_told_apart(listener: socket.socket) -> None:
    with Link(address_of(listener)) as link:
        peer, _ = listener.accept()
        with pytest.raises(TimeoutError):
            link.receive(0.01)
        peer.close()
        with pytest.raises(LinkClosed):
            link.receive(2.0)


def test_a_body_names_its_value_and_nothing_else_does() -> None:
    body = body_of(("p0", 17))
    assert len(body) == 1024 and value_of(body) == ("p0", 17)
    for position in (0, 4, 500, 1023):
        damaged = bytearray(body)
        damaged[position] ^= 1
        assert value_of(bytes(damaged)) != ("p0", 17)
    assert value_of(b"") is None and value_of(b"\0" * 1024) is None


def test_stored_records_are_read_and_damage_is_seen() -> None:
    good, bad = body_of(("p0", 1)), bytearray(body_of(("p0", 2)))
    crc = zlib.crc32(bad) & 0x7FFFFFFF
    bad[100] ^= 4
    events = read_events("c", 3, record(good, 3, 0) + record(bytes(bad), 3, 1, crc=crc), 1.0)
    assert [(event.value, event.offset) for event in events] == [(("p0", 1), 0), (None, 1)]


@pytest.mark.parametrize("cut", [1, 50, 90, 200])
def test_half_a_record_is_not_a_message(cut: int) -> None:
    whole = record(body_of(("p0", 1)), 0, 0)
    with pytest.raises((ValueError, struct.error)):
        list(decode_stored(whole[:-cut]))


def test_response_codes_mean_what_the_house_says() -> None:
    assert rq.send_status(0) == OK
    assert {rq.send_status(code) for code in (10, 11, 12)} == {INFO}
    assert {rq.send_status(code) for code in (1, 2, 13, 14, 16, 17, 29)} == {FAIL}


def test_a_producer_writes_down_every_fate(listener: socket.socket) -> None:
    history = History()
    producer = Producer("p0", address_of(listener), history, window=4, rate_per_s=10_000)
    server = threading.Thread(target=_answer_some, args=(listener,))
    server.start()
    producer.run()
    server.join()
    fates = [(event.value, event.status, event.offset) for event in history.events()]
    assert fates[:3] == [(("p0", 0), OK, 40), (("p0", 1), FAIL, -1), (("p0", 2), INFO, -1)]
    assert {status for _, status, _ in fates[3:]} == {INFO}
    assert len(fates) == producer.next_seq


def _answer_some(listener: socket.socket) -> None:
    """Acknowledges the first send, refuses the second, times out the flush of the third, then dies."""
    peer, _ = listener.accept()
    with peer:
        for code, fields in ((0, {"queueOffset": "40"}), (14, {}), (10, {"queueOffset": "41"})):
            size = int.from_bytes(_exactly(peer, 4), "big")
            peer.sendall(answer_frame(decode_answer(_exactly(peer, size)).opaque, code, fields))
        # A socket that is closed with unread bytes is reset, and a reset discards the answers on their way.
        peer.shutdown(socket.SHUT_WR)
        while peer.recv(1 << 16):
            pass


def _exactly(peer: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        data += peer.recv(size - len(data))
    return data
