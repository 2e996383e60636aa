"""Readers that do not read cost the console a bounded buffer for a bounded time; and rights have a timer.

The server is a real uvicorn with the console's own protocol and application, with shorter waits (hurried.py).
"""

from __future__ import annotations

import base64
import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import psutil
import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.conf import settings
from django.contrib.sessions.models import Session
from django.utils import timezone
from websockets.exceptions import ConnectionClosed

from clusters.models import Cluster, LiveGroup
from console.core.models.people import Role
from console.live.consumer import NO_RIGHTS, SIGNED_OUT
from console.serving import LARGEST_FRAME
from tests.console.live.hurried import LOOK_EVERY_S, TOO_SLOW_S
from tests.console.live.sockets import closed, hear, news, opened, publish, say, session_of
from tests.platform_fixtures import make_user
from tests.platform_processes import served, soon

pytestmark = pytest.mark.django_db(transaction=True)

Server = tuple[subprocess.Popen[str], str]
NAMES = [f"billing-{number:03}" for number in range(100)]
HURRIED = "tests.console.live.hurried"
MOST_GROWTH = 30 * 1024 * 1024


@pytest.fixture(scope="module")
def server(django_db_setup: None, django_db_blocker: Any, redis: str) -> Iterator[Server]:
    with served(application=f"{HURRIED}:application", protocol=f"{HURRIED}:HurriedProtocol") as running:
        yield running


@pytest.fixture
def orders(db: None) -> Cluster:
    cluster = Cluster.objects.create(
        name="orders", broker_cluster_name="orders", kind=Cluster.Kind.ATTACHED, created_at=timezone.now()
    )
    LiveGroup.objects.bulk_create([LiveGroup(cluster=cluster, name=name, lag=0) for name in NAMES])
    return cluster


def open_raw(address: str, session: str) -> socket.socket:
    """After the handshake; nothing is ever read from it by itself, as a library would."""
    host, _, port = address.partition(":")
    plain = socket.socket()
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    plain.settimeout(10)
    plain.connect((host, int(port)))
    key = base64.b64encode(os.urandom(16)).decode()
    lines = (
        "GET /ws/v1/ HTTP/1.1",
        f"Host: {address}",
        f"Origin: http://{address}",
        f"Cookie: {settings.SESSION_COOKIE_NAME}={session}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        f"Sec-WebSocket-Key: {key}",
    )
    plain.sendall("\r\n".join((*lines, "", "")).encode())
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += plain.recv(1)
    assert b" 101 " in answer.splitlines()[0], answer
    return plain


def frame(opcode: int, payload: bytes) -> bytes:
    """From a client, so masked: with zeros."""
    size = len(payload)
    head = bytes((0x80 | opcode, 0x80 | size)) if size < 126 else bytes((0x80 | opcode, 0xFE))
    return head + (b"" if size < 126 else size.to_bytes(2, "big")) + bytes(4) + payload


def is_there(process: subprocess.Popen[str], port: int) -> bool:
    """Whether the server still has the connection from that port."""
    found = psutil.Process(process.pid).net_connections("tcp")
    return any(each.raddr and each.raddr.port == port for each in found)


def growth(process: subprocess.Popen[str], before: int) -> int:
    return int(psutil.Process(process.pid).memory_info().rss) - before


def test_who_never_reads_is_cut_off_and_costs_no_memory(server: Server, orders: Cluster) -> None:
    process, address = server
    lazy = open_raw(address, session_of(make_user("lazy", Role.VIEWER)))
    port, before = lazy.getsockname()[1], psutil.Process(process.pid).memory_info().rss
    try:
        channel = "groups/orders?names=" + ",".join(NAMES)
        lazy.sendall(frame(1, json.dumps({"type": "subscribe", "channel": channel}).encode()))
        began, number, most = time.monotonic(), 0, 0
        while is_there(process, port):
            number += 1
            rows = {name: {"lag": str(number), "error": f"{number}" + "x" * 20_000} for name in NAMES}
            async_to_sync(publish)("groups/orders", news(number, rows))
            most = max(most, growth(process, before))
            assert time.monotonic() - began < 60, "it was never cut off"
            time.sleep(0.1)
        took_s = time.monotonic() - began
    finally:
        lazy.close()
    print(f"cut off after {took_s:.1f} s and {number} updates of 2 MB, {most / 2**20:.0f} MB more memory")
    assert took_s > TOO_SLOW_S, "a slow reader has its time"
    assert most < MOST_GROWTH


def test_who_only_pings_is_not_listened_to_while_it_does_not_read(server: Server, orders: Cluster) -> None:
    process, address = server
    pinger = open_raw(address, session_of(make_user("pinger", Role.VIEWER)))
    port, before = pinger.getsockname()[1], psutil.Process(process.pid).memory_info().rss
    pinger.settimeout(0.2)
    pings, sent, most = frame(9, b"x" * 125) * 500, 0, 0
    began = time.monotonic()
    try:
        while is_there(process, port):
            try:
                sent += pinger.send(pings)
            except (TimeoutError, ConnectionError):
                time.sleep(0.05)
            most = max(most, growth(process, before))
            assert time.monotonic() - began < 60, "it was never cut off"
    finally:
        pinger.close()
    print(f"{sent / 2**20:.1f} MB of pings taken, {most / 2**20:.0f} MB more memory")
    assert most < MOST_GROWTH


async def test_a_message_beyond_the_limit_is_not_even_read(server: Server, db: None) -> None:
    session = await sync_to_async(session_of)(await sync_to_async(make_user)("loud", Role.VIEWER))
    async with opened(server[1], session) as socket:
        with pytest.raises(ConnectionClosed) as caught:
            await socket.send("x" * (LARGEST_FRAME + 1))
            await hear(socket, "pong")
        assert caught.value.rcvd is not None and caught.value.rcvd.code == 1009


async def test_rights_that_nobody_told_of_are_found_by_the_timer(server: Server, orders: Cluster) -> None:
    """The rows change as another console, or a database's console, would change them: without an event."""
    user = await sync_to_async(make_user)("mover", Role.VIEWER, clusters="orders")
    async with opened(server[1], await sync_to_async(session_of)(user)) as socket:
        await say(socket, type="subscribe", channel="cluster/orders")
        await hear(socket, "state")
        await sync_to_async(user.bindings.update)(cluster_pattern="elsewhere")
        began = time.monotonic()
        assert await closed(socket) == NO_RIGHTS
        print(f"found after {time.monotonic() - began:.1f} s, looked at every {LOOK_EVERY_S} s")


async def test_a_session_that_ended_without_a_word_is_found_by_the_timer(server: Server, db: None) -> None:
    user = await sync_to_async(make_user)("leaver", Role.VIEWER)
    session = await sync_to_async(session_of)(user)
    async with opened(server[1], session) as socket:
        await say(socket, type="ping")
        await hear(socket, "pong")
        await sync_to_async(Session.objects.filter(pk=session).delete)()
        assert await closed(socket) == SIGNED_OUT


def test_sockets_that_were_cut_off_count_no_more(server: Server, orders: Cluster) -> None:
    """Twenty of one person at most: those that are gone must not keep somebody out."""
    process, address = server
    session = session_of(make_user("again", Role.VIEWER))
    for _ in range(2):
        sockets = [open_raw(address, session) for _ in range(20)]
        ports = [each.getsockname()[1] for each in sockets]
        for each in sockets:
            each.sendall(frame(1, b'{"type": "ping"}'))
            assert b"pong" in each.recv(1000)
        for each in sockets:
            each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
            each.close()
        soon(lambda ports=ports: not any(is_there(process, port) for port in ports))
