"""Whoever makes a client may decide which addresses it dials."""

from __future__ import annotations

import asyncio

import pytest

from engine.errors import PeerUnreachable
from engine.net.requester import Requester


async def _nothing(*_: object) -> None:
    return None


async def test_what_the_resolver_says_is_dialled() -> None:
    asked: list[tuple[str, int]] = []
    server = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]

    async def resolve(host: str, port: int) -> str:
        asked.append((host, port))
        return "127.0.0.1"

    requester = Requester(_nothing, resolve=resolve)  # type: ignore[arg-type]
    connection = await requester.connect(f"broker.invalid:{port}")
    assert not connection.is_closed
    assert asked == [("broker.invalid", port)]
    await requester.close()
    server.close()


async def test_what_the_resolver_refuses_is_not_dialled() -> None:
    async def resolve(host: str, port: int) -> str:
        raise PeerUnreachable(f"{host}:{port} is not a broker of this cluster")

    requester = Requester(_nothing, resolve=resolve)  # type: ignore[arg-type]
    with pytest.raises(PeerUnreachable, match="not a broker of this cluster"):
        await requester.connect("169.254.169.254:80")
    await requester.close()
