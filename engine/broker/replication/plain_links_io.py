"""RocketMQ's own stream (protocol §8.1), both ends: no secret, no epoch, no history.

A slave says how far its log goes and gets bytes from there on; one that says 0 gets the master's last file
only. Whoever reaches the port can speak it, so a master of ours serves it only when told to
(signalboxAllowPlainSlaves), and a slave of ours speaks it only to a master that knows nothing better.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from engine.broker.replication.handshake_io import send_bytes
from engine.daemon.background_tasks import run_until_one_ends
from engine.errors import ProtocolError, StoreError
from engine.protocol.layouts.ha_frames import (
    ACK_SIZE,
    PUSH_SIZE,
    decode_ack,
    decode_push,
    encode_ack,
    encode_push,
)
from engine.store.message_store import MessageStore

TRANSFER_BYTES = 32 * 1024
"""haTransferBatchSize."""
HEARTBEAT_S = 5.0
SILENCE_S = 20.0


class PlainSlaveLink:
    """A master's end."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        store: MessageStore,
        acknowledged: Callable[[int], None],
    ) -> None:
        self._reader, self._writer = reader, writer
        self._store = store
        self._acknowledged = acknowledged
        self._wanted = asyncio.Event()
        self.sent_offset = -1
        self.acknowledged_offset = 0

    def wake(self) -> None:
        self._wanted.set()

    async def run(self, first: bytes) -> None:
        self.sent_offset = self._start(decode_ack(first))
        await run_until_one_ends(self._hear(), self._send())

    def _start(self, offset: int) -> int:
        store = self._store
        end = store.log.max_offset
        if offset == 0:
            start = end - end % store.options.mapped_file_size_commit_log
            return max(start, store.log.min_offset)
        self._check(offset)
        return offset

    def _check(self, offset: int) -> None:
        store = self._store
        if not store.log.min_offset <= offset <= store.log.max_offset:
            raise ProtocolError(f"a slave claims commit-log offset {offset}, which this log does not have")
        self.acknowledged_offset = offset
        self._acknowledged(offset)

    async def _hear(self) -> None:
        while True:
            async with asyncio.timeout(SILENCE_S):
                offset = decode_ack(await self._reader.readexactly(ACK_SIZE))
            if offset:
                self._check(offset)

    async def _send(self) -> None:
        spoke_at = asyncio.get_running_loop().time()
        while True:
            self._wanted.clear()
            chunk = self._store.replica.read(self.sent_offset, TRANSFER_BYTES)
            if not chunk and await self._rest(spoke_at):
                continue
            spoke_at = asyncio.get_running_loop().time()
            send_bytes(self._writer, encode_push(self.sent_offset, len(chunk)) + chunk)
            self.sent_offset += len(chunk)
            await self._writer.drain()

    async def _rest(self, spoke_at: float) -> bool:
        """Whether there may be more to send before it is time to say that this master lives."""
        try:
            async with asyncio.timeout_at(spoke_at + HEARTBEAT_S):
                await self._wanted.wait()
        except TimeoutError:
            return False
        return True


class PlainMasterLink:
    """A slave's end."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        store: MessageStore,
        *,
        appended: Callable[[], None],
        begins_at: Callable[[int], Awaitable[object]],
        now_ms: Callable[[], int],
    ) -> None:
        self._reader, self._writer = reader, writer
        self._store = store
        self._appended = appended
        self._begins_at = begins_at
        """Told where an empty store's copy begins: later than the master's own beginning, as a rule."""
        self._now_ms = now_ms
        self.master_end = 0
        self.heard_ms = self.said_ms = 0
        """When the stream was last read and written."""

    async def run(self) -> None:
        self.say()
        saying = asyncio.ensure_future(self._say_forever())
        try:
            while True:
                await self._take()
        finally:
            saying.cancel()

    async def _take(self) -> None:
        async with asyncio.timeout(SILENCE_S):
            offset, size = decode_push(await self._reader.readexactly(PUSH_SIZE))
            body = await self._reader.readexactly(size)
        self.heard_ms = self._now_ms()
        if not body:
            return
        if self._store.log.max_offset == 0:
            await self._begins_at(offset)
        if not self._store.replica.append(body, offset):
            raise StoreError(
                f"the master sends offset {offset}, this log ends at {self._store.log.max_offset}"
            )
        self.master_end = offset + size
        self._appended()
        if not self._store.options.is_sync_flush:
            self.say()

    def say(self) -> None:
        """Also called when a flush ends, which may be after the stream did."""
        if not self._writer.is_closing():
            self.said_ms = self._now_ms()
            self._writer.write(encode_ack(self._store.replica.durable_end))

    async def _say_forever(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_S)
            self.say()
            await self._writer.drain()
