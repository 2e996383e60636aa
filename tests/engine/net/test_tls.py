"""TLS on the ports of plain frames, over real sockets; all tests run on asyncio's loop and on uvloop.

Where a test stands for a case of RocketMQ's own TlsTest, its docstring names it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import ssl
from pathlib import Path

import pytest
import uvloop

from engine.errors import BadInput, PeerUnreachable
from engine.net.connection import Connection
from engine.net.flow import ConnectionLimits
from engine.net.outcomes import Reply
from engine.net.requester import Requester
from engine.net.server import Server, listen
from engine.net.serving import Serving
from engine.net.tls import ClientAuth, ServerFiles, ServerTls, TlsMode, TlsOptions
from engine.net.tls_stream import HANDSHAKE_LIMIT_BYTES, HELLO_LIMIT_BYTES
from engine.protocol.commands import Command
from tests.certificates import Authority, serial_in, serial_of

ECHO = 7001
pytestmark = pytest.mark.filterwarnings("ignore:Overriding the .event_loop_policy:DeprecationWarning")


@pytest.fixture(params=["asyncio", "uvloop"])
def event_loop_policy(request):
    return asyncio.DefaultEventLoopPolicy() if request.param == "asyncio" else uvloop.EventLoopPolicy()


@pytest.fixture(scope="module")
def authority(tmp_path_factory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"))


@pytest.fixture(scope="module")
def other(tmp_path_factory) -> Authority:
    return Authority(tmp_path_factory.mktemp("other-ca"), "other")


@pytest.fixture(scope="module")
def server_files(authority: Authority) -> ServerFiles:
    issued = authority.issue("server")
    return ServerFiles(issued.cert, issued.key)


class Peer:
    def __init__(self, tls: ServerTls, limits: ConnectionLimits | None = None, proxies=()):
        loop = asyncio.get_running_loop()
        self.clients: list[Connection] = []
        self.server = Server(
            loop, Serving({ECHO: self.echo}, object(), loop), limits or ConnectionLimits(), tls, proxies
        )
        host, self.port = self.server.add_listener(listen("127.0.0.1", 0, 4096))
        self.address = f"{host}:{self.port}"

    def echo(self, request: Command, client: Connection) -> Reply:
        self.clients.append(client)
        return Reply(0, None, request.fields, request.body)


@pytest.fixture
async def start():
    """`start(mode, files)`: a server."""
    peers: list[Peer] = []

    def begin(mode: TlsMode, files: ServerFiles | None, limits: ConnectionLimits | None = None) -> Peer:
        peers.append(Peer(ServerTls(mode, files), limits))
        return peers[-1]

    yield begin
    for peer in peers:
        await peer.server.close()
        assert not peer.server._per_ip, "every address is given back"


async def ask(peer: Peer, tls: TlsOptions | None, body: bytes = b"hello") -> bytes:
    """One request, on a connection of its own."""
    requester = Requester(lambda request, client: None, tls=tls)
    try:
        answer = await requester.request(peer.address, Command(ECHO, body=body), 5000)
        return bytes(answer.body)
    finally:
        await requester.close()


def required(files: ServerFiles, authority: Authority, auth: ClientAuth = ClientAuth.REQUIRE) -> ServerFiles:
    return ServerFiles(files.cert_path, files.key_path, "", authority.ca, auth)


# -- modes --------------------------------------------------------------------------------------------------


async def test_a_permissive_server_takes_plain_and_tls_on_one_port(start, server_files, authority):
    """serverAcceptsUnAuthClient"""
    peer = start(TlsMode.PERMISSIVE, server_files)
    assert await ask(peer, None) == b"hello"
    assert await ask(peer, TlsOptions(authority.ca)) == b"hello"
    assert [client.is_encrypted for client in peer.clients] == [False, True]


async def test_these_tests_do_run_on_both_loops(request):
    is_uvloop = isinstance(asyncio.get_running_loop(), uvloop.Loop)
    assert is_uvloop == ("uvloop" in request.node.name)


async def test_an_enforcing_server_closes_plain(start, server_files, authority):
    peer = start(TlsMode.ENFORCING, server_files)
    assert await ask(peer, TlsOptions(authority.ca)) == b"hello"
    with pytest.raises(PeerUnreachable):
        await ask(peer, None)
    assert len(peer.clients) == 1


async def test_a_disabled_server_closes_tls(start, server_files, authority):
    """disabledServerRejectsSSLClient, disabledServerAcceptUnAuthClient"""
    peer = start(TlsMode.DISABLED, server_files)
    with pytest.raises(PeerUnreachable):
        await ask(peer, TlsOptions(authority.ca))
    assert await ask(peer, None) == b"hello"


async def test_a_permissive_server_without_a_certificate_closes_tls(start, authority):
    peer = start(TlsMode.PERMISSIVE, None)
    with pytest.raises(PeerUnreachable):
        await ask(peer, TlsOptions(authority.ca))
    assert await ask(peer, None) == b"hello"


def test_enforcing_without_a_certificate_does_not_start():
    with pytest.raises(BadInput, match="certPath"):
        ServerTls(TlsMode.ENFORCING, None)


# -- certificates of servers --------------------------------------------------------------------------------


async def test_a_server_signed_by_another_authority_is_refused(start, server_files, other):
    """clientRejectsUntrustedServerCert"""
    peer = start(TlsMode.ENFORCING, server_files)
    with pytest.raises(PeerUnreachable, match="certificate was refused"):
        await ask(peer, TlsOptions(other.ca))
    assert peer.clients == []


async def test_not_verifying_is_possible_and_loud(start, server_files, other, caplog):
    """clientAcceptsUntrustedServerCert"""
    peer = start(TlsMode.ENFORCING, server_files)
    assert await ask(peer, TlsOptions(other.ca, verify=False)) == b"hello"
    assert "NOT verified" in caplog.text


async def test_the_systems_authorities_do_not_vouch_for_ours(start, server_files):
    peer = start(TlsMode.ENFORCING, server_files)
    with pytest.raises(PeerUnreachable, match="certificate was refused"):
        await ask(peer, TlsOptions())


async def test_an_expired_certificate_is_refused(start, authority):
    expired = authority.issue("expired", days=-1)
    peer = start(TlsMode.ENFORCING, ServerFiles(expired.cert, expired.key))
    with pytest.raises(PeerUnreachable, match="expired"):
        await ask(peer, TlsOptions(authority.ca))


async def test_a_certificate_for_another_name_is_refused_unless_that_name_is_expected(start, authority):
    issued = authority.issue("elsewhere", ("broker.example.org",))
    peer = start(TlsMode.ENFORCING, ServerFiles(issued.cert, issued.key))
    with pytest.raises(PeerUnreachable, match="IP address mismatch"):
        await ask(peer, TlsOptions(authority.ca))
    peer.address = f"localhost:{peer.port}"
    with pytest.raises(PeerUnreachable, match="Hostname mismatch"):
        await ask(peer, TlsOptions(authority.ca))
    assert await ask(peer, TlsOptions(authority.ca, server_name="broker.example.org")) == b"hello"


# -- certificates of clients --------------------------------------------------------------------------------


async def test_mutual_tls(start, server_files, authority):
    """basicClientServerIntegrationTest, with an encrypted client key as there"""
    peer = start(TlsMode.ENFORCING, required(server_files, authority))
    mine = authority.issue("client", password="1234")
    assert await ask(peer, TlsOptions(authority.ca, mine.cert, mine.key, "1234")) == b"hello"
    with pytest.raises(BadInput):
        TlsOptions(authority.ca, mine.cert, mine.key, "4321").context()
    with pytest.raises(BadInput):
        TlsOptions(authority.ca, mine.cert, mine.key).context()


async def test_a_client_without_the_required_certificate_is_refused(start, server_files, authority):
    """noClientAuthFailure"""
    peer = start(TlsMode.ENFORCING, required(server_files, authority))
    with pytest.raises(PeerUnreachable):
        await ask(peer, TlsOptions(authority.ca))
    assert peer.clients == []


async def test_a_client_of_another_authority_is_refused(start, server_files, authority, other):
    """serverRejectsUntrustedClientCert"""
    peer = start(TlsMode.ENFORCING, required(server_files, authority))
    theirs = other.issue("stranger")
    with pytest.raises(PeerUnreachable):
        await ask(peer, TlsOptions(authority.ca, theirs.cert, theirs.key))
    assert peer.clients == []


async def test_a_server_that_does_not_ask_takes_any_client(start, server_files, authority, other):
    """serverNotNeedClientAuth, serverAcceptsUntrustedClientCert"""
    peer = start(TlsMode.ENFORCING, server_files)
    theirs = other.issue("anybody")
    assert await ask(peer, TlsOptions(authority.ca)) == b"hello"
    assert await ask(peer, TlsOptions(authority.ca, theirs.cert, theirs.key)) == b"hello"


async def test_an_optional_certificate_may_be_missing_but_not_wrong(start, server_files, authority, other):
    """serverWantClientAuth_ButClientNoCert"""
    peer = start(TlsMode.ENFORCING, required(server_files, authority, ClientAuth.OPTIONAL))
    assert await ask(peer, TlsOptions(authority.ca)) == b"hello"
    theirs = other.issue("wrong")
    with pytest.raises(PeerUnreachable):
        await ask(peer, TlsOptions(authority.ca, theirs.cert, theirs.key))


def test_asking_for_certificates_without_knowing_whom_to_trust_does_not_start(server_files):
    with pytest.raises(BadInput, match="trustCertPath"):
        ServerFiles(server_files.cert_path, server_files.key_path, "", "", ClientAuth.REQUIRE).context()


# -- what is spoken -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_large_answers_and_many_requests_arrive_whole(start, server_files, authority, version):
    peer = start(TlsMode.ENFORCING, server_files)
    peer.server._tls.context.maximum_version = version
    requester = Requester(lambda request, client: None, tls=TlsOptions(authority.ca))
    bodies = [os.urandom(size) for size in (0, 1, 16_383, 16_384, 16_385, 300_000, 5_000_000)] * 3
    answers = await asyncio.gather(
        *(requester.request(peer.address, Command(ECHO, body=body), 20_000) for body in bodies)
    )
    assert [bytes(answer.body) for answer in answers] == bodies
    assert len(peer.server.connections) == 1
    await requester.close()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
async def test_tls_before_1_2_is_refused(start, server_files):
    peer = start(TlsMode.ENFORCING, server_files)
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname = False
    old.verify_mode = ssl.CERT_NONE
    old.minimum_version = ssl.TLSVersion.TLSv1
    old.maximum_version = ssl.TLSVersion.TLSv1_1
    old.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await asyncio.open_connection("127.0.0.1", peer.port, ssl=old)
    assert not peer.server.connections


async def test_a_client_cannot_renegotiate(start, server_files):
    """CVE-2011-1473. OpenSSL's own client asks for it when told `R`."""
    peer = start(TlsMode.ENFORCING, server_files)
    client = await asyncio.create_subprocess_exec(
        "openssl", "s_client", "-tls1_2", "-connect", peer.address,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    assert client.stdin is not None
    await asyncio.sleep(0.5)
    client.stdin.write(b"R\n")
    await client.stdin.drain()
    output, _ = await asyncio.wait_for(client.communicate(), 15)
    assert b"Protocol  : TLSv1.2" in output or b"TLSv1.2" in output
    assert b"no renegotiation" in output
    assert b"Compression: NONE" in output


# -- bad peers ----------------------------------------------------------------------------------------------


async def test_half_a_handshake_is_closed_in_time_and_leaves_nothing(start, server_files):
    peer = start(TlsMode.PERMISSIVE, server_files, ConnectionLimits(first_frame_s=0.5))
    reader, writer = await asyncio.open_connection("127.0.0.1", peer.port)
    writer.write(client_hello()[:40])
    assert await asyncio.wait_for(reader.read(), 5) == b""
    assert (len(peer.server._handshakes), len(peer.server.connections)) == (0, 0)
    writer.close()


async def test_a_handshake_that_stops_after_the_servers_part_is_closed_in_time(start, server_files):
    peer = start(TlsMode.PERMISSIVE, server_files, ConnectionLimits(first_frame_s=0.5))
    reader, writer = await asyncio.open_connection("127.0.0.1", peer.port)
    writer.write(client_hello())
    assert await asyncio.wait_for(reader.read(1), 5) == b"\x16"
    await asyncio.wait_for(reader.read(), 5)
    assert not peer.server._handshakes
    writer.close()


async def test_garbage_behind_the_first_byte_is_closed_at_once(start, server_files, caplog):
    caplog.set_level(logging.INFO, "engine")
    peer = start(TlsMode.PERMISSIVE, server_files)
    reader, writer = await asyncio.open_connection("127.0.0.1", peer.port)
    writer.write(b"\x16" + os.urandom(500))
    await asyncio.wait_for(reader.read(), 2)
    assert caplog.text.count("TLS handshake") == 1
    assert await ask(peer, None) == b"hello"
    writer.close()


@pytest.mark.parametrize("announced", [16_000, 131_072])
async def test_a_handshake_may_not_grow_without_end(start, server_files, announced):
    """A hello that never ends in records of one byte; a hello that announces more than there is room for."""
    peer = start(TlsMode.PERMISSIVE, server_files)
    reader, writer = await asyncio.open_connection("127.0.0.1", peer.port)
    message = b"\x01" + announced.to_bytes(3) + bytes(15_000)
    record = b"\x16\x03\x01\x00\x04" + message[:4]
    record += b"".join(b"\x16\x03\x01\x00\x01" + message[i : i + 1] for i in range(4, len(message)))
    assert len(record) > HANDSHAKE_LIMIT_BYTES
    writer.write(record if announced < HELLO_LIMIT_BYTES else b"\x16\x03\x01\x40\x00" + message[:4])
    await asyncio.wait_for(reader.read(), 2)
    assert not peer.server._handshakes
    writer.close()


async def test_a_frame_beyond_the_limit_is_closed_over_tls_too(start, server_files, authority):
    peer = start(TlsMode.ENFORCING, server_files)
    context = TlsOptions(authority.ca).context()
    reader, writer = await asyncio.open_connection("127.0.0.1", peer.port, ssl=context)
    writer.write(b"\x7f\xff\xff\xff" * 4)
    assert await asyncio.wait_for(reader.read(), 5) == b""
    writer.close()


async def test_a_peer_that_does_not_read_stops_being_read_over_tls_too(start, server_files, authority):
    limits = ConnectionLimits(write_high_bytes=256 * 1024, write_low_bytes=64 * 1024)
    peer = start(TlsMode.ENFORCING, server_files, limits)
    requester = Requester(lambda request, client: None, tls=TlsOptions(authority.ca))
    bodies = [os.urandom(1_000_000) for _ in range(16)]
    connection = await requester.connect(peer.address)
    connection._transport.pause_reading()
    futures = [connection.start_request(Command(ECHO, body=body)) for body in bodies]
    for _ in range(100):
        await asyncio.sleep(0.02)
        if any(client.times.write_paused_at is not None for client in peer.server.connections):
            break
    assert len(peer.clients) < len(bodies), "the server stopped reading"
    connection._transport.resume_reading()
    answers = await asyncio.wait_for(asyncio.gather(*futures), 30)
    assert [bytes(answer.body) for answer in answers] == bodies
    await requester.close()


# -- rotation -----------------------------------------------------------------------------------------------


def presented(port: int) -> int:
    """The serial number of the certificate that a new handshake sees."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", port)) as sock, context.wrap_socket(sock) as tls:
        return serial_of(tls.getpeercert(binary_form=True) or b"")


async def test_a_new_certificate_is_used_for_new_handshakes_and_drops_nobody(start, tmp_path):
    """reloadSslContextForServer, under load"""
    authority = Authority(tmp_path)
    first = authority.issue("server")
    peer = start(TlsMode.ENFORCING, ServerFiles(first.cert, first.key))
    lost: list[str] = []
    requester = Requester(
        lambda request, client: None,
        tls=TlsOptions(authority.ca),
        on_closed=lambda address, connection: lost.append(address),
    )
    served = 0

    async def load(until: asyncio.Event) -> None:
        nonlocal served
        while not until.is_set():
            await requester.request(peer.address, Command(ECHO, body=os.urandom(2_000)), 5000)
            served += 1

    enough = asyncio.Event()
    loads = [asyncio.create_task(load(enough)) for _ in range(8)]
    seen = {await asyncio.to_thread(presented, peer.port)}
    for _ in range(2):
        authority.issue("server")
        wanted = serial_in(first.cert)
        for _ in range(60):
            found = await asyncio.to_thread(presented, peer.port)
            if found == wanted:
                break
            await asyncio.sleep(0.1)
        assert found == wanted
        seen.add(found)
    enough.set()
    await asyncio.gather(*loads)
    assert (len(seen), lost) == (3, [])
    assert served > 50
    await requester.close()


def test_broken_files_leave_the_old_certificate_with_one_warning(tmp_path: Path, caplog):
    authority = Authority(tmp_path)
    issued = authority.issue("server")
    tls = ServerTls(TlsMode.ENFORCING, ServerFiles(issued.cert, issued.key))
    old = tls.context
    tls.refresh()
    assert tls.context is old
    other = Authority(tmp_path / "other").issue("server")
    Path(issued.cert).write_bytes(Path(other.cert).read_bytes())
    for _ in range(3):
        tls.refresh()
    assert tls.context is old, "a certificate whose key has not come yet"
    assert caplog.text.count("the old certificate stays") == 1
    Path(issued.key).unlink()
    tls.refresh()
    assert caplog.text.count("the old certificate stays") == 2
    Path(issued.key).write_bytes(Path(other.key).read_bytes())
    tls.refresh()
    assert tls.context is not old


async def test_a_clients_renewed_certificate_is_used_for_its_next_connection(start, server_files, tmp_path):
    """A broker that lives longer than its certificate must come back to its name servers."""
    authority, stranger = Authority(tmp_path), Authority(tmp_path / "other", "other")
    mine, old = authority.issue("client"), stranger.issue("old")
    good = Path(mine.cert).read_bytes(), Path(mine.key).read_bytes()
    Path(mine.cert).write_bytes(Path(old.cert).read_bytes())
    Path(mine.key).write_bytes(Path(old.key).read_bytes())
    issued = authority.issue("server")
    peer = start(
        TlsMode.ENFORCING, ServerFiles(issued.cert, issued.key, "", authority.ca, ClientAuth.REQUIRE)
    )
    requester = Requester(lambda request, client: None, tls=TlsOptions(authority.ca, mine.cert, mine.key))
    with pytest.raises(PeerUnreachable):
        await requester.request(peer.address, Command(ECHO), 5000)
    Path(mine.cert).write_bytes(good[0])
    Path(mine.key).write_bytes(good[1])
    assert (await requester.request(peer.address, Command(ECHO), 5000)).code == 0
    await requester.close()


def test_passwords_are_in_no_repr():
    assert "canary" not in repr(ServerFiles("a", "b", "canary")) + repr(TlsOptions(key_password="canary"))


def client_hello() -> bytes:
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = ssl.create_default_context().wrap_bio(incoming, outgoing, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        tls.do_handshake()
    return outgoing.read()
