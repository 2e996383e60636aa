"""Closes connections that hold too much, counts them, and says so in the log without filling it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Protocol

log = logging.getLogger(__name__)

LOG_EVERY_S = 1.0


class Closable(Protocol):
    @property
    def peer_name(self) -> str: ...

    def abort(self) -> None: ...


class Closings:
    """One line a second at most; the next one says how many were not told."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._said_at = float("-inf")
        self._untold = 0
        self.count = 0

    def close(self, connection: Closable, reason: str) -> None:
        self.count += 1
        now = self._clock()
        if now - self._said_at >= LOG_EVERY_S:
            more = f" ({self._untold} more were closed since the last such line)" if self._untold else ""
            log.warning("closing %s: %s%s", connection.peer_name, reason, more)
            self._said_at = now
            self._untold = 0
        else:
            self._untold += 1
        connection.abort()
