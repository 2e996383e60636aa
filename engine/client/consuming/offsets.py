"""Offsets: requests for those of a queue and of a group on it, a consumer's own, and where a group begins.

Requests go to the queue's master. While no master can be reached, its slaves answer and keep what is
committed; `QueueOffsets.commit` then returns False, because the master must get the offset when it is back.

A consumer's offsets are kept at the brokers (clustering) or in its own file (broadcasting). Both stores
hold a table in memory that consuming updates at once, and write what changed now and then and at the end. An
offset is the next message to be consumed. A write that fails leaves the change marked, so that the next one
carries it. The file is RocketMQ's: ~/.rocketmq_offsets/<client id>/<group>/offsets.json with a .bak beside
it; it is read and written in a thread. Loop thread only.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Collection, Iterable
from pathlib import Path

from engine.client.instance.answers import outcomes_of, unless_absent
from engine.client.instance.instance import ClientInstance
from engine.durable_file import read_durable, write_durable
from engine.errors import BadInput, EngineError, PeerUnreachable
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.bodies.clients import ConsumeFromWhere
from engine.protocol.bodies.offsets import OffsetSerializeWrapper
from engine.protocol.bodies.routes import MASTER_ID
from engine.protocol.codes import RequestCode
from engine.protocol.commands import Command
from engine.protocol.headers.offsets import (
    GetEarliestMsgStoretimeRequest,
    GetEarliestMsgStoretimeResponse,
    GetMaxOffsetRequest,
    GetMinOffsetRequest,
    OffsetResponse,
    QueryConsumerOffsetRequest,
    SearchOffsetRequest,
    UpdateConsumerOffsetRequest,
)
from engine.protocol.names import is_retry_topic
from engine.protocol.wire import Header


class QueueOffsets:
    """One method per request code."""

    def __init__(self, instance: ClientInstance) -> None:
        self._instance = instance

    async def max_offset(self, queue: MessageQueue) -> int:
        """The offset that the next message will get."""
        header = GetMaxOffsetRequest(queue.topic, queue.queue_id)
        return await self._offset(queue, RequestCode.GET_MAX_OFFSET, header)

    async def min_offset(self, queue: MessageQueue) -> int:
        """The offset of the oldest message that is still kept."""
        header = GetMinOffsetRequest(queue.topic, queue.queue_id)
        return await self._offset(queue, RequestCode.GET_MIN_OFFSET, header)

    async def offset_at(self, queue: MessageQueue, timestamp_ms: int, *, upper: bool = False) -> int:
        """The first message stored at or after that time; with `upper`, the last one at or before it."""
        boundary = "UPPER" if upper else "LOWER"
        header = SearchOffsetRequest(queue.topic, queue.queue_id, timestamp_ms, boundary)
        return await self._offset(queue, RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, header)

    async def earliest_store_time(self, queue: MessageQueue) -> int | None:
        """When the oldest kept message was stored; None when there is none."""
        header = GetEarliestMsgStoretimeRequest(queue.topic, queue.queue_id)
        answer, _ = await self._ask_members(queue, RequestCode.GET_EARLIEST_MSG_STORETIME, header)
        timestamp_ms = GetEarliestMsgStoretimeResponse.decode(answer.fields).timestamp
        return timestamp_ms if timestamp_ms >= 0 else None

    async def committed(self, group: str, queue: MessageQueue, *, zero_if_young: bool = True) -> int | None:
        """What the group has committed; None when nothing.

        With `zero_if_young` the broker answers 0 for a queue that still has its first messages in memory.
        """
        header = QueryConsumerOffsetRequest(group, queue.topic, queue.queue_id, zero_if_young)
        offset = await unless_absent(self._offset(queue, RequestCode.QUERY_CONSUMER_OFFSET, header))
        return offset if offset is not None and offset >= 0 else None

    async def commit(self, group: str, queue: MessageQueue, offset: int) -> bool:
        """Whether the master has it; False: only a slave, and only until the master is back."""
        header = UpdateConsumerOffsetRequest(group, queue.topic, queue.queue_id, offset)
        _, broker_id = await self._ask_members(queue, RequestCode.UPDATE_CONSUMER_OFFSET, header)
        return broker_id == MASTER_ID

    async def _offset(self, queue: MessageQueue, code: RequestCode, header: Header) -> int:
        answer, _ = await self._ask_members(queue, code, header)
        return OffsetResponse.decode(answer.fields).offset

    async def _ask_members(
        self, queue: MessageQueue, code: RequestCode, header: Header
    ) -> tuple[Command, int]:
        """The answer, and the id of the broker that gave it: the first that can be reached."""
        members = await self._instance.find_members(queue, with_master=True)
        *first, last = sorted(members)
        for broker_id in first:
            with contextlib.suppress(PeerUnreachable):
                return await self._instance.call(members[broker_id], code, header), broker_id
        return await self._instance.call(members[last], code, header), last


log = logging.getLogger(__name__)

HALF_AN_HOUR_MS = 30 * 60 * 1000

_FROM_LAST = {
    ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET,
    ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET_AND_FROM_MIN_WHEN_BOOT_FIRST,
    ConsumeFromWhere.CONSUME_FROM_MAX_OFFSET,
}


class OffsetStore:
    """The table in memory; subclasses load and persist it."""

    def __init__(self) -> None:
        self._table: dict[MessageQueue, int] = {}
        self._changed: set[MessageQueue] = set()

    async def load(self, queue: MessageQueue) -> int | None:
        """The stored offset, which is then also in memory; None when there is none."""
        raise NotImplementedError

    async def persist(self, queues: Iterable[MessageQueue] | None = None) -> None:
        """Write what changed, of these queues or of all."""
        raise NotImplementedError

    def get(self, queue: MessageQueue) -> int | None:
        """The offset in memory."""
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


class RemoteOffsets(OffsetStore):
    """Kept by the brokers: shared by the members of a group."""

    def __init__(self, group: str, queue_offsets: QueueOffsets) -> None:
        super().__init__()
        self._group = group
        self._queue_offsets = queue_offsets

    async def load(self, queue: MessageQueue) -> int | None:
        offset = await self._queue_offsets.committed(self._group, queue)
        if offset is not None:
            # An offset that was set during the request is newer than the answer.
            self._table.setdefault(queue, offset)
        return offset

    async def persist(self, queues: Iterable[MessageQueue] | None = None) -> None:
        """Of each topic at each broker one queue is committed first, then the others together: Apache's
        broker creates a group's table at its first commit, and loses one of two concurrent first commits."""
        wanted = self._changed if queues is None else self._changed.intersection(queues)
        first: dict[tuple[str, str], MessageQueue] = {}
        for queue in sorted(wanted):
            first.setdefault((queue.topic, queue.broker_name), queue)
        await self._commit(first.values())
        await self._commit(wanted.difference(first.values()))

    async def _commit(self, queues: Collection[MessageQueue]) -> None:
        batch = [(queue, self._table[queue]) for queue in sorted(queues) if queue in self._table]
        calls = [self._queue_offsets.commit(self._group, queue, offset) for queue, offset in batch]
        for (queue, offset), outcome in zip(batch, await outcomes_of(calls), strict=True):
            if isinstance(outcome, EngineError):
                log.warning("offset %d of %s is not committed yet: %s", offset, queue, outcome.text)
            elif outcome and self._table.get(queue) == offset:
                # What only a slave has taken stays marked, until the master is back and takes it.
                self._changed.discard(queue)


class LocalOffsets(OffsetStore):
    """Kept in a file: the offsets of one broadcasting consumer."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
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

    def forget(self, queue: MessageQueue) -> None:
        """Kept: the queue may come back, and its offset is stored nowhere else."""

    async def persist(self, queues: Iterable[MessageQueue] | None = None) -> None:
        if not self._changed:
            return
        changed, self._changed = self._changed, set()
        data = OffsetSerializeWrapper(dict(self._table)).encode()
        try:
            await asyncio.to_thread(write_durable, self._path, data)
        except OSError:
            self._changed |= changed
            raise


def _parse(data: bytes) -> dict[MessageQueue, int]:
    try:
        return dict(OffsetSerializeWrapper.decode(data).offset_table)
    except EngineError as error:
        raise ValueError(error.text) from None


def local_offsets_path(folder: str | None, client_id: str, group: str) -> Path:
    root = Path(folder) if folder else Path.home() / ".rocketmq_offsets"
    return root / client_id / group / "offsets.json"


class StartOffsets:
    """`of(queue)`: the offset at which a group begins: its stored one, else by `ConsumeFromWhere`.

    The rules are RocketMQ's: a broker answers 0 for a queue that still has its first messages, retry queues
    begin at 0. An error means
    that the start is not known yet.
    """

    def __init__(
        self,
        store: OffsetStore,
        queue_offsets: QueueOffsets,
        from_where: ConsumeFromWhere,
        timestamp_ms: int,
    ) -> None:
        self._store = store
        self._queue_offsets = queue_offsets
        self._from_where = from_where
        self._timestamp_ms = timestamp_ms

    async def of(self, queue: MessageQueue) -> int:
        is_retry = is_retry_topic(queue.topic)
        starts_last = self._from_where in _FROM_LAST and not is_retry
        # The end is requested first: messages that arrive during the second request must not be skipped.
        end = await self._queue_offsets.max_offset(queue) if starts_last else 0
        stored = await self._store.load(queue)
        if stored is not None:
            return stored
        if self._from_where is not ConsumeFromWhere.CONSUME_FROM_TIMESTAMP:
            # A retry queue holds what this group sent back: all of it must be consumed.
            return end
        if is_retry:
            return await self._queue_offsets.max_offset(queue)
        return await self._queue_offsets.offset_at(queue, self._timestamp_ms)
