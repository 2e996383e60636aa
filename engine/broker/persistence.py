"""The broker's tables on disk: copied on the loop, encoded and written in a thread, one write at a time.

Requests that come while a file is being written share the next write, so a storm of changes costs two writes.
What a crash leaves behind is `durable_file`'s promise: the whole old or the whole new content. Loop thread
only, except for the encoding and writing itself.
"""

from __future__ import annotations

import asyncio
import errno
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.durable_file import write_durable

log = logging.getLogger(__name__)

TOPICS_FILE = "topics.json"
GROUPS_FILE = "subscriptionGroup.json"
OFFSETS_FILE = "consumerOffset.json"

Done = Callable[[OSError | None], None]


@dataclass(frozen=True, slots=True)
class StateFile:
    """`take` copies the table (loop), `encode` makes its bytes (thread), then one of the others is told."""

    path: Path
    take: Callable[[], Any]
    encode: Callable[[Any], bytes]
    saved: Callable[[Any], None]
    failed: Callable[[], None]


class _Writer:
    def __init__(self, file: StateFile, loop: asyncio.AbstractEventLoop, threads: Executor) -> None:
        self._file = file
        self._loop = loop
        self._threads = threads
        self._waiting: list[Done] = []
        self.running: asyncio.Future[None] | None = None

    def request(self, done: Done) -> None:
        self._waiting.append(done)
        if self.running is None:
            self._start()

    def _start(self) -> None:
        waiting, self._waiting = self._waiting, []
        snapshot = self._file.take()
        self.running = self._loop.run_in_executor(self._threads, _write, self._file, snapshot)
        self.running.add_done_callback(lambda future: self._finish(future, snapshot, waiting))

    def _finish(self, future: asyncio.Future[None], snapshot: Any, waiting: list[Done]) -> None:
        self.running = None
        error = _os_error(future.exception())
        if error is None:
            self._file.saved(snapshot)
        else:
            log.error("%s could not be written: %s", self._file.path.name, error)
            self._file.failed()
        if self._waiting:
            self._start()
        for done in waiting:
            done(error)


class Persistence:
    """`save(file)` in the background, `when_saved(file, done)` for who waits, `save_all()` at the end."""

    def __init__(
        self, files: Mapping[str, StateFile], loop: asyncio.AbstractEventLoop, threads: Executor
    ) -> None:
        self._loop = loop
        self._writers = {name: _Writer(file, loop, threads) for name, file in files.items()}

    def save(self, file: str) -> None:
        self._writers[file].request(_ignore)

    def when_saved(self, file: str, done: Done) -> None:
        self._writers[file].request(done)

    async def save_all(self) -> None:
        """Everything once more, and wait for it."""
        waiting: list[asyncio.Future[None]] = []
        for writer in self._writers.values():
            future: asyncio.Future[None] = self._loop.create_future()
            waiting.append(future)
            writer.request(lambda error, future=future: future.set_result(None))  # type: ignore[misc]
        await asyncio.gather(*waiting)


def _write(file: StateFile, snapshot: Any) -> None:
    write_durable(file.path, file.encode(snapshot))


def _ignore(error: OSError | None) -> None:
    """The failure is in the log, and the table stays to be saved."""


def _os_error(error: BaseException | None) -> OSError | None:
    if error is None or isinstance(error, OSError):
        return error
    log.error("a table could not be encoded", exc_info=error)
    return OSError(errno.EIO, f"{type(error).__name__} while encoding")
