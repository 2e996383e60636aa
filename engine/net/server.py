"""A listener that accepts by hand and looks at the first byte before it chooses what the connection speaks.

The peek is what lets TLS share the port with plain frames. Accepting by hand also survives running out of
descriptors: accept pauses and resumes, nothing else is hurt. A sweep closes what faults.md F36 wants closed
(silence, half a frame, idle, a peer that does not read). Loop thread only.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import socket
from collections import Counter

from engine.net.connection import RECEIVE_BUFFER_BYTES, Connection, Serve
from engine.net.flow import ConnectionLimits

log = logging.getLogger(__name__)

TLS_HANDSHAKE_BYTE = 0x16
_ACCEPTS_PER_WAKE = 64
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

    def __init__(self, loop: asyncio.AbstractEventLoop, serve: Serve, limits: ConnectionLimits) -> None:
        self._loop = loop
        self._serve = serve
        self._limits = limits
        self._buffer = memoryview(bytearray(RECEIVE_BUFFER_BYTES))
        self._listeners: list[socket.socket] = []
        self._peeking: dict[socket.socket, float] = {}
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
        total = len(self.connections) + len(self._peeking)
        if total >= self._limits.max_connections or self._per_ip[ip] >= self._limits.max_connections_per_ip:
            sock.close()
            return
        sock.setblocking(False)
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._per_ip[ip] += 1
        self._peeking[sock] = self._loop.time()
        self._loop.add_reader(sock.fileno(), self._peek, sock, ip, serve)

    def _peek(self, sock: socket.socket, ip: str, serve: Serve) -> None:
        try:
            first = sock.recv(1, socket.MSG_PEEK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            first = b""
        self._loop.remove_reader(sock.fileno())
        del self._peeking[sock]
        if not first or first[0] == TLS_HANDSHAKE_BYTE:
            # TLS arrives with its own issue; until then a handshake is closed, as mode `disabled` does.
            self._forget_ip(ip)
            sock.close()
            return
        task = self._loop.create_task(self._open(sock, ip, serve))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    async def _open(self, sock: socket.socket, ip: str, serve: Serve) -> None:
        def made() -> Connection:
            connection = Connection(self._loop, self._buffer, serve, self._limits, closed)
            self.connections.add(connection)
            return connection

        def closed(connection: Connection) -> None:
            self.connections.discard(connection)
            self._forget_ip(ip)

        try:
            await self._loop.connect_accepted_socket(made, sock)
        except OSError as error:
            log.info("connection from %s failed: %s", ip, error)
            sock.close()

    def _forget_ip(self, ip: str) -> None:
        self._per_ip[ip] -= 1
        if self._per_ip[ip] <= 0:
            del self._per_ip[ip]

    def _sweep(self) -> None:
        now = self._loop.time()
        for connection in list(self.connections):
            reason = connection.times.overdue(now, self._limits)
            if reason is not None:
                log.info("closing %s: %s", connection.peer_name, reason)
                connection.abort()
        for sock, since in list(self._peeking.items()):
            if now - since > self._limits.first_frame_s:
                self._drop_silent(sock)
        self._sweeper = self._loop.call_later(1.0, self._sweep)

    def _drop_silent(self, sock: socket.socket) -> None:
        self._loop.remove_reader(sock.fileno())
        del self._peeking[sock]
        with contextlib.suppress(OSError):
            self._forget_ip(str(sock.getpeername()[0]))
        sock.close()

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
        for sock in list(self._peeking):
            self._drop_silent(sock)
        for connection in list(self.connections):
            connection.close()
        deadline = self._loop.time() + 2.0
        while self.connections and self._loop.time() < deadline:
            await asyncio.sleep(0.01)
        for connection in list(self.connections):
            connection.abort()
