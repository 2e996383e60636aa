"""A master's end of a slave's stream: sends the log and reads how far the slave has copied it. Lives for
one term.

`SlaveLink` speaks our stream, `PlainSlaveLink` RocketMQ's own (protocol §8.1): no secret, no epoch, no
history. A plain slave sends its log end and gets bytes from there on; one that sends 0 gets the master's
last file only. Any client that reaches the port can speak it, so a master of ours serves it only with
signalboxAllowPlainSlaves.

All written bytes are sent, flushed here or not: the slave reports what its own disk has. Sent bytes are
never taken back, so a master that loses its tail must begin a new term (docs/adr/0008, rule 8).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Protocol

import orjson
from msgspec import to_builtins

from engine.broker.failover.group_state import GroupState, InSyncSet
from engine.broker.replication.ha_port_io import Peer, Stream
from engine.daemon.running import run_until_one_ends
from engine.errors import ProtocolError
from engine.protocol.layouts import ha_frames
from engine.store.log.message_log import MessageLog
from engine.store.log.replica_log import ReplicaLog

CHUNK_BYTES = 512 * 1024
HEARTBEAT_S = 1.0
SILENCE_S = 20.0
"""haHousekeepingInterval: a slave that sends nothing for so long is gone."""
_SEND_BUFFER_BYTES = 2 << 20
PLAIN_CHUNK_BYTES = 32 * 1024
"""haTransferBatchSize."""
PLAIN_HEARTBEAT_S = 5.0


class Master(Protocol):
    """What a link asks of the master, and what it reports to it."""

    def acknowledged(self, member_id: int, log_end: int) -> None: ...

    def stored(self, member_id: int, version: int) -> None: ...

    def starts_at(self, member_id: int, log_start: int) -> None: ...

    def confirmed_end(self) -> int: ...

    def set_to_send(self) -> tuple[InSyncSet, Mapping[int, str]] | None: ...

    def start_to_send(self) -> tuple[int, int]:
        """Where the group's log starts, and from where on it is needed."""


class _Link:
    """What both streams have."""

    def __init__(self, stream: Stream, address: str, log: MessageLog, replica: ReplicaLog) -> None:
        self._stream = stream
        self._log = log
        self._replica = replica
        self._wanted = asyncio.Event()
        self._sent_at = 0.0
        self.address = address
        self.sent_offset = -1
        self.acknowledged_offset = 0

    def wake(self) -> None:
        """There is more to send: bytes, a set, a confirmed offset."""
        self._wanted.set()

    def _has(self, offset: int) -> bool:
        return self._log.min_offset <= offset <= self._log.max_offset

    async def _read(self, size: int) -> bytes:
        async with asyncio.timeout(SILENCE_S):
            return await self._stream.reader.readexactly(size)

    def _send_bytes(self, data: bytes) -> None:
        self._sent_at = asyncio.get_running_loop().time()
        self._stream.send(data)

    async def _is_heartbeat_due(self, heartbeat_s: float) -> bool:
        """Waits until there is more to send, or a heartbeat is due: however often others wake this link
        without need."""
        due = self._sent_at + heartbeat_s
        with suppress(TimeoutError):
            async with asyncio.timeout_at(due):
                await self._wanted.wait()
        return asyncio.get_running_loop().time() >= due


class SlaveLink(_Link):
    def __init__(
        self,
        stream: Stream,
        peer: Peer,
        state: GroupState,
        log: MessageLog,
        replica: ReplicaLog,
        master: Master,
    ) -> None:
        super().__init__(stream, peer.address, log, replica)
        self.member_id = peer.member_id
        self._reads_starts = peer.log_start is not None
        """A slave of the first release does not know frames about log starts."""
        self._epoch, self._epoch_start = state.epoch, state.history[-1].start_offset
        self._master = master
        self._sent_version = 0
        self._sent_confirmed = -1
        self._sent_start: tuple[int, int] | None = None
        self._is_closed = False
        stream.writer.transport.set_write_buffer_limits(high=_SEND_BUFFER_BYTES)

    def close(self) -> None:
        self._is_closed = True
        self._stream.writer.transport.abort()

    async def run(self) -> None:
        """Until the slave is gone or breaks the rules; the caller closes the stream."""
        kind, offset = await self._read_report()
        if kind != ha_frames.LOG or not self._has(offset):
            raise ProtocolError(f"member {self.member_id} asked for commit-log offset {offset}")
        self._note(offset)
        self.sent_offset = offset
        await run_until_one_ends(self._receive(), self._send())

    async def _receive(self) -> None:
        while True:
            kind, value = await self._read_report()
            if self._is_closed:
                return
            if kind == ha_frames.SET:
                self._master.stored(self.member_id, value)
            elif kind == ha_frames.START:
                self._master.starts_at(self.member_id, value)
            else:
                self._note(value)

    def _note(self, log_end: int) -> None:
        if log_end > self._log.max_offset:
            raise ProtocolError(f"member {self.member_id} claims offset {log_end}, behind the log's end")
        self.acknowledged_offset = log_end
        self._master.acknowledged(self.member_id, log_end)

    async def _read_report(self) -> tuple[int, int]:
        return ha_frames.decode_report(await self._read(ha_frames.REPORT_SIZE))

    async def _send(self) -> None:
        while True:
            self._wanted.clear()
            self._send_set()
            self._send_start()
            chunk = await self._next_chunk()
            if chunk or self._sent_confirmed != self._master.confirmed_end():
                self._write(ha_frames.LOG, chunk)
                self.sent_offset += len(chunk)
                await self._stream.writer.drain()
            elif await self._is_heartbeat_due(HEARTBEAT_S):
                self._write(ha_frames.LOG, b"")

    async def _next_chunk(self) -> bytes:
        replica, offset = self._replica, self.sent_offset
        if self._log.is_hot(offset):
            return replica.read(offset, CHUNK_BYTES)
        return await asyncio.to_thread(replica.read, offset, CHUNK_BYTES)

    def _send_set(self) -> None:
        latest = self._master.set_to_send()
        if latest is not None and latest[0].version > self._sent_version:
            in_sync, members = latest
            self._sent_version = in_sync.version
            content = {"inSync": in_sync, "members": members}
            self._write(ha_frames.SET, orjson.dumps(to_builtins(content, str_keys=True)))

    def _send_start(self) -> None:
        latest = self._master.start_to_send() if self._reads_starts else None
        if latest is not None and latest != self._sent_start:
            self._sent_start = latest
            self._write(ha_frames.START, orjson.dumps({"start": latest[0], "needed": latest[1]}))

    def _write(self, kind: int, body: bytes) -> None:
        self._sent_confirmed = confirmed = self._master.confirmed_end()
        head = ha_frames.Head(kind, len(body), self.sent_offset, self._epoch, self._epoch_start, confirmed)
        self._send_bytes(ha_frames.encode_head(head))
        if body:
            self._stream.writer.write(body)


class PlainSlaveLink(_Link):
    def __init__(
        self,
        stream: Stream,
        address: str,
        log: MessageLog,
        replica: ReplicaLog,
        acknowledged: Callable[[int], None],
    ) -> None:
        super().__init__(stream, address, log, replica)
        self._acknowledged = acknowledged

    async def run(self, first: bytes) -> None:
        offset = ha_frames.decode_ack(first)
        if offset == 0:
            end = self._log.max_offset
            start = end - end % self._replica.segment_size
            self.sent_offset = max(start, self._log.min_offset)
        else:
            self._note(offset)
            self.sent_offset = offset
        await run_until_one_ends(self._receive(), self._send())

    def _note(self, offset: int) -> None:
        if not self._has(offset):
            raise ProtocolError(f"a slave claims commit-log offset {offset}, which this log does not have")
        self.acknowledged_offset = offset
        self._acknowledged(offset)

    async def _receive(self) -> None:
        while True:
            if offset := ha_frames.decode_ack(await self._read(ha_frames.ACK_SIZE)):
                self._note(offset)

    async def _send(self) -> None:
        self._sent_at = asyncio.get_running_loop().time()
        while True:
            self._wanted.clear()
            chunk = self._replica.read(self.sent_offset, PLAIN_CHUNK_BYTES)
            if not chunk and not await self._is_heartbeat_due(PLAIN_HEARTBEAT_S):
                continue
            self._send_bytes(ha_frames.encode_push(self.sent_offset, len(chunk)) + chunk)
            self.sent_offset += len(chunk)
            await self._stream.writer.drain()
