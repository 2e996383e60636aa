"""Websockets of tests: opened as a browser opens them, spoken to in JSON."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from channels.layers import get_channel_layer
from django.conf import settings
from django.test import Client
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from console.core.events import group_name, message
from console.core.models import User


def session_of(user: User) -> str:
    client = Client()
    client.force_login(user)
    return client.cookies[settings.SESSION_COOKIE_NAME].value


@asynccontextmanager
async def opened(server: str, session: str, **options: Any) -> AsyncIterator[ClientConnection]:
    headers = {"Cookie": f"{settings.SESSION_COOKIE_NAME}={session}"}
    options = {"origin": f"http://{server}", "additional_headers": headers} | options
    async with connect(f"ws://{server}/ws/v1/", **options) as socket:
        yield socket


async def say(socket: ClientConnection, **said: Any) -> None:
    await socket.send(json.dumps(said))


async def hear(socket: ClientConnection, kind: str, within_s: float = 15) -> dict[str, Any]:
    """The next message of that type."""
    async with asyncio.timeout(within_s):
        while True:
            told: dict[str, Any] = json.loads(await socket.recv())
            if told["type"] == kind:
                return told


async def closed(socket: ClientConnection, within_s: float = 15) -> int:
    async with asyncio.timeout(within_s):
        try:
            while True:
                await socket.recv()
        except ConnectionClosed as error:
            assert error.rcvd is not None
            return error.rcvd.code


async def publish(channel: str, payload: dict[str, Any]) -> None:
    """As the collector does, from another process's point of view."""
    await get_channel_layer().group_send(group_name(channel), message(channel, payload))


def news(seq: int, rows: dict[str, Any], run: str = "r1") -> dict[str, Any]:
    return {"run": run, "seq": seq, "sampled_at": "2026-01-01T00:00:00+00:00", "rows": rows}
