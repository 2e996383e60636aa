"""Introductions on the HA port: who are you, and do you know the secret? Both ends.

    slave    MAGIC · {"cluster","broker","member","address","nonce","logStart"}
             and "tail" where it has no history
    master   {"member","nonce","proof"}      or {"refusal": why}
    slave    {"proof"}
    master   {"epoch","reign","history","startOffset","neededFrom",…}   or {"refusal": why}

The slave proves itself last, so a master learns nothing from a stranger but a name; a stranger learns nothing
from a master but that it is one. Until the proofs are there, 64 KiB and ten seconds are all that a peer gets.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from engine.broker.replication.tails import Tail
from engine.errors import NotPermitted, ProtocolError, Refused
from engine.protocol.cluster_proof import NONCE_BYTES, peer_proof, proves
from engine.protocol.layouts.ha_frames import (
    MAGIC,
    PACKET_SIZE_BYTES,
    decode_packet,
    decode_packet_size,
    encode_packet,
)

INTRODUCTION_S = 10.0


@dataclass(frozen=True, slots=True)
class Peer:
    """Who introduced itself, proved."""

    member_id: int
    address: str
    tail: Tail | None = None
    """How its log ends, when nothing else tells whose it is."""
    log_start: int | None = None
    """None: the first release, which does not say."""


async def read_packet(reader: asyncio.StreamReader) -> dict[str, Any]:
    """The peer's next packet; its refusal is raised."""
    size = decode_packet_size(await reader.readexactly(PACKET_SIZE_BYTES))
    packet = decode_packet(await reader.readexactly(size))
    if "refusal" in packet:
        raise Refused(str(packet["refusal"])[:500])
    return packet


def send_bytes(writer: asyncio.StreamWriter, data: bytes) -> None:
    """A loop may answer a write to a closed stream with an error of its own: this is the one to expect."""
    if writer.is_closing():
        raise ConnectionResetError("the stream was closed")
    writer.write(data)


async def introduce(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, secret: bytes, me: dict[str, Any]
) -> dict[str, Any]:
    """The slave's part. `me`: cluster, broker, member, address. Returns the master's handshake."""
    hello = encode_packet({**me, "nonce": secrets.token_hex(NONCE_BYTES)})
    send_bytes(writer, MAGIC + hello)
    async with asyncio.timeout(INTRODUCTION_S):
        answer = await read_packet(reader)
        challenge = _challenge(answer)
        if not proves(_text(answer, "proof"), peer_proof(secret, "master", hello, challenge)):
            raise NotPermitted("the master does not know the cluster secret")
        send_bytes(writer, encode_packet({"proof": peer_proof(secret, "slave", hello, challenge)}))
        return await read_packet(reader)


async def admit(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    secret: bytes,
    member_id: int,
    check: Callable[[dict[str, Any]], Peer],
) -> Peer:
    """The master's part, behind MAGIC. `check` refuses whoever is not of this group."""
    async with asyncio.timeout(INTRODUCTION_S):
        hello = await read_packet(reader)
        peer = check(hello)
        said = encode_packet(hello)
        challenge = {"member": member_id, "nonce": secrets.token_hex(NONCE_BYTES)}
        proof = peer_proof(secret, "master", said, _challenge(challenge))
        send_bytes(writer, encode_packet({**challenge, "proof": proof}))
        answer = await read_packet(reader)
    if not proves(_text(answer, "proof"), peer_proof(secret, "slave", said, _challenge(challenge))):
        raise NotPermitted(f"the slave at {peer.address} does not know the cluster secret")
    return peer


def _challenge(packet: dict[str, Any]) -> bytes:
    nonce = _text(packet, "nonce")
    if len(nonce) != 2 * NONCE_BYTES:
        raise ProtocolError("a replica sent an impossible nonce")
    return encode_packet({"member": packet.get("member"), "nonce": nonce})


def _text(packet: dict[str, Any], key: str) -> str:
    value = packet.get(key)
    if not isinstance(value, str):
        raise ProtocolError(f"a replica sent no {key}")
    return value
