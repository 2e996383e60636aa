"""Fires mutants at one server and watches that it stays on its feet.

Soft mutants go many per connection with a good request behind them, whose answer tells that the server has
dealt with all. A hard mutant has a connection of its own, half-closed at once: the server must end it.
Neither an answer nor an end within the limit is a hang, and fails.
"""

from __future__ import annotations

import contextlib
import errno
import socket
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.crash.cluster import Daemon
from tests.crash.wire import Link, encode_request
from tests.fuzz.mutants import Breeder, Mutant, every_code

HANG_S = 10.0
SOFT_PER_CONNECTION = 60
_CODES_PER_CONNECTION = 1000
_SENTINEL = 2_000_000_011
_SENTINEL_MARK = b'"opaque":2000000011'


@dataclass(slots=True)
class Tally:
    fired: int = 0
    connections: int = 0
    closed_by_server: int = 0
    kinds: dict[str, int] = field(default_factory=dict)

    def count(self, mutants: Iterable[Mutant]) -> None:
        for mutant in mutants:
            self.fired += 1
            self.kinds[mutant.kind] = self.kinds.get(mutant.kind, 0) + 1


class Salvo:
    """`good` is the (code, fields) of a request that this server must always answer with success."""

    def __init__(self, daemon: Daemon, good: tuple[int, dict[str, str]]) -> None:
        self._daemon = daemon
        self._good = good
        self._sentinel = encode_request(good[0], _SENTINEL, good[1])
        self.tally = Tally()

    def fire(self, breeder: Breeder, count: int, *, hard_share: float = 0.25) -> None:
        """`count` mutants in all."""
        hard_each = round(SOFT_PER_CONNECTION * hard_share / (1 - hard_share))
        while self.tally.fired < count:
            self._soft([breeder.soft() for _ in range(SOFT_PER_CONNECTION)])
            self.fire_hard(breeder.hard() for _ in range(hard_each))

    def fire_hard(self, mutants: Iterable[Mutant]) -> None:
        for mutant in mutants:
            with self._connect() as link:
                self.tally.count([mutant])
                with contextlib.suppress(ConnectionError):
                    link.sendall(mutant.data)
                    _end_writing(link)
                    self._read_until(link, None, [mutant])

    def fire_codes(self, last: int = 65535) -> None:
        """Every request code: one that is not known is answered, none closes the connection."""
        frames = [Mutant("every_code", data, False) for data in every_code(0, last)]
        for start in range(0, len(frames), _CODES_PER_CONNECTION):
            piece = frames[start : start + _CODES_PER_CONNECTION]
            assert self._soft(piece), f"a code from {start} on closed the connection"

    def _soft(self, mutants: list[Mutant]) -> bool:
        """True when the good request behind the mutants was answered, False when the server closed first."""
        self.tally.count(mutants)
        data = b"".join(mutant.data for mutant in mutants)
        with self._connect() as link, contextlib.suppress(ConnectionError):
            link.sendall(data + self._sentinel)
            if self._read_until(link, _SENTINEL_MARK, mutants):
                return True
        self.tally.closed_by_server += 1
        assert self._daemon.is_alive, f"died of {[m.kind for m in mutants]}:\n{self._daemon.tail()}"
        return False

    def _connect(self) -> socket.socket:
        """From ever other loopback addresses: one alone would run out of ports."""
        self.tally.connections += 1
        source = (f"127.0.0.{2 + self.tally.connections % 250}", 0)
        return socket.create_connection(self._daemon.address, HANG_S, source)

    def _read_until(self, link: socket.socket, mark: bytes | None, mutants: list[Mutant]) -> bool:
        """Whether `mark` came before the end of the stream."""
        received = b""
        link.settimeout(HANG_S)
        while True:
            try:
                piece = link.recv(1 << 18)
            except TimeoutError:
                kinds = {mutant.kind for mutant in mutants}
                raise AssertionError(f"no answer and no end of the stream in {HANG_S} s: {kinds}") from None
            if not piece:
                return False
            if mark:
                received = received[-len(mark) :] + piece
                if mark in received:
                    return True

    def still_answers(self, within_s: float = 1.0) -> None:
        begun = time.monotonic()
        with Link(self._daemon.address) as link:
            answer = link.call(self._good[0], self._good[1], timeout_s=within_s)
        assert answer.code == 0, f"{answer.code} {answer.remark}"
        assert time.monotonic() - begun <= within_s


def _end_writing(link: socket.socket) -> None:
    """The server may have closed already, which the next read will tell."""
    try:
        link.shutdown(socket.SHUT_WR)
    except OSError as error:
        if error.errno != errno.ENOTCONN:
            raise
