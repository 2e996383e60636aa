"""A TCP proxy before a master's HA port that can hold up what goes to one of its slaves.

It listens on another loopback address with the same port number; the master names that address as its own
(brokerIP2). Which slave speaks is read from its introduction.
"""

from __future__ import annotations

import contextlib
import re
import socket
import threading
import time

_MEMBER = re.compile(rb'"member":(\d+)')
_CHUNK = 1 << 16

LISTEN_HOST = "127.0.0.2"


class SlowLink:
    """`stalled` holds the slaves that hear nothing; `bytes_per_s` slows down all that do."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._server = socket.create_server((LISTEN_HOST, port))
        self.stalled: set[int] = set()
        self.bytes_per_s: float | None = None
        self._is_closed = False
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._is_closed = True
        self._server.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                slave, _ = self._server.accept()
                threading.Thread(target=self._serve, args=(slave,), daemon=True).start()

    def _serve(self, slave: socket.socket) -> None:
        try:
            first = slave.recv(_CHUNK)
            found = _MEMBER.search(first)
            member = int(found[1]) if found else -1
            master = socket.create_connection(("127.0.0.1", self._port))
        except OSError:
            slave.close()
            return
        master.sendall(first)
        threading.Thread(target=self._pump, args=(slave, master, None), daemon=True).start()
        self._pump(master, slave, member)

    def _pump(self, source: socket.socket, target: socket.socket, member: int | None) -> None:
        try:
            while data := source.recv(_CHUNK):
                while member in self.stalled and not self._is_closed:
                    time.sleep(0.02)
                if member is not None and self.bytes_per_s:
                    time.sleep(len(data) / self.bytes_per_s)
                target.sendall(data)
        except OSError:
            pass
        finally:
            for sock in (source, target):
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)
                sock.close()
