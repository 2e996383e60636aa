"""A name server or broker as a child of `make up`: started, watched until ready, stopped with a signal.

Its lines are passed on with its name in front. It leads a session of its own, so that a Ctrl-C in the
terminal does not reach it and the order of stopping stays ours.
"""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE, STDOUT, Process

READY_TIMEOUT_S = 30
STOP_TIMEOUT_S = 30


class UpError(Exception):
    """What keeps the product from running, in a line that the user can act on."""


class Daemon:
    """A child process whose lines are passed on, and that says `ready on` when it is."""

    def __init__(self, name: str, process: Process) -> None:
        self.name = name
        self._process = process
        self._ready = asyncio.Event()
        self._lines = asyncio.create_task(self._pass_on_lines())

    @classmethod
    async def start(cls, name: str, *arguments: str) -> Daemon:
        command = (sys.executable, "-m", f"engine.{name}", *arguments)
        process = await asyncio.create_subprocess_exec(
            *command, stdout=PIPE, stderr=STDOUT, start_new_session=True
        )
        return cls(name, process)

    async def _pass_on_lines(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            text = line.decode(errors="replace").rstrip()
            print(f"{self.name:8}| {text}", flush=True)
            if "ready on" in text:
                self._ready.set()

    async def until_ready(self) -> None:
        ready = asyncio.create_task(self._ready.wait())
        done, _ = await asyncio.wait(
            {ready, self._lines}, timeout=READY_TIMEOUT_S, return_when=asyncio.FIRST_COMPLETED
        )
        ready.cancel()
        if not done:
            raise UpError(f"the {self.name} was not ready within {READY_TIMEOUT_S} s")
        if not self._ready.is_set():
            raise UpError(f"the {self.name} ended with exit code {await self._process.wait()}")

    async def until_ended(self) -> None:
        code = await self._process.wait()
        raise UpError(f"the {self.name} ended with exit code {code}")

    async def stop(self) -> None:
        if self._process.returncode is None:
            self._process.terminate()
        try:
            await asyncio.wait_for(self._process.wait(), STOP_TIMEOUT_S)
        except TimeoutError:
            print(f"the {self.name} did not stop within {STOP_TIMEOUT_S} s: killed", flush=True)
            self._process.kill()
        await self._lines
