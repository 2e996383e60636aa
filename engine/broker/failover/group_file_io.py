"""The group's state on disk: one change at a time, stored before any other code can see it.

Loop thread; the file is written in another thread. A broker that never had a group has no file.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from engine.broker.failover.group_state import GROUP_FILE, GroupState, from_json, remember_promise, to_json
from engine.durable_file import read_durable, write_durable
from engine.errors import BadInput, CorruptRecord


@dataclass(eq=False, repr=False)
class GroupFile:
    directory: Path
    threads: Executor
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    state: GroupState | None = field(default=None, init=False)
    """None: no group."""

    def __post_init__(self) -> None:
        self._path = self.directory / GROUP_FILE

    @property
    def known(self) -> GroupState:
        """The state; without a group an empty one."""
        return self.state or GroupState()

    def load(self) -> GroupState | None:
        """Raises BadInput when the file is unreadable. Its .bak may hold fewer promises: it counts only
        when a crash between the two renames left no other file."""
        content, damage = read_durable(self._path, _parse)
        if damage is not None:
            raise BadInput(
                f"{self._path}: {damage}; this member must not guess what it promised: restore the file, or "
                "move it and its .bak away and join the group anew with an empty store"
            )
        self.state = content
        return content

    async def change(self, step: Callable[[GroupState], GroupState]) -> GroupState:
        """Apply a transition; the new state is on disk when this returns. Raises what the step raises, and
        OSError with the old state kept. Cancelling the caller does not stop a write that has begun: the next
        one must not overtake it, or the file would lose a promise."""
        return await asyncio.shield(asyncio.ensure_future(self._change(step)))

    async def _change(self, step: Callable[[GroupState], GroupState]) -> GroupState:
        async with self._turn:
            old = self.known
            new = remember_promise(step(old))
            if new is not old:
                data = orjson.dumps(to_json(new))
                loop = asyncio.get_running_loop()
                await loop.run_in_executor(self.threads, write_durable, self._path, data)
            self.state = new
            return new


def _parse(data: bytes) -> GroupState:
    try:
        return from_json(orjson.loads(data))
    except CorruptRecord as error:
        raise ValueError(error.text) from None
