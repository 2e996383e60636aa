"""A listener that accepts by hand and looks at the first byte before it chooses what the connection speaks.

The peek is what lets TLS share the port with plain frames. Accepting by hand also survives running out of
descriptors: accept pauses and resumes, nothing else is hurt. A sweep closes what faults.md F36 wants closed
(silence, half a handshake, half a frame, idle, a peer that does not read) and lets new certificates in. Loop
thread only.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import socket
import ssl
from collections import Counter

from engine.errors import BadInput
from engine.net.arrivals import Arrival, Look, Networks, is_among
from engine.net.connection import Connection, Serve
from engine.net.flow import ConnectionLimits
from engine.net.heap import Heap
from engine.net.shares import RECEIVE_BUFFER_BYTES, Shares
from engine.net.tls import ServerTls
from engine.net.tls_stream import TlsStream, explained

log = logging.getLogger(__name__)

_ACCEPTS_PER_WAKE = 64
_CONNECTION_BYTES = 64 * 1024
"""What a busy connection takes, about."""
_OUT_OF_DESCRIPTORS = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}


def listen(host: str, port: int, backlog: int) -> socket.socket:
    """A listening socket; with port 0 the system chooses one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        sock.listen(backlog)
    except OSError:
        sock.close()
        raise
    sock.setblocking(False)
    return sock


class Server:
    """One or more listening sockets, one `serve` for all their connections."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        serve: Serve,
        limits: ConnectionLimits,
        tls: ServerTls | None = None,
        trusted_proxies: Networks = (),
    ) -> None:
        self._loop = loop
        self._serve = serve
        self._limits = limits
        self._tls = tls or ServerTls()
        self._trusted_proxies = trusted_proxies
        self.shares = Shares(loop, limits.memory)
        self._heap = Heap(loop)
        self._tls_buffer = memoryview(bytearray(RECEIVE_BUFFER_BYTES if self._tls.context else 0))
        self._listeners: list[socket.socket] = []
        self._arrivals: set[Arrival] = set()
        self._handshakes: dict[TlsStream, Arrival] = {}
        self._opening: set[asyncio.Task[object]] = set()
        self._per_ip: Counter[str] = Counter()
        self._sweeper: asyncio.TimerHandle | None = None
        self.connections: set[Connection] = set()

    def add_listener(self, sock: socket.socket, serve: Serve | None = None) -> tuple[str, int]:
        self._listeners.append(sock)
        self._loop.add_reader(sock.fileno(), self._accept, sock, serve or self._serve)
        if self._sweeper is None:
            self._sweeper = self._loop.call_later(1.0, self._sweep)
        host, port = sock.getsockname()[:2]
        return host, port

    def _accept(self, listener: socket.socket, serve: Serve) -> None:
        for _ in range(_ACCEPTS_PER_WAKE):
            try:
                sock, address = listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._accept_failed(listener, serve, error)
                return
            self._admit(sock, str(address[0]), serve)

    def _accept_failed(self, listener: socket.socket, serve: Serve, error: OSError) -> None:
        if error.errno not in _OUT_OF_DESCRIPTORS:
            log.warning("accept failed: %s", error)
            return
        log.warning("accept paused: %s", error.strerror)
        self._loop.remove_reader(listener.fileno())
        self._loop.call_later(0.5, self._resume_accept, listener, serve)

    def _resume_accept(self, listener: socket.socket, serve: Serve) -> None:
        if listener in self._listeners:
            self._loop.add_reader(listener.fileno(), self._accept, listener, serve)

    def _admit(self, sock: socket.socket, ip: str, serve: Serve) -> None:
        is_proxy = bool(self._trusted_proxies) and is_among(ip, self._trusted_proxies)
        total = len(self.connections) + len(self._arrivals) + len(self._handshakes)
        if total >= self._limits.max_connections or not (is_proxy or self._has_room(ip)):
            sock.close()
            return
        sock.setblocking(False)
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._per_ip[ip] += 1
        arrival = Arrival(sock, ip, serve, self._loop.time(), is_proxy)
        self._arrivals.add(arrival)
        self._loop.add_reader(sock.fileno(), self._look, arrival)

    def _has_room(self, ip: str) -> bool:
        return self._per_ip[ip] < self._limits.max_connections_per_ip

    def _look(self, arrival: Arrival) -> None:
        first = arrival.first_byte()
        if first is Look.NOTHING_YET:
            return
        if isinstance(first, Look) or not self._count_for_client(arrival):
            self._drop(arrival)
            return
        try:
            context = self._tls.context_for(first)
        except BadInput as refusal:
            log.info("closing %s: it speaks %s", arrival.ip, refusal.text)
            self._drop(arrival)
            return
        self._loop.remove_reader(arrival.sock.fileno())
        self._arrivals.discard(arrival)
        task = self._loop.create_task(self._open(arrival, context))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    def _count_for_client(self, arrival: Arrival) -> bool:
        """Behind a proxy it is the client's address that counts, not the proxy's."""
        if arrival.remote is None:
            return True
        self._forget_ip(arrival.ip)
        arrival.ip = arrival.remote[0]
        self._per_ip[arrival.ip] += 1
        return self._per_ip[arrival.ip] <= self._limits.max_connections_per_ip

    async def _open(self, arrival: Arrival, context: ssl.SSLContext | None) -> None:
        protocol = self._connection(arrival) if context is None else self._handshake(arrival, context)
        try:
            await self._loop.connect_accepted_socket(lambda: protocol, arrival.sock)
        except OSError as error:
            log.info("connection from %s failed: %s", arrival.ip, error)
            arrival.sock.close()
            protocol.connection_lost(error)

    def _connection(self, arrival: Arrival) -> Connection:
        def closed(connection: Connection) -> None:
            self.connections.discard(connection)
            self.shares.note_connections(len(self.connections))
            self._forget_ip(arrival.ip)

        connection = Connection(
            self._loop,
            self.shares.room.whole,
            arrival.serve,
            self._limits,
            closed,
            arrival.remote,
            self.shares,
        )
        self.connections.add(connection)
        self.shares.note_connections(len(self.connections))
        return connection

    def _handshake(self, arrival: Arrival, context: ssl.SSLContext) -> TlsStream:
        def opened(error: Exception | None) -> None:
            del self._handshakes[stream]
            if error is not None:
                log.info("closing %s: TLS handshake: %s", arrival.ip, explained(error))
                self._forget_ip(arrival.ip)

        stream = TlsStream(context, self._tls_buffer, lambda: self._connection(arrival), opened)
        self._handshakes[stream] = arrival
        return stream

    def _forget_ip(self, ip: str) -> None:
        self._per_ip[ip] -= 1
        if self._per_ip[ip] <= 0:
            del self._per_ip[ip]

    def _sweep(self) -> None:
        now = self._loop.time()
        for connection in list(self.connections):
            connection.note_sending(now)
            reason = connection.times.overdue(now, self._limits)
            if reason is not None:
                log.info("closing %s: %s", connection.peer_name, reason)
                connection.abort()
        self._sweep_unknown(now - self._limits.first_frame_s)
        self._tls.refresh()
        shares = self.shares
        held_bytes = shares.intake.held_bytes + shares.outgo.held_bytes
        self._heap.note(now, held_bytes + len(self.connections) * _CONNECTION_BYTES)
        self._sweeper = self._loop.call_later(1.0, self._sweep)

    def _sweep_unknown(self, since: float) -> None:
        """What has not said what it speaks, or not finished saying it."""
        for arrival in [arrival for arrival in self._arrivals if arrival.since < since]:
            self._drop(arrival)
        for stream in [stream for stream, arrival in self._handshakes.items() if arrival.since < since]:
            stream.abort()

    def _drop(self, arrival: Arrival) -> None:
        self._loop.remove_reader(arrival.sock.fileno())
        self._arrivals.discard(arrival)
        self._forget_ip(arrival.ip)
        arrival.sock.close()

    def stop_accepting(self) -> None:
        for listener in self._listeners:
            self._loop.remove_reader(listener.fileno())
            listener.close()
        self._listeners.clear()

    async def close(self) -> None:
        """Close every connection (queued answers leave first) and wait until they are gone."""
        self.stop_accepting()
        if self._sweeper is not None:
            self._sweeper.cancel()
        self.shares.close()
        for arrival in list(self._arrivals):
            self._drop(arrival)
        for stream in list(self._handshakes):
            stream.abort()
        for connection in list(self.connections):
            connection.close()
        deadline = self._loop.time() + 2.0
        while self.connections and self._loop.time() < deadline:
            await asyncio.sleep(0.01)
        for connection in list(self.connections):
            connection.abort()
