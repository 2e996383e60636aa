"""A master's end of one slave's stream: sends the log, hears how far the slave has come. Lives for one reign.

What may be sent is whatever is written, flushed here or not: the slave answers for its own disk. Sent bytes
are never taken back, so a master that loses its tail must begin a new reign (docs/adr/0008, rule 8).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import orjson

from engine.broker.failover.group_state import InSyncSet, set_to_json
from engine.broker.replication.handshake_io import send_bytes
from engine.daemon.background_tasks import run_until_one_ends
from engine.errors import ProtocolError
from engine.protocol.layouts.ha_frames import (
    LOG,
    REPORT_SIZE,
    SET,
    START,
    Head,
    decode_report,
    encode_head,
)
from engine.store.message_store import MessageStore

CHUNK_BYTES = 512 * 1024
HEARTBEAT_S = 1.0
SILENCE_S = 20.0
"""haHousekeepingInterval: a slave that says nothing for so long is gone."""
_SEND_BUFFER_BYTES = 2 << 20


@dataclass(frozen=True, slots=True)
class Reign:
    epoch: int
    reign: int
    start_offset: int


@dataclass(frozen=True, slots=True)
class LinkEvents:
    """What the master wants to hear of a slave."""

    acknowledged: Callable[[int, int], None]
    stored: Callable[[int, int], None]
    set_to_tell: Callable[[], tuple[InSyncSet, Mapping[int, str]] | None]
    confirmed: Callable[[], int]
    starts_at: Callable[[int, int], None]
    start_to_tell: Callable[[], tuple[int, int] | None]
    """Where the group's log starts, and from where on it is needed; None for a slave that cannot be told."""


class SlaveLink:
    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        member_id: int,
        address: str,
        reign: Reign,
        store: MessageStore,
        events: LinkEvents,
    ) -> None:
        self._reader, self._writer = reader, writer
        self.member_id, self.address = member_id, address
        self._reign = reign
        self._store = store
        self._events = events
        self._wanted = asyncio.Event()
        self._told_version = 0
        self._told_confirmed = -1
        self._told_start: tuple[int, int] | None = None
        self._is_closed = False
        self._spoke_at = 0.0
        self.sent_offset = -1
        self.acknowledged_offset = 0
        writer.transport.set_write_buffer_limits(high=_SEND_BUFFER_BYTES)

    def wake(self) -> None:
        """There is more to send: bytes, a set, a confirmed offset."""
        self._wanted.set()

    def close(self) -> None:
        self._is_closed = True
        self._writer.transport.abort()

    async def run(self) -> None:
        """Until the slave is gone or breaks the rules; the caller closes the stream."""
        self.sent_offset = await self._start()
        await run_until_one_ends(self._hear(), self._send())

    async def _start(self) -> int:
        kind, offset = await self._word()
        if kind != LOG or not self._store.log.min_offset <= offset <= self._store.log.max_offset:
            raise ProtocolError(f"member {self.member_id} asked for commit-log offset {offset}")
        self._note(offset)
        return offset

    async def _hear(self) -> None:
        while True:
            kind, value = await self._word()
            if self._is_closed:
                return
            if kind == SET:
                self._events.stored(self.member_id, value)
            elif kind == START:
                self._events.starts_at(self.member_id, value)
            else:
                self._note(value)

    def _note(self, log_end: int) -> None:
        if log_end > self._store.log.max_offset:
            raise ProtocolError(f"member {self.member_id} claims offset {log_end}, behind the log's end")
        self.acknowledged_offset = log_end
        self._events.acknowledged(self.member_id, log_end)

    async def _word(self) -> tuple[int, int]:
        async with asyncio.timeout(SILENCE_S):
            return decode_report(await self._reader.readexactly(REPORT_SIZE))

    async def _send(self) -> None:
        while True:
            self._wanted.clear()
            self._send_set()
            self._send_start()
            chunk = await self._next_chunk()
            if chunk or self._told_confirmed != self._events.confirmed():
                self._write(LOG, chunk)
                self.sent_offset += len(chunk)
                await self._writer.drain()
            else:
                await self._rest()

    async def _rest(self) -> None:
        """Something is said every second, however often others wake this link for nothing."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout_at(self._spoke_at + HEARTBEAT_S):
                await self._wanted.wait()
        except TimeoutError:
            pass
        if loop.time() >= self._spoke_at + HEARTBEAT_S:
            self._write(LOG, b"")

    async def _next_chunk(self) -> bytes:
        store, offset = self._store, self.sent_offset
        if store.replica.is_hot(offset):
            return store.replica.read(offset, CHUNK_BYTES)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(None, store.replica.read, offset, CHUNK_BYTES)

    def _send_set(self) -> None:
        told = self._events.set_to_tell()
        if told is not None and told[0].version > self._told_version:
            in_sync, members = told
            self._told_version = in_sync.version
            content = {"inSync": set_to_json(in_sync), "members": {str(k): v for k, v in members.items()}}
            self._write(SET, orjson.dumps(content))

    def _send_start(self) -> None:
        told = self._events.start_to_tell()
        if told is not None and told != self._told_start:
            self._told_start = told
            self._write(START, orjson.dumps({"start": told[0], "needed": told[1]}))

    def _write(self, kind: int, body: bytes) -> None:
        reign = self._reign
        self._told_confirmed = confirmed = self._events.confirmed()
        head = Head(kind, len(body), self.sent_offset, reign.epoch, reign.start_offset, confirmed)
        self._spoke_at = asyncio.get_running_loop().time()
        send_bytes(self._writer, encode_head(head))
        if body:
            self._writer.write(body)
