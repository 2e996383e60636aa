"""Many raw connections of one attacker, driven by one epoll loop; bounded in count and in time.

Each connection sends a payload as fast as its socket takes it, and reads, trickles or does neither as told.
Connections that the server closes are counted, and opened again where the attack says so. A crowd that
gathers begins when all of it is there.
"""

from __future__ import annotations

import contextlib
import errno
import select
import socket
import time
from dataclasses import dataclass, field

from tests.crash.wire import Address

_PIECE_BYTES = 1 << 18
_OPENED_PER_TURN = 50
GATHER_S = 60.0
_COUNTED_S = 1.0
"""How long a crowd that is complete waits before it attacks: the good client reads the broker's count of
connections every tenth of a second."""
_GONE = (BrokenPipeError, ConnectionError, TimeoutError)


@dataclass(frozen=True, slots=True)
class Manners:
    """How the connections of an attack behave."""

    first: bytes = b""
    """Sent once, before the payload."""
    payload: bytes = b""
    stamp: bytes = b""
    """What stands in the payload for a number of eight digits that is another one each time."""
    repeats: int = 1
    reads: bool = False
    trickle_bytes: int = 0
    """Sent one piece of this size at a time, every `trickle_s`, instead of as fast as possible."""
    trickle_s: float = 1.0
    reopens: bool = False
    gathers: bool = False
    """Whether payloads are sent only when all connections are open and have sent their `first`."""


@dataclass(slots=True)
class _Peer:
    sock: socket.socket
    left: int = 0
    """Bytes of `first` and all payloads that are still to be sent."""
    next_at: float = 0.0
    payload: bytes = b""


@dataclass(slots=True)
class Tally:
    opened: int = 0
    closed_by_server: int = 0
    sent_bytes: int = 0
    received_bytes: int = 0
    opened_all_s: float = 0.0
    most_open: int = 0
    errors: dict[str, int] = field(default_factory=dict)


class Crowd:
    def __init__(self, address: Address, sources: list[str], count: int, manners: Manners) -> None:
        self._address = address
        self._sources = sources
        self._count = count
        self._manners = manners
        self._whole = len(manners.first) + len(manners.payload) * manners.repeats
        self._epoll = select.epoll()
        self._peers: dict[int, _Peer] = {}
        self._is_gathered = not manners.gathers
        self._stamps = 0
        self.tally = Tally()

    def run(self, seconds: float) -> Tally:
        """For so long, once all are gathered."""
        begun = time.monotonic()
        until = begun + (seconds if self._is_gathered else GATHER_S)
        complete_since: float | None = None
        while (now := time.monotonic()) < until:
            self._open_some()
            self.tally.most_open = max(self.tally.most_open, len(self._peers))
            if self.tally.opened >= self._count and not self.tally.opened_all_s:
                self.tally.opened_all_s = now - begun
            if complete_since is None and self._are_all_here():
                complete_since = now
            if not self._is_gathered and complete_since is not None and now - complete_since >= _COUNTED_S:
                self._is_gathered = True
                until = now + seconds
                for peer in self._peers.values():
                    self._epoll.modify(peer.sock.fileno(), self._events(peer))
            self._trickle(now)
            for descriptor, event in self._epoll.poll(0.05, 512):
                peer = self._peers.get(descriptor)
                if peer is not None:
                    self._serve(peer, event)
        if not self._is_gathered:
            raise SystemExit(f"{len(self._peers)} of {self._count} connections after {GATHER_S:g} s")
        return self.tally

    def _are_all_here(self) -> bool:
        if self.tally.opened < self._count:
            return False
        return not any(self._wants_to_send(peer) for peer in self._peers.values())

    def close(self) -> None:
        for peer in list(self._peers.values()):
            self._drop(peer)
        self._epoll.close()

    def _open_some(self) -> None:
        wanted = self._count if self._manners.reopens else self._count - self.tally.opened + len(self._peers)
        for _ in range(min(_OPENED_PER_TURN, wanted - len(self._peers))):
            self._open_one()

    def _open_one(self) -> None:
        self.tally.opened += 1
        source = self._sources[self.tally.opened % len(self._sources)]
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        if not self._manners.reads:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        sock.setblocking(False)
        try:
            sock.bind((source, 0))
            sock.connect(self._address)
        except OSError as error:
            if error.errno != errno.EINPROGRESS:
                self._count_error(error)
                sock.close()
                return
        peer = _Peer(sock, self._whole)
        self._peers[sock.fileno()] = peer
        self._epoll.register(sock.fileno(), self._events(peer))

    def _events(self, peer: _Peer) -> int:
        wants = select.EPOLLRDHUP | (select.EPOLLIN if self._manners.reads else 0)
        wants_out = self._wants_to_send(peer) and not self._manners.trickle_bytes
        return wants | (select.EPOLLOUT if wants_out else 0)

    def _wants_to_send(self, peer: _Peer) -> bool:
        """Before all are gathered, `first` alone."""
        later = 0 if self._is_gathered else self._whole - len(self._manners.first)
        return peer.left > later

    def _serve(self, peer: _Peer, event: int) -> None:
        try:
            if event & select.EPOLLIN:
                self._read(peer)
            if event & (select.EPOLLHUP | select.EPOLLRDHUP | select.EPOLLERR):
                raise ConnectionResetError
            if event & select.EPOLLOUT:
                self._send(peer, _PIECE_BYTES)
                if not self._wants_to_send(peer):
                    self._epoll.modify(peer.sock.fileno(), self._events(peer))
        except _GONE as error:
            self._count_error(error)
            self.tally.closed_by_server += 1
            self._drop(peer)

    def _read(self, peer: _Peer) -> None:
        with contextlib.suppress(BlockingIOError):
            data = peer.sock.recv(_PIECE_BYTES)
            self.tally.received_bytes += len(data)
            if not data:
                raise ConnectionResetError

    def _send(self, peer: _Peer, most: int) -> None:
        manners, at = self._manners, self._whole - peer.left
        if at < len(manners.first):
            piece = manners.first[at : at + most]
        else:
            inside = (at - len(manners.first)) % len(manners.payload)
            if inside == 0:
                peer.payload = self._stamped()
            piece = peer.payload[inside : inside + most]
        with contextlib.suppress(BlockingIOError):
            sent = peer.sock.send(piece)
            peer.left -= sent
            self.tally.sent_bytes += sent

    def _stamped(self) -> bytes:
        if not self._manners.stamp:
            return self._manners.payload
        self._stamps += 1
        return self._manners.payload.replace(self._manners.stamp, b"%08d" % self._stamps)

    def _trickle(self, now: float) -> None:
        manners = self._manners
        if not manners.trickle_bytes:
            return
        for peer in list(self._peers.values()):
            if peer.left and peer.next_at <= now:
                peer.next_at = now + manners.trickle_s
                try:
                    at = self._whole - peer.left
                    most = len(manners.first) - at if at < len(manners.first) else manners.trickle_bytes
                    self._send(peer, most)
                except OSError as error:
                    self._count_error(error)
                    self.tally.closed_by_server += 1
                    self._drop(peer)

    def _drop(self, peer: _Peer) -> None:
        self._peers.pop(peer.sock.fileno(), None)
        with contextlib.suppress(OSError):
            self._epoll.unregister(peer.sock.fileno())
        peer.sock.close()

    def _count_error(self, error: OSError) -> None:
        name = type(error).__name__
        self.tally.errors[name] = self.tally.errors.get(name, 0) + 1
