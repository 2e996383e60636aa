"""Peers that are none: what reaches a group's ports from somebody who does not know its secret, or only has
recorded what others said (F22). Each forgery is bytes for the HA port or a request for the remoting port."""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
import struct
from collections.abc import Callable
from pathlib import Path

import orjson

from engine.broker.replication.ha_port_io import Peer, Stream, admit, introduce
from engine.protocol.layouts.ha_frames import MAGIC, encode_packet
from engine.protocol.signing import PROOF_FIELD, request_proof
from tests.crash.group import GROUP_NAME, Member
from tests.crash.wire import Link

CLUSTER = "CrashCluster"
PROMISE, CROWN, FOLLOW, HAND_OVER, PROMOTE = 30011, 30012, 30013, 30014, 30015

HaForgery = Callable[[random.Random], list[bytes]]


def hello(member: int | str, **changes: object) -> bytes:
    content = {
        "cluster": CLUSTER,
        "broker": GROUP_NAME,
        "member": member,
        "address": "127.0.0.1:1",
        "nonce": "ab" * 16,
    }
    return MAGIC + encode_packet({**content, **changes})


def word(kind: int, value: int) -> bytes:
    return struct.pack(">iq", kind, value)


def proof(chance: random.Random) -> bytes:
    return encode_packet({"proof": chance.randbytes(32).hex()})


HA_FORGERIES: dict[str, HaForgery] = {
    "random bytes": lambda chance: [chance.randbytes(chance.randrange(1, 300))],
    "random bytes behind the magic": lambda chance: [MAGIC, chance.randbytes(chance.randrange(1, 300))],
    "plain, offset 2^62": lambda chance: [struct.pack(">q", 1 << 62)] * 3,
    "plain, a negative offset": lambda chance: [struct.pack(">q", -1)] * 3,
    "plain, from the beginning": lambda chance: [struct.pack(">q", 0), struct.pack(">q", 1 << 40)],
    "the master's own brokerId": lambda chance: [hello(0), proof(chance), word(2, 1 << 20)],
    "an impossible brokerId": lambda chance: [hello(-5), proof(chance)],
    "a brokerId that is no number": lambda chance: [hello("1"), proof(chance)],
    "another group": lambda chance: [hello(1, broker="other"), proof(chance)],
    "no proof": lambda chance: [hello(1), word(2, 1 << 62), word(2, -1), word(5, 99)],
    "a wrong proof": lambda chance: [hello(1), proof(chance), word(2, 1 << 20)],
    "a short nonce": lambda chance: [hello(1, nonce="ab"), proof(chance)],
    "an enormous packet": lambda chance: [MAGIC + struct.pack(">i", 0x7FFFFFFF), bytes(1000)],
    "a packet of negative size": lambda chance: [MAGIC + struct.pack(">i", -1), bytes(1000)],
    "half a packet": lambda chance: [hello(1)[: chance.randrange(9, 60)]],
    "no object": lambda chance: [MAGIC + encode_packet([1, 2, 3]), proof(chance)],
}


def say(port: int, parts: list[bytes]) -> bytes:
    """What the master answered until it hung up, or nothing more came."""
    heard = b""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 2) as link:
        link.settimeout(0.05)
        for part in parts:
            link.sendall(part)
            with contextlib.suppress(TimeoutError):
                heard += link.recv(1 << 16)
        with contextlib.suppress(TimeoutError):
            while data := link.recv(1 << 16):
                heard += data
    return heard


class _Recorder:
    """Keeps what an honest slave writes."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self.said: list[bytes] = []

    def is_closing(self) -> bool:
        return self._writer.is_closing()

    def write(self, data: bytes) -> None:
        self.said.append(data)
        self._writer.write(data)


def recorded_introduction(secret: bytes, member: Member) -> list[bytes]:
    """What this member once said to a master, proof and all: on another day, with another challenge."""

    async def run() -> list[bytes]:
        done = asyncio.Event()

        async def master(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readexactly(len(MAGIC))
            stream = Stream(reader, writer)
            await admit(stream, secret, 0, lambda said: Peer(said["member"], said["address"]))
            writer.write(encode_packet({}))
            await done.wait()
            writer.close()

        server = await asyncio.start_server(master, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname()[:2])
        recorder = _Recorder(writer)
        me = {"cluster": CLUSTER, "broker": GROUP_NAME, "member": member.number, "address": member.place}
        await introduce(Stream(reader, recorder), secret, me)  # type: ignore[arg-type]
        done.set()
        writer.close()
        server.close()
        return recorder.said

    return asyncio.run(run())


def demand(member: Member, code: int, fields: dict[str, str], secret: bytes | None) -> int:
    """The code that a member's request of this kind is answered with; without a secret it has no proof."""
    given = {"clusterName": CLUSTER, "brokerName": GROUP_NAME, **fields}
    if secret is not None:
        given[PROOF_FIELD] = request_proof(secret, code, given, b"")
    with Link(member.address) as link:
        return link.call(code, given).code


def kept_state(member: Member) -> dict[str, object]:
    """What a member must never forget, but for how far it is."""
    content: dict[str, object] = orjson.loads(_group_file(member).read_bytes())
    content.pop("confirmedOffset")
    return content


def _group_file(member: Member) -> Path:
    return member.store / "config" / "signalboxGroup.json"
