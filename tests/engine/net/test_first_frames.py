"""What connections may hold that have not said a whole frame: in the table, and over real sockets."""

from __future__ import annotations

import asyncio
import struct

import pytest

from engine.net.flow import FirstFrames
from engine.net.tls import ServerTls
from engine.protocol.commands import Command, encode_command
from tests.engine.net.test_tls import ECHO, Peer

MIB = 1024 * 1024


def test_each_may_hold_a_little_and_all_together_a_fixed_sum():
    first = FirstFrames(each_bytes=10, total_bytes=100)
    assert all(first.may_hold(number, 10) for number in range(1000))
    assert first.may_hold("a", 60) and first.may_hold("a", 110)
    assert first.held_bytes == 100
    assert not first.may_hold("b", 11)
    first.forget("b")
    first.forget("a")
    first.forget("never seen")
    assert first.held_bytes == 0
    assert first.may_hold("b", 110)


@pytest.fixture
async def peer():
    made = Peer(ServerTls())
    made.server._first_frames = FirstFrames(total_bytes=8 * MIB)
    yield made
    await made.server.close()
    assert made.server._first_frames.held_bytes == 0


async def announce(peer: Peer, sent_bytes: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Begins a frame of 15 MiB and sends so much of it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", peer.port)
    writer.write(struct.pack(">ii", 15 * MIB, 100) + bytes(sent_bytes))
    await writer.drain()
    return reader, writer


async def test_strangers_cannot_fill_the_memory(peer: Peer):
    strangers = [await announce(peer, 3 * MIB) for _ in range(6)]
    ends = [asyncio.ensure_future(reader.read()) for reader, _ in strangers]
    done, pending = await asyncio.wait(ends, timeout=1.0)
    assert len(done) >= 3, "those that came too late are closed"
    assert peer.server._first_frames.held_bytes <= 8 * MIB
    reader, writer = await asyncio.open_connection("127.0.0.1", peer.port)
    writer.write(encode_command(Command(ECHO, 5, body=bytes(60_000))))
    assert len(await asyncio.wait_for(reader.readexactly(60_000), 10)) == 60_000
    for future in pending:
        future.cancel()
    for _, stranger in (*strangers, (reader, writer)):
        stranger.close()
    await asyncio.gather(*done, return_exceptions=True)


async def test_a_large_first_request_is_served_and_gives_its_share_back(peer: Peer):
    for _ in range(3):
        reader, writer = await asyncio.open_connection("127.0.0.1", peer.port)
        frame = encode_command(Command(ECHO, 5, body=bytes(7 * MIB)))
        writer.write(frame[: 6 * MIB])
        await writer.drain()
        await asyncio.sleep(0.05)
        writer.write(frame[6 * MIB :])
        assert len(await reader.readexactly(7 * MIB)) == 7 * MIB
        assert peer.server._first_frames.held_bytes == 0
        # Who has spoken is known: later frames are bounded by the frame's own limit alone.
        writer.write(struct.pack(">ii", 15 * MIB, 100) + bytes(9 * MIB))
        await writer.drain()
        await asyncio.sleep(0.05)
        assert peer.server._first_frames.held_bytes == 0
        writer.close()
