"""Where a consumer keeps how far it is: at the brokers (clustering) or in a file of its own (broadcasting).

Both hold a table in memory that consuming updates at once, and write what changed now and then and at the
end. An offset is the next message to be consumed. A write that fails leaves the change marked, so that the
next one carries it. Loop thread only; the file is read and written in a thread.

The file is RocketMQ's: ~/.rocketmq_offsets/<client id>/<group>/offsets.json with a .bak beside it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Protocol

from engine.client.consuming.queue_offsets import QueueOffsets
from engine.durable_file import read_durable, write_durable
from engine.errors import BadInput, EngineError
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.bodies.offsets import OffsetSerializeWrapper

log = logging.getLogger(__name__)


class OffsetStore(Protocol):
    async def load(self, queue: MessageQueue) -> int | None:
        """The stored offset, which is then also in memory; None when there is none."""

    def get(self, queue: MessageQueue) -> int | None:
        """The offset in memory."""

    def update(self, queue: MessageQueue, offset: int) -> None: ...

    def forget(self, queue: MessageQueue) -> None: ...

    def all(self) -> dict[MessageQueue, int]: ...

    async def persist(self, queues: Iterable[MessageQueue] | None = None) -> None:
        """Write what changed, of these queues or of all."""


class RemoteOffsets:
    """Kept by the brokers: shared by the members of a group."""

    def __init__(self, group: str, queue_offsets: QueueOffsets) -> None:
        self._group = group
        self._queue_offsets = queue_offsets
        self._table: dict[MessageQueue, int] = {}
        self._changed: set[MessageQueue] = set()

    async def load(self, queue: MessageQueue) -> int | None:
        offset = await self._queue_offsets.committed(self._group, queue)
        if offset is not None:
            # What was set while the broker was asked is newer than its answer.
            self._table.setdefault(queue, offset)
        return offset

    def get(self, queue: MessageQueue) -> int | None:
        return self._table.get(queue)

    def update(self, queue: MessageQueue, offset: int) -> None:
        if self._table.get(queue) != offset:
            self._table[queue] = offset
            self._changed.add(queue)

    def forget(self, queue: MessageQueue) -> None:
        self._table.pop(queue, None)
        self._changed.discard(queue)

    def all(self) -> dict[MessageQueue, int]:
        return dict(self._table)

    async def persist(self, queues: Iterable[MessageQueue] | None = None) -> None:
        """Of a topic at a broker one queue goes ahead, then the others together: Apache's broker makes a
        group's table at its first commit, and of two first ones at once it forgets one."""
        wanted = self._changed if queues is None else self._changed.intersection(queues)
        ahead: dict[tuple[str, str], MessageQueue] = {}
        for queue in sorted(wanted):
            ahead.setdefault((queue.topic, queue.broker_name), queue)
        first = set(ahead.values())
        await self._commit(first)
        await self._commit(wanted - first)

    async def _commit(self, queues: Collection[MessageQueue]) -> None:
        batch = [(queue, self._table[queue]) for queue in sorted(queues) if queue in self._table]
        calls = [self._queue_offsets.commit(self._group, queue, offset) for queue, offset in batch]
        for (queue, offset), outcome in zip(
            batch, await asyncio.gather(*calls, return_exceptions=True), strict=True
        ):
            if isinstance(outcome, EngineError):
                log.warning("offset %d of %s is not committed yet: %s", offset, queue, outcome.text)
            elif isinstance(outcome, BaseException):
                raise outcome
            elif outcome and self._table.get(queue) == offset:
                # What only a slave has taken is told again, until the master is back and takes it.
                self._changed.discard(queue)


class LocalOffsets:
    """Kept in a file: a broadcasting consumer's own business."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._table: dict[MessageQueue, int] = {}
        self._is_changed = False
        self._loading: asyncio.Task[None] | None = None

    async def load(self, queue: MessageQueue) -> int | None:
        if self._loading is None:
            self._loading = asyncio.get_running_loop().create_task(self._read())
        await asyncio.shield(self._loading)
        return self._table.get(queue)

    async def _read(self) -> None:
        table, damage = await asyncio.to_thread(read_durable, self._path, _parse)
        if damage is not None:
            log.warning("%s: %s", self._path, damage)
        if table is None and damage is not None:
            raise BadInput(
                f"the offsets in {self._path} and its .bak cannot be read; move them away to start anew"
            )
        self._table = (table or {}) | self._table

    def get(self, queue: MessageQueue) -> int | None:
        return self._table.get(queue)

    def update(self, queue: MessageQueue, offset: int) -> None:
        if self._table.get(queue) != offset:
            self._table[queue] = offset
            self._is_changed = True

    def forget(self, queue: MessageQueue) -> None:
        """Kept: the queue may come back, and nobody else remembers for us."""

    def all(self) -> dict[MessageQueue, int]:
        return dict(self._table)

    async def persist(self, queues: Iterable[MessageQueue] | None = None) -> None:
        if self._is_changed:
            self._is_changed = False
            data = OffsetSerializeWrapper(dict(self._table)).encode()
            await asyncio.to_thread(write_durable, self._path, data)


def _parse(data: bytes) -> dict[MessageQueue, int]:
    try:
        return dict(OffsetSerializeWrapper.decode(data).offset_table)
    except EngineError as error:
        raise ValueError(error.text) from None


def local_offsets_path(folder: str | None, client_id: str, group: str) -> Path:
    root = Path(folder) if folder else Path.home() / ".rocketmq_offsets"
    return root / client_id / group / "offsets.json"
