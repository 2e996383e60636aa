"""What TLS may cost a broker: half handshakes (F36) are small and closed in time; idle connections."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from pathlib import Path

import pytest

from engine.net.tls import TlsOptions
from engine.protocol.codes import RequestCode
from engine.protocol.commands import Command, encode_command
from engine.protocol.frames import FrameParser
from tests.certificates import Authority
from tests.crash.cluster import Broker

KIB = 1024
HALF, IDLE = 2_000, 1_000
HELLO = encode_command(Command(RequestCode.GET_MAX_OFFSET, 1, fields={"topic": "TBW102", "queueId": "0"}))


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "ca")


@pytest.fixture
def broker(tmp_path: Path, authority: Authority):
    issued = authority.issue("server")
    settings = {"tls.server.certPath": issued.cert, "tls.server.keyPath": issued.key}
    made = Broker(tmp_path, settings=settings)
    made.start()
    yield made
    made.stop()


def client_hello(context: ssl.SSLContext) -> bytes:
    outgoing = ssl.MemoryBIO()
    stream = context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        stream.do_handshake()
    return outgoing.read()


async def begin(address: tuple[str, int], data: bytes) -> socket.socket:
    loop = asyncio.get_running_loop()
    sock = socket.socket()
    sock.setblocking(False)
    await loop.sock_connect(sock, address)
    await loop.sock_sendall(sock, data)
    return sock


async def ended(sock: socket.socket) -> float:
    """When the broker closed it; what it said before that is of no interest."""
    loop = asyncio.get_running_loop()
    try:
        while await loop.sock_recv(sock, 65_536):
            pass
    except ConnectionResetError:
        pass
    return time.monotonic()


async def say_hello(address: tuple[str, int], context: ssl.SSLContext | None) -> asyncio.StreamWriter:
    reader, writer = await asyncio.open_connection(*address, ssl=context)
    writer.write(HELLO)
    assert FrameParser().receive_data(await reader.read(4096))[0].opaque == 1
    return writer


async def half_handshakes(broker: Broker, first: bytes) -> tuple[int, float]:
    """Each says `first` and no more: what one costs in bytes, and how long after the broker had accepted them
    all the last was closed."""
    before = broker.sample().anonymous_bytes
    socks: list[socket.socket] = []
    for _ in range(HALF // 200):
        socks += await asyncio.gather(*(begin(broker.address, first) for _ in range(200)))
    # Its answer comes after them: how long they waited to be accepted says how busy the machine is.
    writer = await say_hello(broker.address, None)
    accepted = time.monotonic()
    cost = (broker.sample().anonymous_bytes - before) // HALF
    closed = await asyncio.wait_for(asyncio.gather(*(ended(sock) for sock in socks)), 40)
    writer.close()
    for sock in socks:
        sock.close()
    return cost, max(closed) - accepted


@pytest.mark.parametrize("share", [pytest.param("cut short", marks=pytest.mark.nightly), "whole"])
def test_two_thousand_half_handshakes_are_small_and_closed_in_time(broker, authority, share):
    descriptors = broker.sample().descriptors
    hello = client_hello(TlsOptions(authority.ca).context())
    cost, seconds = asyncio.run(half_handshakes(broker, hello if share == "whole" else hello[:100]))
    print(f"{cost} bytes a half handshake, all closed after {seconds:.1f} s")
    assert cost <= 64 * KIB
    assert seconds <= 10 + 5, "10 s and the sweep, on a machine that is busy"
    assert broker.sample().descriptors <= descriptors + 5


def test_an_idle_tls_connection_costs_at_most_64_kib(broker, authority):
    async def measure() -> int:
        context = TlsOptions(authority.ca).context()
        writers = [await say_hello(broker.address, context) for _ in range(50)]
        before = broker.sample().anonymous_bytes
        for _ in range(IDLE // 50):
            writers += await asyncio.gather(*(say_hello(broker.address, context) for _ in range(50)))
        cost = (broker.sample().anonymous_bytes - before) // IDLE
        for writer in writers:
            writer.close()
        return cost

    cost = asyncio.run(measure())
    print(f"{cost} bytes an idle connection")
    assert cost <= 64 * KIB
