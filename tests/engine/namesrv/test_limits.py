"""A name server's limits as its configuration sets them: connections per address, proxies it believes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from engine.errors import BadInput
from engine.namesrv.main import load_options
from engine.namesrv.namesrv import Namesrv
from engine.protocol.codes import RequestCode
from engine.protocol.commands import Command, encode_command
from engine.protocol.frames import FrameParser

ASK = encode_command(Command(RequestCode.GET_BROKER_CLUSTER_INFO, 5))
Start = Callable[..., Awaitable[Namesrv]]


@pytest.fixture
async def start(tmp_path: Path) -> AsyncIterator[Start]:
    running: list[Namesrv] = []

    async def begin(**settings: str) -> Namesrv:
        settings |= {"kvConfigPath": str(tmp_path / "kvConfig.json")}
        config = tmp_path / "namesrv.conf"
        config.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        options, unknown = load_options(str(config), "127.0.0.1:0")
        assert unknown == []
        running.append(Namesrv(options))
        await running[-1].start()
        return running[-1]

    yield begin
    for server in running:
        await server.stop()


async def answered(server: Namesrv, before: bytes = b"") -> tuple[bool, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection(*server.address)
    writer.write(before + ASK)
    try:
        data = await asyncio.wait_for(reader.read(4096), 5)
    except ConnectionResetError:
        data = b""
    return bool(data) and FrameParser().receive_data(data)[0].opaque == 5, writer


async def test_an_address_gets_only_so_many_connections(start: Start) -> None:
    server = await start(signalboxMaxConnectionsPerIp="2")
    seen = [await answered(server) for _ in range(3)]
    assert [ok for ok, _ in seen] == [True, True, False]
    seen[0][1].close()
    async with asyncio.timeout(5):
        while not (await answered(server))[0]:
            await asyncio.sleep(0.05)
    for _, writer in seen:
        writer.close()


@pytest.mark.parametrize(("proxies", "is_believed"), [("", False), ("10.0.0.1", False), ("127.0.0.1", True)])
async def test_a_proxy_on_the_list_is_believed(start: Start, proxies: str, is_believed: bool) -> None:
    """RocketMQ's ProxyProtocolTest, with a list of who may"""
    server = await start(signalboxTrustedProxies=proxies)
    ok, writer = await answered(server, b"PROXY TCP4 192.0.2.7 198.51.100.1 54321 9876\r\n")
    assert ok is is_believed
    if is_believed:
        assert [connection.peer_name for connection in server._server.connections] == ["192.0.2.7:54321"]
    writer.close()


async def test_a_list_that_is_none_stops_the_start(start: Start) -> None:
    with pytest.raises(BadInput):
        await start(signalboxTrustedProxies="everyone")
