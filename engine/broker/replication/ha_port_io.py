"""The HA port: accepts connections, tells the two dialects apart, and does the handshake of both ends.

The first eight bytes are our magic or the offset of a plain slave. A peer that is not understood, does
not know the secret, or speaks the plain dialect where that is not allowed is dropped and logged once per
address and reason; it changes nothing. While this broker is not master, every connection is closed at
once.

    slave    MAGIC · {"cluster","broker","member","address","nonce","logStart"}
             and "tail" where it has no history
    master   {"member","nonce","proof"}      or {"refusal": why}
    slave    {"proof"}
    master   {"epoch","reign","history","startOffset","neededFrom",…}   or {"refusal": why}

The slave proves itself last, so a master learns only a name from an unknown peer, and an unknown peer
learns from a master only that it is one. Until the proofs are there, a peer gets 64 KiB and ten seconds.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from engine.broker.replication.epochs import Tail
from engine.errors import EngineError, NotPermitted, ProtocolError, Refused
from engine.protocol.layouts import ha_frames
from engine.protocol.signing import NONCE_BYTES, peer_proof, proves

log = logging.getLogger(__name__)

INTRODUCTION_S = 10.0
MAX_CONNECTIONS = 64
FIRST_BYTES_S = 10.0
_READ_LIMIT_BYTES = 1 << 20
_MAX_LOGGED = 1_000


class Stream(NamedTuple):
    """Both directions of a connection on the HA port."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def read_packet(self) -> dict[str, Any]:
        """The peer's next packet; a refusal is raised."""
        size = ha_frames.decode_packet_size(await self.reader.readexactly(ha_frames.PACKET_SIZE_BYTES))
        packet = ha_frames.decode_packet(await self.reader.readexactly(size))
        if "refusal" in packet:
            raise Refused(str(packet["refusal"])[:500])
        return packet

    def send(self, data: bytes) -> None:
        """Some event loops raise an error of their own on a closed stream: raise the usual one instead."""
        if self.writer.is_closing():
            raise ConnectionResetError("the stream was closed")
        self.writer.write(data)


class SlaveServing(Protocol):
    """The master's end of both dialects."""

    async def serve(self, stream: Stream, secret: bytes) -> None: ...

    async def serve_plain(self, stream: Stream, first: bytes, address: str) -> None: ...


@dataclass(eq=False, repr=False)
class HaServer:
    secret: bytes | None
    allows_plain: bool
    _server: asyncio.Server | None = field(default=None, init=False)
    _open: set[asyncio.StreamWriter] = field(default_factory=set, init=False)
    _logged: set[tuple[str, str]] = field(default_factory=set, init=False)
    master: SlaveServing | None = field(default=None, init=False)
    """Serves the slaves; None while this broker is not master."""

    async def start(self, sock: socket.socket) -> None:
        self._server = await asyncio.start_server(self._take, sock=sock, limit=_READ_LIMIT_BYTES)

    def drop_all(self) -> None:
        """The term is over: slaves find their new master by themselves."""
        self.master = None
        for writer in list(self._open):
            writer.transport.abort()

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        self.drop_all()

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = writer.get_extra_info("peername")
        address = f"{peer[0]}:{peer[1]}" if peer else "?"
        if self.master is None or len(self._open) >= MAX_CONNECTIONS:
            writer.transport.abort()
            return
        self._open.add(writer)
        try:
            await self._serve(self.master, Stream(reader, writer), address)
        except EngineError as error:
            self._log_once(address, error.text)
            if not writer.is_closing():
                writer.write(ha_frames.encode_packet({"refusal": error.text}))
        except (OSError, EOFError, TimeoutError) as error:
            log.info("the slave at %s is gone: %s", address, error or type(error).__name__)
        finally:
            self._open.discard(writer)
            writer.close()

    async def _serve(self, master: SlaveServing, stream: Stream, address: str) -> None:
        async with asyncio.timeout(FIRST_BYTES_S):
            first = await stream.reader.readexactly(len(ha_frames.MAGIC))
        if first == ha_frames.MAGIC:
            if self.secret is None:
                raise EngineError("this broker has no cluster secret (signalboxClusterSecretFile)")
            await master.serve(stream, self.secret)
        elif self.allows_plain:
            await master.serve_plain(stream, first, address)
        else:
            raise EngineError("plain slaves are not allowed here (signalboxAllowPlainSlaves=false)")

    def _log_once(self, address: str, reason: str) -> None:
        """A peer that keeps trying must not fill the log."""
        key = address.rpartition(":")[0], reason
        if key not in self._logged and len(self._logged) < _MAX_LOGGED:
            self._logged.add(key)
            log.warning("refused on the HA port: %s: %s", address, reason)


@dataclass(frozen=True, slots=True)
class Peer:
    """A slave that has proved its identity."""

    member_id: int
    address: str
    tail: Tail | None = None
    """How its log ends, when it has no history to compare."""
    log_start: int | None = None
    """None: the first release, which does not send it."""


async def introduce(stream: Stream, secret: bytes, me: dict[str, Any]) -> dict[str, Any]:
    """The slave's part. `me`: cluster, broker, member, address. Returns the master's last packet."""
    hello = ha_frames.encode_packet({**me, "nonce": secrets.token_hex(NONCE_BYTES)})
    stream.send(ha_frames.MAGIC + hello)
    async with asyncio.timeout(INTRODUCTION_S):
        answer = await stream.read_packet()
        challenge = _challenge(answer)
        if not proves(_text(answer, "proof"), peer_proof(secret, "master", hello, challenge)):
            raise NotPermitted("the master does not know the cluster secret")
        stream.send(ha_frames.encode_packet({"proof": peer_proof(secret, "slave", hello, challenge)}))
        return await stream.read_packet()


async def admit(
    stream: Stream, secret: bytes, member_id: int, check: Callable[[dict[str, Any]], Peer]
) -> Peer:
    """The master's part, after MAGIC. `check` refuses a peer that is not of this group."""
    async with asyncio.timeout(INTRODUCTION_S):
        hello = await stream.read_packet()
        peer = check(hello)
        sent = ha_frames.encode_packet(hello)
        challenge = {"member": member_id, "nonce": secrets.token_hex(NONCE_BYTES)}
        proof = peer_proof(secret, "master", sent, _challenge(challenge))
        stream.send(ha_frames.encode_packet({**challenge, "proof": proof}))
        answer = await stream.read_packet()
    if not proves(_text(answer, "proof"), peer_proof(secret, "slave", sent, _challenge(challenge))):
        raise NotPermitted(f"the slave at {peer.address} does not know the cluster secret")
    return peer


def _challenge(packet: dict[str, Any]) -> bytes:
    nonce = _text(packet, "nonce")
    if len(nonce) != 2 * NONCE_BYTES:
        raise ProtocolError("a replica sent an impossible nonce")
    return ha_frames.encode_packet({"member": packet.get("member"), "nonce": nonce})


def _text(packet: dict[str, Any], key: str) -> str:
    value = packet.get(key)
    if not isinstance(value, str):
        raise ProtocolError(f"a replica sent no {key}")
    return value
