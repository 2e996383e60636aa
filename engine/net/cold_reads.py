"""Reads that go to a thread: a few at a time, clients by turns, none for a client that does not read.

Each read may bring hundreds of kilobytes that then wait to be sent. So they are not started all at once, and
one client with a thousand of them delays another by one read, not by a thousand. Loop thread only.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Protocol

MOST_RUNNING = 6
"""Threads of the event loop's own pool on a machine of two cores."""

Done = Callable[["asyncio.Future[bytes]"], None]


class Reader(Protocol):
    is_closed: bool

    @property
    def is_clogged(self) -> bool:
        """Whether it does not read what it was sent."""

    def hold_back(self, step: Callable[[], None]) -> None:
        """`step` is called when it reads again, or is gone."""


_Job = tuple[Callable[[], bytes], Done]


class ColdReads:
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._jobs: dict[Reader, deque[_Job]] = {}
        self._turns: deque[Reader] = deque()
        self._running = 0

    def start(self, client: Reader, read: Callable[[], bytes], done: Done) -> None:
        """`done` is called on the loop, exactly once."""
        if client.is_clogged:
            client.hold_back(lambda: self.start(client, read, done))
            return
        if self._running < MOST_RUNNING:
            self._run(_nothing if client.is_closed else read, done)
            return
        jobs = self._jobs.get(client)
        if jobs is None:
            jobs = self._jobs[client] = deque()
            self._turns.append(client)
        jobs.append((read, done))

    def _run(self, read: Callable[[], bytes], done: Done) -> None:
        self._running += 1
        future = self._loop.run_in_executor(None, read)
        future.add_done_callback(lambda finished: self._finished(finished, done))

    def _finished(self, future: asyncio.Future[bytes], done: Done) -> None:
        self._running -= 1
        while self._turns and self._running < MOST_RUNNING:
            client = self._turns.popleft()
            jobs = self._jobs[client]
            read, next_done = jobs.popleft()
            if jobs:
                self._turns.append(client)
            else:
                del self._jobs[client]
            self.start(client, read, next_done)
        done(future)


def _nothing() -> bytes:
    return b""
