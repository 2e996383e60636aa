"""The broker's tables on disk: copied on the loop, encoded and written in a thread, one write at a time.

Requests that come while a file is being written share the next write, so a storm of changes costs two writes.
What a crash leaves behind is `durable_file`'s promise: the whole old or the whole new content. A file with
`without_log` says what the log must prove (a group's offset moves when a pop's checkpoint is appended): it is
written once the log is on disk as far as it was when the table was copied; if that fails, without what the
log does not prove. Loop thread only, except for the encoding and writing itself.
"""

from __future__ import annotations

import asyncio
import errno
import logging
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.durable_file import write_durable

log = logging.getLogger(__name__)

TOPICS_FILE = "topics.json"
GROUPS_FILE = "subscriptionGroup.json"
OFFSETS_FILE = "consumerOffset.json"

SLOW_S = 1.0
"""A write that takes longer is worth a line: what a crash takes back grows by as much."""

Done = Callable[[OSError | None], None]


@dataclass(frozen=True, slots=True)
class StateFile:
    """`take` copies the table (loop), `encode` makes its bytes (thread), then one of the others is told."""

    path: Path
    take: Callable[[], Any]
    encode: Callable[[Any], bytes]
    saved: Callable[[Any], None]
    failed: Callable[[], None]
    without_log: Callable[[Any], Any] | None = None


class _Writer:
    def __init__(
        self,
        file: StateFile,
        loop: asyncio.AbstractEventLoop,
        threads: Executor,
        flush_log: Callable[[], Awaitable[bool]],
    ) -> None:
        self._file = file
        self._loop = loop
        self._threads = threads
        self._flush_log = flush_log
        self._waiting: list[Done] = []
        self._begun_s = 0.0
        self.running: asyncio.Future[None] | None = None

    def request(self, done: Done) -> None:
        self._waiting.append(done)
        if self.running is None:
            self._start()

    def _start(self) -> None:
        waiting, self._waiting = self._waiting, []
        self._begun_s = self._loop.time()
        snapshot = self._file.take()
        if self._file.without_log is not None:
            self.running = self._loop.create_task(self._write_behind_log(snapshot, self._file.without_log))
        else:
            self.running = self._loop.run_in_executor(self._threads, _write, self._file, snapshot)
        self.running.add_done_callback(lambda future: self._finish(future, snapshot, waiting))

    async def _write_behind_log(self, snapshot: Any, without_log: Callable[[Any], Any]) -> None:
        if not await self._flush_log():
            snapshot = without_log(snapshot)
        await self._loop.run_in_executor(self._threads, _write, self._file, snapshot)

    def _finish(self, future: asyncio.Future[None], snapshot: Any, waiting: list[Done]) -> None:
        self.running = None
        error = _os_error(future.exception())
        if (took_s := self._loop.time() - self._begun_s) > SLOW_S:
            log.warning("%s took %.1f s to be written: the disk is slow", self._file.path.name, took_s)
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
    """`save(file)` in the background, `when_saved(file, done)` for who waits, `save_all()` at the end.
    `flush_log` brings all that was appended so far to the disk and says whether it is there."""

    def __init__(
        self,
        files: Mapping[str, StateFile],
        loop: asyncio.AbstractEventLoop,
        threads: Executor,
        flush_log: Callable[[], Awaitable[bool]],
    ) -> None:
        self._loop = loop
        self._writers = {name: _Writer(file, loop, threads, flush_log) for name, file in files.items()}

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
