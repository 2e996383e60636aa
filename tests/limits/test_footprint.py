"""An idle broker is small, and 10,000 connections that say hello and fall silent cost little (F33)."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from engine.protocol.codes import RequestCode
from engine.protocol.commands import Command, encode_command
from engine.protocol.frames import FrameParser
from tests.crash.cluster import Broker

MIB = 1024 * 1024
CONNECTIONS = 10_000
HELLO = encode_command(Command(RequestCode.GET_MAX_OFFSET, 1, fields={"topic": "TBW102", "queueId": "0"}))


@pytest.fixture
def broker(tmp_path: Path):
    made = Broker(tmp_path)
    made.start()
    yield made
    made.stop()


async def say_hello(address: tuple[str, int]) -> socket.socket:
    loop = asyncio.get_running_loop()
    sock = socket.socket()
    sock.setblocking(False)
    await loop.sock_connect(sock, address)
    await loop.sock_sendall(sock, HELLO)
    answer = FrameParser().receive_data(await loop.sock_recv(sock, 4096))
    assert answer[0].opaque == 1
    return sock


async def open_all(address: tuple[str, int], count: int) -> list[socket.socket]:
    opened: list[socket.socket] = []
    for _ in range(0, count, 500):
        opened += await asyncio.gather(*(say_hello(address) for _ in range(500)))
    return opened


def test_an_idle_broker_needs_at_most_80_mib_of_its_own_memory(broker):
    assert broker.sample().anonymous_bytes <= 80 * MIB


def test_ten_thousand_idle_connections_cost_at_most_300_mib_more_and_are_given_back(broker):
    before = broker.sample()
    opened = asyncio.run(open_all(broker.address, CONNECTIONS))
    during = broker.sample()
    assert during.descriptors >= before.descriptors + CONNECTIONS
    assert during.anonymous_bytes - before.anonymous_bytes <= 300 * MIB
    print(f"{(during.anonymous_bytes - before.anonymous_bytes) / CONNECTIONS:.0f} bytes a connection")
    for sock in opened:
        sock.close()
    late = asyncio.run(say_hello(broker.address))
    late.close()
    for _ in range(200):
        if broker.sample().descriptors <= before.descriptors + 5:
            return
        asyncio.run(asyncio.sleep(0.05))
    pytest.fail(f"descriptors leak: {before.descriptors} before, {broker.sample().descriptors} after")
