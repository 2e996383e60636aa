"""Whose requests are served how long: slices, turns by address, and what waits stays unparsed."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import time

import pytest

from engine.net.connection import Connection
from engine.net.flow import ConnectionLimits
from engine.net.intake import ReceiveRoom
from engine.net.outcomes import ColdRead, Reply
from engine.net.server import Server, listen
from engine.net.serving import Serving
from engine.net.shares import OWN_BYTES, OWN_BYTES_OF_MANY, MemoryLimits
from engine.net.turns import SLICE_S, TURN_S, Turns
from engine.protocol.commands import Command, encode_command

SLOW, QUICK, LARGE, COLD = range(7101, 7105)
MIB = 1 << 20


class Host:
    """A server whose requests take a millisecond, or answer with half a megabyte."""

    def __init__(self, limits: ConnectionLimits | None = None):
        loop = asyncio.get_running_loop()
        self.served: list[tuple[int, int]] = []
        self.sizes: list[int] = []
        self.cold_reads = self.cold_running = self.most_cold = 0
        handlers = {SLOW: self.slow, QUICK: self.quick, LARGE: self.large, COLD: self.cold}
        serving = Serving(handlers, object(), loop)
        self.server = Server(loop, serving, limits or ConnectionLimits())
        self.port = self.server.add_listener(listen("127.0.0.1", 0, 128))[1]

    @property
    def shares(self):
        return self.server.shares

    def slow(self, request: Command, client: Connection) -> Reply:
        until = time.perf_counter() + 0.001
        while time.perf_counter() < until:
            pass
        return self.quick(request, client)

    def quick(self, request: Command, client: Connection) -> Reply:
        self.served.append((client.remote[1], request.opaque))
        self.sizes.append(len(request.body))
        return Reply()

    def large(self, request: Command, client: Connection) -> Reply:
        self.served.append((client.remote[1], request.opaque))
        return Reply(body=bytes(MIB // 2))

    def cold(self, request: Command, client: Connection) -> ColdRead:
        self.served.append((client.remote[1], request.opaque))

        def read() -> bytes:
            self.cold_reads += 1
            self.cold_running += 1
            self.most_cold = max(self.most_cold, self.cold_running)
            time.sleep(0.002)
            self.cold_running -= 1
            return bytes(MIB // 2)

        return ColdRead(read, lambda data: Reply(body=data))


@pytest.fixture
async def host():
    made = Host()
    yield made
    await made.server.close()


def requests(code: int, count: int, body: bytes = b"") -> bytes:
    return b"".join(encode_command(Command(code, number + 1, body=body)) for number in range(count))


async def connect(host: Host, data: bytes) -> socket.socket:
    """A client that sends this and reads nothing."""
    sock = socket.create_connection(("127.0.0.1", host.port))
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
    sock.setblocking(False)
    await asyncio.get_running_loop().sock_sendall(sock, data)
    return sock


async def until(is_so, seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.005)


async def test_many_requests_of_one_read_do_not_run_to_their_end_first(host: Host):
    crowd = [await connect(host, requests(SLOW, 50)) for _ in range(5)]
    await until(lambda: len(host.served) > 20)
    good = await connect(host, requests(QUICK, 1))
    port = good.getsockname()[1]
    await until(lambda: any(client == port for client, _ in host.served))
    before = [client for client, _ in host.served].index(port)
    assert before < 5 * 50 - 50, "it was served before the others were done"
    await until(lambda: len(host.served) == 251)
    for sock in crowd:
        mine = [opaque for client, opaque in host.served if client == sock.getsockname()[1]]
        assert mine == list(range(1, 51)), "in order, each once"
    assert host.shares.turns.longest_s < 10 * SLICE_S
    assert len(host.shares.turns) == host.shares.intake.held_bytes == 0


async def test_what_waits_for_its_turn_is_not_read_further_and_is_counted(host: Host):
    body = bytes(2000)
    crowd = [await connect(host, requests(SLOW, 120, body)) for _ in range(4)]
    most = 0

    def is_done() -> bool:
        nonlocal most
        most = max(most, host.shares.intake.held_bytes)
        return len(host.served) == 480

    await until(is_done)
    assert OWN_BYTES < most <= 4 * 256 * 1024
    assert host.shares.intake.held_bytes == 0
    for sock in crowd:
        sock.close()


async def test_answers_that_nobody_reads_stop_the_requests_behind_them(host: Host):
    silent = await connect(host, requests(LARGE, 200))
    await until(lambda: host.shares.outgo.held_bytes > 0)
    await asyncio.sleep(0.2)
    assert len(host.served) < 50
    assert host.shares.outgo.held_bytes <= 2 * MIB
    loop, received = asyncio.get_running_loop(), 0
    while received < 200 * MIB // 2:
        received += len(await loop.sock_recv(silent, MIB))
    assert len(host.served) == 200
    assert host.shares.outgo.held_bytes == 0
    silent.close()


async def test_what_is_held_back_for_a_client_that_does_not_read_counts_too(host: Host):
    """Ten thousand long polls of one that does not read its first answers, all woken by one message."""
    silent = await connect(host, requests(LARGE, 20))
    await until(lambda: host.shares.outgo.held_bytes > 0)
    (connection,) = host.server.connections
    before, done = host.shares.outgo.held_bytes, []
    for number in range(10_000):
        connection.run_step(lambda number=number: done.append(number), is_costly=True)
    assert host.shares.outgo.held_bytes >= before + 10_000 * 500
    assert not done
    loop, received = asyncio.get_running_loop(), 0
    while received < 20 * MIB // 2:
        received += len(await loop.sock_recv(silent, MIB))
    await until(lambda: done == list(range(10_000)))
    assert host.shares.outgo.held_bytes == 0
    silent.close()


async def test_what_waited_for_its_turn_counts_as_soon_as_its_client_does_not_read(host: Host):
    silent = await connect(host, requests(QUICK, 1))
    await until(lambda: len(host.served) == 1)
    (connection,) = host.server.connections
    done: list[int] = []
    for _ in range(1000):
        connection.hold_back(lambda: connection.send(bytes(MIB // 2)) or done.append(1))
    assert host.shares.outgo.held_bytes == 0
    await until(lambda: connection.is_clogged)
    unsent = connection._unsent_bytes + connection._outbox_bytes
    assert host.shares.outgo.held_bytes - unsent >= (1000 - len(done)) * 500 > 900 * 500
    silent.close()
    await until(lambda: not host.server.connections)
    assert host.shares.outgo.held_bytes == 0


async def test_cold_reads_of_a_client_that_does_not_read_stop_too(host: Host):
    silent = await connect(host, requests(COLD, 200))
    await until(lambda: host.shares.outgo.held_bytes > 0)
    await asyncio.sleep(0.3)
    assert host.shares.outgo.held_bytes <= 4 * MIB
    assert host.most_cold <= 6
    assert host.cold_reads <= 20, "what cannot be sent is not read either"
    loop, received = asyncio.get_running_loop(), 0
    while received < 200 * MIB // 2:
        received += len(await loop.sock_recv(silent, MIB))
    silent.close()


async def test_beyond_the_budget_those_that_do_not_read_are_closed():
    made = Host(ConnectionLimits(memory=MemoryLimits(sending_bytes=4 * MIB)))
    crowd = [await connect(made, requests(LARGE, 40)) for _ in range(12)]
    await until(lambda: made.shares.closings_sending.count > 0)
    assert made.shares.outgo.held_bytes <= 4 * MIB
    good = await connect(made, requests(QUICK, 1))
    assert await asyncio.wait_for(asyncio.get_running_loop().sock_recv(good, 4096), 5)
    for sock in (*crowd, good):
        sock.close()
    await until(lambda: not made.server.connections)
    assert made.shares.outgo.held_bytes == 0
    await made.server.close()


def unfinished(size: int, sent: int) -> bytes:
    return struct.pack(">iI", size, 100) + bytes(sent)


async def test_unfinished_frames_hold_no_more_than_the_budget_and_their_own_share():
    made = Host(ConnectionLimits(memory=MemoryLimits(receiving_bytes=8 * MIB)))
    loop = asyncio.get_running_loop()
    crowd = [
        await connect(made, encode_command(Command(QUICK, 1)) + unfinished(3 * MIB, 8)) for _ in range(20)
    ]
    sends = [loop.create_task(loop.sock_sendall(sock, bytes(2 * MIB))) for sock in crowd]
    await until(lambda: made.shares.intake.waiting_count >= 15)
    await asyncio.sleep(0.1)
    assert made.shares.intake.held_bytes <= 4 * MIB, "half of the total, for one address"
    held = [connection._parser.partial_bytes for connection in made.server.connections]
    assert sum(held) <= 4 * MIB + 20 * OWN_BYTES + 256 * 1024, "and one read, before anybody knew"
    good = await connect(made, requests(QUICK, 3, bytes(OWN_BYTES - 500)))
    await until(lambda: made.sizes.count(OWN_BYTES - 500) == 3)
    for task in sends:
        task.cancel()
    for sock in (*crowd, good):
        sock.close()
    await until(lambda: not made.server.connections)
    assert made.shares.intake.held_bytes == made.shares.intake.waiting_count == 0
    await made.server.close()


async def test_where_many_are_there_already_a_connection_holds_less_of_its_own(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.net.shares.MANY_CONNECTIONS", 3)
    begun = encode_command(Command(QUICK, 1)) + unfinished(OWN_BYTES - 100, 8)
    first = [await connect(host, begun) for _ in range(3)]
    await until(lambda: len(host.served) == 3)
    assert host.shares.intake.held_bytes == 0, "all of it is their own"
    host.shares.room.is_short_of("time", True)
    assert len(host.shares.room.view) == OWN_BYTES_OF_MANY
    late = await connect(host, begun)
    await until(lambda: host.shares.intake.held_bytes == OWN_BYTES - 100 + 4)
    for sock in (*first, late):
        sock.close()
    await until(lambda: not host.server.connections)
    assert len(host.shares.room.view) == host.shares.own_bytes == OWN_BYTES
    host.shares.room.is_short_of("time", False)


@pytest.mark.parametrize("size", [OWN_BYTES, 100_000, 4 * MIB, 15 * MIB])
async def test_large_requests_are_served_whatever_the_pieces(host: Host, size: int):
    data = requests(QUICK, 3, bytes(size))
    sock = await connect(host, data[:1_000])
    await asyncio.sleep(0.02)
    await asyncio.get_running_loop().sock_sendall(sock, data[1_000:])
    await until(lambda: len(host.served) == 3)
    assert host.sizes == [size] * 3
    assert host.shares.intake.held_bytes == 0
    sock.close()


async def test_a_small_request_goes_before_large_frames_that_wait(host: Host):
    """50 connections with large registrations at a client's own address delayed its small requests by up to
    4 s: whole large frames waited as if they were small, and were no longer counted."""
    large, last = requests(QUICK, 1, bytes(MIB)), 100
    crowd = [await connect(host, large[:-last]) for _ in range(4)]
    good = await connect(host, requests(QUICK, 1))
    await until(lambda: host.shares.intake.held_bytes >= 4 * MIB and host.sizes == [0])
    await asyncio.sleep(0.02)
    host.shares.turns.is_full, host.shares.turns.spent_s = True, 1.0
    for sock in crowd:
        sock.send(large[-last:])
    good.send(requests(QUICK, 1))
    await until(lambda: len(host.served) == 6)
    assert host.sizes == [0, 0, *[MIB] * 4]
    assert host.shares.intake.held_bytes == 0
    for sock in (*crowd, good):
        sock.close()


async def test_more_large_sends_than_fit_are_received_one_after_the_other():
    made = Host(ConnectionLimits(memory=MemoryLimits(receiving_bytes=16 * MIB)))
    loop = asyncio.get_running_loop()
    crowd = [await connect(made, b"") for _ in range(12)]
    await asyncio.gather(*(loop.sock_sendall(sock, requests(QUICK, 2, bytes(3 * MIB))) for sock in crowd))
    await until(lambda: len(made.served) == 24)
    assert made.shares.closings_receiving.count == 0
    for sock in crowd:
        sock.close()
    await made.server.close()


async def test_a_stalled_frame_makes_room_for_who_waits():
    made = Host(ConnectionLimits(memory=MemoryLimits(receiving_bytes=8 * MIB)))
    loop = asyncio.get_running_loop()
    stalled = await connect(made, unfinished(4 * MIB - 8, 2 * MIB))
    await until(lambda: made.shares.intake.held_bytes > 0)
    good = await connect(made, b"")
    await asyncio.wait_for(loop.sock_sendall(good, requests(QUICK, 1, bytes(MIB))), 5)
    await until(lambda: made.sizes == [MIB], 3.0)
    with contextlib.suppress(ConnectionResetError):
        assert await asyncio.wait_for(loop.sock_recv(stalled, 10), 5) == b""
    assert made.shares.closings_receiving.count == 1
    good.close()
    stalled.close()
    await made.server.close()


async def test_a_peer_that_reset_is_not_served_further(host: Host):
    sock = await connect(host, requests(SLOW, 300))
    await until(lambda: bool(host.served))
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()
    await until(lambda: not host.server.connections)
    assert len(host.served) < 300


class Recorder:
    def __init__(self, ip: str, served: list[str]):
        self.remote = (ip, 1)
        self._served = served

    def serve_waiting(self) -> None:
        self._served.append(self.remote[0])


async def test_addresses_take_turns_and_little_work_comes_first():
    loop, served = asyncio.get_running_loop(), []
    turns = Turns(loop, ReceiveRoom(memoryview(bytearray(100)), 10))
    for ip, is_small in (("a", False), ("a", False), ("a", False), ("b", False), ("c", True)):
        turns.queue(Recorder(ip, served), is_small=is_small)
    await asyncio.sleep(0.01)
    assert served == ["a", "b", "c", "a", "a"]


async def test_a_turn_that_took_long_is_full_until_the_next():
    room = ReceiveRoom(memoryview(bytearray(100)), 10)
    turns = Turns(asyncio.get_running_loop(), room)
    turns.spent(TURN_S)
    assert turns.is_full
    assert len(room.view) == 10
    assert turns.may_serve_one(100)
    assert not turns.may_serve_one(100_000)
    turns.spent(0.2)
    assert not turns.may_serve_one(100)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not turns.is_full
    assert len(room.view) == 100
