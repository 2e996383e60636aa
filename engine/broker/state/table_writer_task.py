"""The broker's tables on disk: copied on the loop, encoded and written in a thread, one write at a time.

Requests that come while a file is being written share the next write, so a burst of changes costs two writes.
Of a large table mostly the changes are written (`ChangeFile`).
A crash leaves the whole old or the whole new content (`durable_file`). A table with `without_log` depends on
the log (a group's offset moves when a pop's checkpoint is appended): it is written once the log is on disk up
to where it was when the table was copied; if that fails, without the entries that depend on the log.
Loop thread only, except for the encoding and writing itself.
"""

from __future__ import annotations

import asyncio
import errno
import logging
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from engine.broker.state.state_file_io import REWRITE_S, StateFile

log = logging.getLogger(__name__)

Done = Callable[[OSError | None], None]
"""Called once the file is on disk, or with the error that prevented it."""

SLOW_S = 1.0
"""A slower write is logged: a crash loses that much more."""

_NOTHING = object()


@dataclass(eq=False, repr=False)
class _FileWriter:
    file: StateFile
    loop: asyncio.AbstractEventLoop
    threads: Executor
    flush_log: Callable[[], Awaitable[bool]]
    _waiting: list[Done] = field(default_factory=list, init=False)
    _begun_s: float = field(default=0.0, init=False)
    _wants_image: bool = field(default=False, init=False)
    _rewrite: asyncio.TimerHandle | None = field(default=None, init=False)
    running: asyncio.Future[None] | None = field(default=None, init=False)

    def request(self, done: Done) -> None:
        self._waiting.append(done)
        if self.running is None:
            self._start()

    def request_image(self, done: Done) -> None:
        """The file alone must hold the whole table; nothing is written when it already does."""
        self._wants_image = True
        self.request(done)

    def _start(self) -> None:
        waiting, self._waiting = self._waiting, []
        self._begun_s = self.loop.time()
        snapshot = self._take_changes()
        if snapshot is None:
            self._write_whole(waiting)
        elif snapshot is _NOTHING:
            self._schedule_rewrite()
            self.loop.call_soon(_tell, waiting, None)
        else:
            self.running = self.loop.run_in_executor(self.threads, self.file.append, snapshot)
            self.running.add_done_callback(lambda future: self._finish(future, snapshot, waiting))

    def _take_changes(self) -> Any | None:
        """Changes to append; `_NOTHING` when the files are complete, None to write the whole table."""
        changes, change_file = self.file.changes, self.file.change_file
        if changes is None or change_file is None:
            return None
        is_image_due = (self._wants_image and change_file.has_changes) or not change_file.is_image_known
        self._wants_image = False
        snapshot = changes.take()
        if is_image_due or (snapshot is not None and not change_file.takes_changes):
            return None
        return _NOTHING if snapshot is None else snapshot

    def _write_whole(self, waiting: list[Done]) -> None:
        snapshot = self.file.take()
        if self.file.without_log is not None:
            self.running = self.loop.create_task(self._write_behind_log(snapshot, self.file.without_log))
        else:
            self.running = self.loop.run_in_executor(self.threads, self.file.write, snapshot)
        self.running.add_done_callback(lambda future: self._finish(future, snapshot, waiting))

    async def _write_behind_log(self, snapshot: Any, without_log: Callable[[Any], Any]) -> None:
        if not await self.flush_log():
            snapshot = without_log(snapshot)
        await self.loop.run_in_executor(self.threads, self.file.write, snapshot)

    def _finish(self, future: asyncio.Future[None], snapshot: Any, waiting: list[Done]) -> None:
        self.running = None
        error = _os_error(future.exception())
        if (took_s := self.loop.time() - self._begun_s) > SLOW_S:
            log.warning("%s took %.1f s to be written: the disk is slow", self.file.path.name, took_s)
        if error is None:
            self.file.saved(snapshot)
        else:
            log.error("%s could not be written: %s", self.file.path.name, error)
            self.file.failed()
        self._schedule_rewrite()
        if self._waiting:
            self._start()
        _tell(waiting, error)

    def _schedule_rewrite(self) -> None:
        """So that other readers of the file do not wait long for its changes."""
        change_file = self.file.change_file
        if change_file is None or not change_file.has_changes:
            self.cancel_rewrite()
        elif self._rewrite is None:
            self._rewrite = self.loop.call_later(REWRITE_S, self._rewrite_now)

    def _rewrite_now(self) -> None:
        self._rewrite = None
        self.request_image(_ignore)

    def cancel_rewrite(self) -> None:
        if self._rewrite is not None:
            self._rewrite.cancel()
            self._rewrite = None


@dataclass(eq=False, repr=False)
class TableWriter:
    """`save(file)` writes a table in the background; `announce(file)` also registers the topics with the name
    servers. Callers that wait use `when_saved` and `when_announced`, or await `saved` and `announced`.

    `flush_log` writes everything appended so far to disk and returns whether that succeeded.
    `when_registered` calls back once the name servers know all topics, or after a time limit.
    """

    files: Mapping[str, StateFile]
    loop: asyncio.AbstractEventLoop
    threads: Executor
    flush_log: Callable[[], Awaitable[bool]]
    when_registered: Callable[[Callable[[], None]], None]
    _writers: dict[str, _FileWriter] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.add(self.files)

    def add(self, files: Mapping[str, StateFile]) -> None:
        """More files, before any is saved."""
        loop, threads, flush_log = self.loop, self.threads, self.flush_log
        self._writers |= {name: _FileWriter(file, loop, threads, flush_log) for name, file in files.items()}

    def save(self, file: str) -> None:
        self._writers[file].request(_ignore)

    def when_saved(self, file: str, done: Done) -> None:
        self._writers[file].request(done)

    def saved(self, file: str) -> Awaitable[OSError | None]:
        return self._future(self._writers[file].request)

    def announce(self, file: str) -> None:
        self.when_announced(file, _ignore)

    def when_announced(self, file: str, done: Done) -> None:
        """`done` is called with the error of the save, or after the registration."""

        def saved(error: OSError | None) -> None:
            if error is None:
                self.when_registered(lambda: done(None))
            else:
                done(error)

        self.when_saved(file, saved)

    def announced(self, file: str) -> Awaitable[OSError | None]:
        return self._future(partial(self.when_announced, file))

    def _future(self, request: Callable[[Done], None]) -> asyncio.Future[OSError | None]:
        future: asyncio.Future[OSError | None] = self.loop.create_future()
        request(lambda error: None if future.done() else future.set_result(error))
        return future

    async def save_all(self) -> None:
        """Save every table and wait for it."""
        await asyncio.gather(*map(self.saved, self._writers))

    async def finish(self) -> None:
        """Save every table so that its file holds all of it, and wait."""
        writers = self._writers.values()
        await asyncio.gather(*(self._future(writer.request_image) for writer in writers))
        for writer in writers:
            writer.cancel_rewrite()


def _tell(waiting: list[Done], error: OSError | None) -> None:
    for done in waiting:
        done(error)


def _ignore(error: OSError | None) -> None:
    """The failure is in the log, and the table stays to be saved."""


def _os_error(error: BaseException | None) -> OSError | None:
    if error is None or isinstance(error, OSError):
        return error
    log.error("a table could not be encoded", exc_info=error)
    return OSError(errno.EIO, f"{type(error).__name__} while encoding")
