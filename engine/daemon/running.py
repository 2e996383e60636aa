"""Runs a daemon until SIGTERM or SIGINT: uvloop where present, a ready line on stdout, a clean stop.

It may open as many descriptors as the hard limit allows: a soft limit of 1024 is a login shell's default, not
a choice about a server of 10,000 connections. A second signal while stopping ends the process at once, as an
operator who presses Ctrl-C twice means it. An error that ends a background task is logged at once, not when
the task is collected.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import logging
import os
import resource
import signal
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from engine.errors import BadInput, EngineError

log = logging.getLogger(__name__)


def start_task(work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
    task = asyncio.get_running_loop().create_task(work, name=name)
    task.add_done_callback(_report)
    return task


async def stop_tasks(*tasks: asyncio.Task[None] | None) -> None:
    running = [task for task in tasks if task is not None]
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)


def _report(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        log.critical("the task %s has ended", task.get_name(), exc_info=task.exception())


async def run_until_one_ends(*coroutines: Coroutine[Any, Any, None]) -> None:
    """All at once; when the first ends, the others are stopped, and what it raised is raised."""
    tasks = [asyncio.ensure_future(coroutine) for coroutine in coroutines]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Daemon(Protocol):
    async def start(self) -> str:
        """Start serving; the line to print when ready."""

    async def stop(self) -> None: ...


def run_daemon(make: Callable[[], Daemon]) -> int:
    """The process's exit code. `make` builds the daemon inside the running loop."""
    _raise_descriptor_limit()
    try:
        return _run(_main(make))
    except EngineError as error:
        log.error("cannot start: %s", error.text)
        print(f"error: {error.text}", flush=True)
        return 1


def _raise_descriptor_limit() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _run(main: Coroutine[Any, Any, int]) -> int:
    try:
        import uvloop
    except ImportError:
        return asyncio.run(main)
    return uvloop.run(main)


def _advice(error: OSError) -> str:
    text = f"{error.filename or 'start'}: {error.strerror or error}"
    is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return f"{text}. Free space on the disk of that file, then start again" if is_full else text


async def _main(make: Callable[[], Daemon]) -> int:
    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()

    def signalled() -> None:
        if stopping.is_set():
            os._exit(130)
        stopping.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, signalled)
    daemon = make()
    # Nothing that is read at the start is garbage. Searching it while it grows takes a third longer, and
    # again and again later: with 100,000 topics half a second each time, during which nobody is served.
    gc.disable()
    try:
        ready = await daemon.start()
    except OSError as error:
        # A folder that is missing, full or not ours: an operator's matter, not a defect.
        raise BadInput(_advice(error)) from error
    gc.enable()
    gc.freeze()
    log.info("%s", ready)
    print(ready, flush=True)
    await stopping.wait()
    log.info("stopping")
    await daemon.stop()
    log.info("stopped")
    return 0
