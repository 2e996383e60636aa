"""What a connection knows of when its requests can have begun to wait."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from engine.net.connection import Connection
from engine.net.flow import ConnectionLimits
from engine.protocol.commands import Command, encode_command


class Clock:
    """As much of a loop as a connection that only answers asks for."""

    def __init__(self) -> None:
        self.now = 100.0

    def time(self) -> float:
        return self.now


class Sink(asyncio.Transport):
    def write(self, data: Any) -> None:
        pass

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass


def test_requests_upon_an_answer_did_not_wait_while_it_was_made() -> None:
    clock = Clock()
    buffer = memoryview(bytearray(1024))

    def serve(request: Command, client: Connection) -> None:
        clock.now += 0.3  # a long step
        client.send(b"answer")

    connection = Connection(cast(asyncio.AbstractEventLoop, clock), buffer, serve, ConnectionLimits())
    connection.connection_made(Sink())
    frame = encode_command(Command(10))
    buffer[: len(frame)] = frame
    clock.now = 101.0
    connection.buffer_updated(len(frame))
    assert (connection.last_read_at, connection.read_at) == (100.0, 101.0)

    clock.now += 0.002
    answered_at = clock.now - 0.002
    connection.buffer_updated(len(frame))
    assert (connection.last_read_at, connection.read_at) == (answered_at, answered_at + 0.002)
