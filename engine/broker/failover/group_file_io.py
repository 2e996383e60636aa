"""The group's state on disk: changed one at a time, and stored before anybody can see the change.

Loop thread; the writing happens in another. A broker that never had a group has no file.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path

import orjson

from engine.broker.failover.group_state import GROUP_FILE, GroupState, from_json, remember_promise, to_json
from engine.durable_file import read_durable, write_durable
from engine.errors import BadInput, CorruptRecord


class GroupFile:
    def __init__(self, directory: Path, threads: Executor) -> None:
        self._path = directory / GROUP_FILE
        self._threads = threads
        self._turn = asyncio.Lock()
        self.state: GroupState | None = None
        """None: no group."""

    @property
    def known(self) -> GroupState:
        """The state; of whoever has no group, that of nobody."""
        return self.state or GroupState()

    def load(self) -> GroupState | None:
        """Raises BadInput when there is a file and it cannot be believed. Its .bak may know of fewer
        promises: it counts only when a crash between the two renames left no other file."""
        content, damage = read_durable(self._path, _parse)
        if damage is not None:
            raise BadInput(
                f"{self._path}: {damage}; this member must not guess what it promised: restore the file, or "
                "move it and its .bak away and join the group anew with an empty store"
            )
        self.state = content
        return content

    async def change(self, step: Callable[[GroupState], GroupState]) -> GroupState:
        """Apply a transition; what it returns is on disk when this returns. Raises what the step raises, and
        OSError with the old state kept. A caller that is cancelled does not stop a write that has begun: the
        next one must not overtake it, or the file would forget a promise."""
        return await asyncio.shield(asyncio.ensure_future(self._change(step)))

    async def _change(self, step: Callable[[GroupState], GroupState]) -> GroupState:
        async with self._turn:
            old = self.known
            new = remember_promise(step(old))
            if new is not old:
                data = orjson.dumps(to_json(new))
                loop = asyncio.get_running_loop()
                await loop.run_in_executor(self._threads, write_durable, self._path, data)
            self.state = new
            return new


def _parse(data: bytes) -> GroupState:
    try:
        return from_json(orjson.loads(data))
    except CorruptRecord as error:
        raise ValueError(error.text) from None
