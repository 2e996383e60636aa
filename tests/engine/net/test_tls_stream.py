"""The TLS layer fed in memory, in any pieces, with any damage: what goes in comes out, or it fails well."""

from __future__ import annotations

import asyncio
import ssl
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.net.tls import ServerFiles, TlsOptions
from engine.net.tls_stream import TlsStream
from tests.certificates import Authority


class Wire(asyncio.Transport):
    """A transport that keeps what is written; `to` hands bytes to the other side in pieces."""

    def __init__(self) -> None:
        super().__init__()
        self.written = bytearray()
        self.is_closed = False

    def write(self, data: Any) -> None:
        self.written += data

    def close(self) -> None:
        self.is_closed = True

    abort = close

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default


class Sink(asyncio.BufferedProtocol):
    def __init__(self) -> None:
        self.buffer = memoryview(bytearray(1000))
        self.got = bytearray()
        self.transport: asyncio.BaseTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def get_buffer(self, sizehint: int) -> memoryview:
        return self.buffer

    def buffer_updated(self, nbytes: int) -> None:
        self.got += self.buffer[:nbytes]


class Side:
    def __init__(self, context: ssl.SSLContext, server_name: str | None = None) -> None:
        self.sink, self.wire, self.opened = Sink(), Wire(), []
        self.buffer = memoryview(bytearray(4096))
        self.stream = TlsStream(
            context, self.buffer, lambda: self.sink, self.opened.append, server_name=server_name
        )
        self.stream.connection_made(self.wire)

    def receive(self, data: bytes) -> None:
        for start in range(0, len(data), len(self.buffer)):
            piece = data[start : start + len(self.buffer)]
            self.buffer[: len(piece)] = piece
            self.stream.buffer_updated(len(piece))


@pytest.fixture(scope="module")
def contexts(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    authority = Authority(tmp_path_factory.mktemp("ca"))
    issued = authority.issue("server")
    return ServerFiles(issued.cert, issued.key).context(), TlsOptions(authority.ca).context()


def talk(one: Side, other: Side, piece: int = 4096) -> None:
    """What each has written reaches the other, until both are silent."""
    while one.wire.written or other.wire.written:
        for source, target in ((one, other), (other, one)):
            data, source.wire.written = bytes(source.wire.written), bytearray()
            for start in range(0, len(data), piece):
                target.receive(data[start : start + piece])


@given(piece=st.sampled_from([1, 7, 100, 4096]), sizes=st.lists(st.integers(0, 40_000), max_size=5))
@settings(max_examples=25, deadline=None)
def test_what_goes_in_comes_out_whatever_the_pieces(contexts, piece, sizes):
    server, client = Side(contexts[0]), Side(contexts[1], "localhost")
    talk(server, client, piece)
    assert (server.opened, client.opened) == ([None], [None])
    for number, size in enumerate(sizes):
        data = bytes([number]) * size
        for one, other in ((server, client), (client, server)):
            one.sink.transport.write(data)
            talk(server, client, piece)
            assert bytes(other.sink.got) == data
            other.sink.got.clear()
    client.stream.close()
    talk(server, client, piece)
    assert client.wire.is_closed and server.wire.is_closed


@given(
    position=st.integers(0, 600),
    noise=st.binary(min_size=1, max_size=50),
    is_inserted=st.booleans(),
)
@settings(max_examples=200, deadline=None)
def test_a_damaged_hello_opens_nothing_and_breaks_nothing(contexts, position, noise, is_inserted):
    client, server = Side(contexts[1], "localhost"), Side(contexts[0])
    hello = bytes(client.wire.written)
    position %= len(hello)
    rest = hello[position + (0 if is_inserted else len(noise)) :]
    server.receive(hello[:position] + noise + rest)
    assert server.sink.transport is None, "the handshake needs the client's second part"
    server.stream.connection_lost(None)
    assert len(server.opened) == 1 and isinstance(server.opened[0], Exception)
    server.stream.write(b"late")
    server.stream.close()


@given(position=st.integers(0, 100_000), value=st.integers(1, 255))
@settings(max_examples=100, deadline=None)
def test_a_damaged_record_ends_the_stream_and_hands_up_nothing(contexts, position, value):
    server, client = Side(contexts[0]), Side(contexts[1], "localhost")
    talk(server, client)
    client.sink.transport.write(b"x" * 10_000)
    data = bytearray(client.wire.written)
    data[position % len(data)] ^= value
    server.receive(bytes(data))
    assert not server.sink.got
    # A length that was made larger waits for more, which never fits either.
    server.receive(bytes(70_000))
    assert server.wire.is_closed and not server.sink.got
