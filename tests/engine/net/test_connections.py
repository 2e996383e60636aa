"""Server, connection and requester over real sockets: multiplexing, limits, hostile peers, drain."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import struct

import pytest

from engine.errors import PeerTimeout, PeerUnreachable
from engine.net.connection import Connection
from engine.net.flow import ConnectionLimits, ConnectionTimes
from engine.net.outcomes import ColdRead, Outcome, Persist, Relay, Reply
from engine.net.requester import Requester, parse_address
from engine.net.server import Server, listen
from engine.net.serving import Serving
from engine.protocol.codes import ResponseCode
from engine.protocol.commands import ONEWAY_FLAG, Command, encode_command
from engine.protocol.frames import FrameParser

ECHO, FAIL, SLOW, RELAY, COLD, PERSIST, BIG, DEAD_DISK = range(7001, 7009)


class InstantWaits:
    """Persists succeed at once; nothing else is asked in these tests."""

    def __init__(self):
        self.persisted = []

    def when_persisted(self, file, done):
        self.persisted.append(file)
        asyncio.get_running_loop().call_soon(done, None)


class Peer:
    def __init__(self, limits: ConnectionLimits | None = None):
        loop = asyncio.get_running_loop()
        self.waits = InstantWaits()
        self.seen: list[Command] = []
        self.clients: list[Connection] = []
        handlers = {
            ECHO: self.echo,
            FAIL: lambda request, client: 1 / 0,
            SLOW: lambda request, client: ColdRead(lambda: __import__("time").sleep(0.3) or b"late", _body),
            RELAY: lambda request, client: Relay(client, Command(9, body=b"?"), 200, _relayed),
            COLD: lambda request, client: ColdRead(lambda: b"cold", _body),
            PERSIST: lambda request, client: Persist("topics.json", Reply()),
            DEAD_DISK: self.dead_disk,
            BIG: lambda request, client: Reply(body=bytes(1024 * 1024)),
        }
        self.serving = Serving(handlers, self.waits, loop)
        self.server = Server(loop, self.serving, limits or ConnectionLimits())
        host, port = self.server.add_listener(listen("127.0.0.1", 0, 128))
        self.address = f"{host}:{port}"
        self.port = port

    def dead_disk(self, request: Command, client: Connection) -> Outcome:
        raise OSError(errno.EIO, "Input/output error")

    def echo(self, request: Command, client: Connection) -> Outcome:
        self.seen.append(request)
        self.clients.append(client)
        return Reply(0, None, request.fields, request.body)


def _body(data: bytes) -> Reply:
    return Reply(body=data)


def _relayed(answer: Command | None) -> Reply:
    return Reply(0 if answer else 207, body=bytes(answer.body) if answer else b"")


async def closed_by_peer(reader: asyncio.StreamReader) -> bool:
    """An end of stream or a reset: both mean that the peer closed."""
    try:
        return await asyncio.wait_for(reader.read(), 4) == b""
    except ConnectionResetError:
        return True


def answer_nothing(request: Command, client: Connection) -> None:
    return None


@pytest.fixture
async def peer():
    made = Peer()
    yield made
    await made.server.close()


@pytest.fixture
async def requester():
    made = Requester(answer_nothing)
    yield made
    await made.close()


async def test_many_requests_share_one_connection_and_find_their_answers(peer, requester):
    answers = await asyncio.gather(
        *(requester.request(peer.address, Command(ECHO, body=b"%d" % i), 2000) for i in range(500))
    )
    assert [bytes(answer.body) for answer in answers] == [b"%d" % i for i in range(500)]
    assert len(peer.server.connections) == 1


async def test_binary_requests_are_answered_in_binary(peer, requester):
    answer = await requester.request(peer.address, Command(ECHO, fields={"a": "b"}, serialize_type=1), 2000)
    assert (answer.serialize_type, answer.fields) == (1, {"a": "b"})


async def test_an_unknown_code_is_answered_with_three(peer, requester):
    answer = await requester.request(peer.address, Command(54321), 2000)
    assert answer.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED
    assert "request type 54321 not supported" in (answer.remark or "")


async def test_a_crashing_handler_is_answered_with_one_and_hurts_nobody(peer, requester):
    assert (await requester.request(peer.address, Command(FAIL), 2000)).code == ResponseCode.SYSTEM_ERROR
    assert (await requester.request(peer.address, Command(ECHO), 2000)).code == 0


async def test_a_failing_disk_is_told_in_one_line_without_a_traceback(peer, requester, caplog):
    caplog.set_level(logging.ERROR, "engine")
    answer = await requester.request(peer.address, Command(DEAD_DISK), 2000)
    assert (answer.code, answer.remark) == (
        ResponseCode.SYSTEM_ERROR,
        "the broker's disk failed: Input/output error",
    )
    assert all(record.exc_info is None for record in caplog.records)


async def test_a_oneway_request_is_never_answered_even_on_error(peer):
    reader, writer = await asyncio.open_connection("127.0.0.1", peer.port)
    for code in (ECHO, FAIL, 54321):
        writer.write(encode_command(Command(code, 5, ONEWAY_FLAG)))
    writer.write(encode_command(Command(ECHO, 6)))
    (answer,) = FrameParser().receive_data(await reader.read(4096))
    assert answer.opaque == 6
    writer.close()


async def test_waiting_outcomes_are_answered_when_they_are_done(peer, requester):
    assert bytes((await requester.request(peer.address, Command(COLD), 2000)).body) == b"cold"
    assert (await requester.request(peer.address, Command(PERSIST), 2000)).code == 0
    assert peer.waits.persisted == ["topics.json"]


async def test_a_relay_asks_the_client_over_its_own_connection(peer):
    def answer(request: Command, client: Connection) -> None:
        client.send(encode_command(Command(0, body=b"!").answering(request)))

    requester = Requester(answer)
    assert bytes((await requester.request(peer.address, Command(RELAY), 2000)).body) == b"!"
    await requester.close()


async def test_a_relay_without_an_answer_finishes_with_none(peer, requester):
    assert (await requester.request(peer.address, Command(RELAY), 2000)).code == 207


async def test_a_request_that_is_not_answered_in_time_raises(peer, requester):
    with pytest.raises(PeerTimeout):
        await requester.request(peer.address, Command(SLOW), 50)


async def test_a_lost_connection_fails_what_waits(peer, requester):
    waiting = asyncio.ensure_future(requester.request(peer.address, Command(SLOW), 5000))
    while not peer.server.connections:
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.05)
    next(iter(peer.server.connections)).abort()
    with pytest.raises(PeerUnreachable):
        await waiting


async def test_a_refused_dial_is_an_error_with_the_address(requester):
    with pytest.raises(PeerUnreachable, match=r"127\.0\.0\.1:1"):
        await requester.request("127.0.0.1:1", Command(ECHO), 500)


@pytest.mark.parametrize(
    "junk",
    [struct.pack(">iI", 2**31 - 1, 2), b"GET / HTTP/1.1\r\n\r\n", struct.pack(">iI", 10, 2) + b"{" * 10],
)
async def test_malformed_frames_close_their_connection_only(peer, requester, junk):
    await requester.request(peer.address, Command(ECHO), 2000)
    reader, writer = await asyncio.open_connection("127.0.0.1", peer.port)
    writer.write(junk)
    assert await asyncio.wait_for(reader.read(), 2) == b""
    writer.close()
    assert (await requester.request(peer.address, Command(ECHO), 2000)).code == 0


async def test_a_tls_handshake_is_closed(peer):
    reader, writer = await asyncio.open_connection("127.0.0.1", peer.port)
    writer.write(b"\x16\x03\x01\x00\x05")
    assert await closed_by_peer(reader)
    writer.close()


async def test_silent_and_half_spoken_connections_are_swept():
    peer = Peer(ConnectionLimits(first_frame_s=0.2, frame_s=0.2))
    silent = await asyncio.open_connection("127.0.0.1", peer.port)
    half = await asyncio.open_connection("127.0.0.1", peer.port)
    half[1].write(encode_command(Command(ECHO, 1)) + b"\x00\x00")
    answered = await half[0].read(4096)
    assert answered
    for reader, writer in (silent, half):
        assert await closed_by_peer(reader)
        writer.close()
    await peer.server.close()


async def test_a_peer_that_does_not_read_is_not_read_from_and_memory_stays_bounded():
    peer = Peer()
    sock = socket.create_connection(("127.0.0.1", peer.port))
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    sock.setblocking(False)
    loop = asyncio.get_running_loop()
    frame = encode_command(Command(BIG, 1))
    for _ in range(64):
        await loop.sock_sendall(sock, frame)
        await asyncio.sleep(0.001)
    connection = next(iter(peer.server.connections))
    assert connection.times.write_paused_at is not None
    assert connection._transport.get_write_buffer_size() <= peer.server.shares.outgo.held_bytes < 2_500_000
    received = 0
    while received < 64 * 1024 * 1024:
        received += len(await loop.sock_recv(sock, 1 << 20))
    assert connection.times.write_paused_at is None
    assert peer.server.shares.outgo.held_bytes == 0
    sock.close()
    await peer.server.close()


async def test_connections_beyond_the_cap_are_closed():
    peer = Peer(ConnectionLimits(max_connections=2))
    held = [await asyncio.open_connection("127.0.0.1", peer.port) for _ in range(2)]
    for _, writer in held:
        writer.write(encode_command(Command(ECHO, 1)))
    for reader, _ in held:
        assert await reader.read(4096)
    reader, writer = await asyncio.open_connection("127.0.0.1", peer.port)
    assert await asyncio.wait_for(reader.read(), 2) == b""
    for _, other in [*held, (reader, writer)]:
        other.close()
    await peer.server.close()


@pytest.mark.parametrize(("version", "code"), [(479, ResponseCode.GO_AWAY), (399, ResponseCode.SYSTEM_BUSY)])
async def test_while_draining_new_requests_are_sent_away(peer, requester, version, code):
    peer.serving.is_draining = True
    assert (await requester.request(peer.address, Command(ECHO, version=version), 2000)).code == code


async def test_close_callbacks_run_once(peer, requester):
    await requester.request(peer.address, Command(ECHO), 2000)
    closed: list[Connection] = []
    peer.clients[0].on_close(closed.append)
    await requester.close()
    await asyncio.sleep(0.05)
    assert closed == [peer.clients[0]]


@pytest.mark.parametrize("address", ["", "host", "host:", ":80", "host:0", "host:99999", "host:x"])
def test_a_bad_address_is_refused(address):
    from engine.errors import BadInput

    with pytest.raises(BadInput):
        parse_address(address)


def test_overdue_says_why():
    limits = ConnectionLimits()
    assert ConnectionTimes(0, 0).overdue(11, limits) == "no frame within 10 s"
    spoken = ConnectionTimes(0, 100, has_spoken=True)
    assert spoken.overdue(219, limits) is None
    assert spoken.overdue(221, limits) == "idle for 120 s"
    assert ConnectionTimes(0, 100, frame_begun_at=100, has_spoken=True).overdue(131, limits)
    assert ConnectionTimes(0, 161, write_paused_at=100, has_spoken=True).overdue(161, limits)
