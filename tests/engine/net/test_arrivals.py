"""PROXY headers: golden bytes of both versions, pieces, malformed, and from peers that may not send any."""

from __future__ import annotations

import asyncio
import struct

import pytest

from engine.errors import BadInput, ProtocolError
from engine.net.arrivals import SIGNATURE, ProxyHeader, is_among, parse_networks
from engine.net.flow import ConnectionLimits
from engine.net.tls import ServerFiles, ServerTls, TlsMode, TlsOptions
from engine.protocol.commands import Command, encode_command
from engine.protocol.frames import FrameParser
from tests.certificates import Authority
from tests.engine.net.test_tls import ECHO, Peer

V1 = b"PROXY TCP4 192.0.2.7 198.51.100.1 54321 10911\r\n"
V1_IPV6 = b"PROXY TCP6 2001:db8::7 2001:db8::1 54321 10911\r\n"
V2 = bytes.fromhex("0d0a0d0a000d0a515549540a 21 11 000c c0000207 c6336401 d431 2a9f")
V2_IPV6 = bytes.fromhex(
    "0d0a0d0a000d0a515549540a 21 21 0024"
    "20010db8000000000000000000000007 20010db8000000000000000000000001 d431 2a9f"
)
V2_TLV = V2[:14] + struct.pack(">H", 12 + 7) + V2[16:] + b"\x04\x00\x04abcd"
V2_LOCAL = bytes.fromhex("0d0a0d0a000d0a515549540a 20 00 0000")
V2_UNIX = bytes.fromhex("0d0a0d0a000d0a515549540a 21 31 00d8") + bytes(216)
GOOD = [
    (V1, ("192.0.2.7", 54321)),
    (V1_IPV6, ("2001:db8::7", 54321)),
    (b"PROXY UNKNOWN\r\n", None),
    (b"PROXY UNKNOWN ffff:f 1 2 3\r\n", None),
    (V2, ("192.0.2.7", 54321)),
    (V2_IPV6, ("2001:db8::7", 54321)),
    (V2_TLV, ("192.0.2.7", 54321)),
    (V2_LOCAL, None),
    (V2_UNIX, None),
]
BAD = [
    b"POST / HTTP/1.1\r\n",
    b"PROXY TCP4 192.0.2.7 198.51.100.1 54321\r\n",
    b"PROXY TCP4 2001:db8::7 2001:db8::1 1 2\r\n",
    b"PROXY TCP4 192.0.2.700 198.51.100.1 1 2\r\n",
    b"PROXY TCP4 192.0.2.7 198.51.100.1 65536 2\r\n",
    b"PROXY TCP4 192.0.2.7 198.51.100.1 -1 2\r\n",
    b"PROXY UDP4 192.0.2.7 198.51.100.1 1 2\r\n",
    b"PROXY " + b"x" * 120,
    b"\r\n\r\nnonsense",
    V2[:12] + b"\x31" + V2[13:],
    V2[:14] + b"\x00\x04" + V2[16:20],
    SIGNATURE + b"\x21\x11\xff\xff",
]


@pytest.mark.parametrize(("header", "source"), GOOD)
def test_a_header_is_read_whole_by_byte_and_with_what_follows(header, source):
    for follows in (b"", b"\x16\x03\x01", header):
        whole = ProxyHeader()
        assert whole.feed(header + follows) == len(header)
        assert (whole.is_complete, whole.source) == (True, source)
    pieces = ProxyHeader()
    for position in range(len(header)):
        assert not pieces.is_complete
        assert pieces.feed(header[position : position + 1]) == 1
    assert (pieces.is_complete, pieces.source) == (True, source)


@pytest.mark.parametrize("header", BAD)
def test_a_malformed_header_is_refused(header):
    with pytest.raises(ProtocolError):
        ProxyHeader().feed(header)


def test_networks():
    networks = parse_networks("10.0.0.0/8, 192.168.1.7,2001:db8::/32")
    assert is_among("10.255.0.1", networks) and is_among("::ffff:10.1.1.1", networks)
    assert is_among("192.168.1.7", networks) and is_among("2001:db8::9", networks)
    assert not is_among("192.168.1.8", networks) and not is_among("::1", networks)
    for bad in ("10.0.0.1/8", "host", "10.0.0.0/33"):
        with pytest.raises(BadInput):
            parse_networks(bad)


@pytest.fixture
async def started():
    peers: list[Peer] = []

    def start(proxies: str, limits: ConnectionLimits | None = None, tls: ServerTls | None = None) -> Peer:
        peers.append(Peer(tls or ServerTls(), limits, parse_networks(proxies)))
        return peers[-1]

    yield start
    for peer in peers:
        await peer.server.close()
        assert not peer.server._per_ip


async def answered(peer: Peer, *pieces: bytes) -> bool:
    reader, writer = await asyncio.open_connection("127.0.0.1", peer.port)
    for piece in (*pieces, encode_command(Command(ECHO, 5))):
        writer.write(piece)
        await asyncio.sleep(0.01)
    try:
        data = await asyncio.wait_for(reader.read(4096), 3)
    except ConnectionResetError:
        data = b""
    writer.close()
    return bool(data) and FrameParser().receive_data(data)[0].opaque == 5


async def test_a_trusted_proxy_speaks_for_others(started):
    peer = started("127.0.0.0/8")
    assert await answered(peer, V1)
    assert await answered(peer, V2_TLV[:9], V2_TLV[9:20], V2_TLV[20:])
    assert await answered(peer, V2_LOCAL)
    assert await answered(peer), "a health check without a header"
    remotes = [client.remote[0] for client in peer.clients]
    assert remotes == ["192.0.2.7", "192.0.2.7", "127.0.0.1", "127.0.0.1"]
    assert peer.clients[0].peer_name == "192.0.2.7:54321"


@pytest.mark.parametrize("proxies", ["", "10.0.0.0/8"])
async def test_nobody_else_may_rewrite_an_address(started, proxies):
    peer = started(proxies)
    assert not await answered(peer, V1)
    assert not await answered(peer, V2)
    assert peer.clients == []
    assert await answered(peer)


async def test_malformed_and_unfinished_headers_are_closed(started):
    peer = started("127.0.0.1", ConnectionLimits(first_frame_s=0.5))
    assert not await answered(peer, b"PROXY TCP4 nonsense\r\n")
    reader, writer = await asyncio.open_connection("127.0.0.1", peer.port)
    writer.write(V2[:20])
    assert await asyncio.wait_for(reader.read(), 4) == b""
    writer.close()


async def test_connections_behind_a_proxy_are_counted_for_their_clients(started):
    peer = started("127.0.0.1", ConnectionLimits(max_connections_per_ip=2))
    held = []
    for header in (V1, V1, V1_IPV6, V1_IPV6):
        reader, writer = await asyncio.open_connection("127.0.0.1", peer.port)
        writer.write(header + encode_command(Command(ECHO, 5)))
        assert await asyncio.wait_for(reader.read(4096), 3)
        held.append(writer)
    assert not await answered(peer, V1), "a third connection of one client"
    held.pop().close()
    await asyncio.sleep(0.05)
    assert await answered(peer, V1_IPV6)
    for writer in held:
        writer.close()


async def test_tls_behind_a_proxy(started, tmp_path):
    authority = Authority(tmp_path)
    issued = authority.issue("server")
    peer = started("127.0.0.1", None, ServerTls(TlsMode.ENFORCING, ServerFiles(issued.cert, issued.key)))
    reader, writer = await asyncio.open_connection("127.0.0.1", peer.port)
    writer.write(V2)
    await writer.start_tls(TlsOptions(authority.ca).context(), server_hostname="localhost")
    writer.write(encode_command(Command(ECHO, 5)))
    assert FrameParser().receive_data(await asyncio.wait_for(reader.read(4096), 3))[0].opaque == 5
    assert (peer.clients[0].remote[0], peer.clients[0].is_encrypted) == ("192.0.2.7", True)
    writer.close()
    assert not await answered(peer, V2), "plain frames"
