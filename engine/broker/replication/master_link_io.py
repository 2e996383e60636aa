"""A slave's end of the stream: finds where its history diverges from its master's, cuts, and copies from
there.

`MasterLink` speaks our stream, `PlainMasterLink` RocketMQ's own, with a master that has nothing better.

The order matters. The log is cut before the history drops the cut part; an epoch entry is on disk before
an offset at or behind its start is acknowledged; an in-sync set is on disk before it is confirmed. A cut
below the confirmed offset is refused: it would lose acknowledged messages (docs/adr/0008, rules 6, 9).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import orjson
from msgspec import Struct, ValidationError, convert, field
from msgspec.structs import replace

from engine.broker.failover.group_file_io import GroupFile
from engine.broker.failover.group_state import GroupState, InSyncSet, StaleEpoch, follow, take_set, take_start
from engine.broker.replication.acknowledgement import ConfirmedOffset
from engine.broker.replication.epochs import History, check_history, divergence, reached
from engine.broker.replication.ha_port_io import Stream
from engine.errors import ProtocolError, StoreError
from engine.protocol.layouts import ha_frames
from engine.store.message_store import MessageStore

log = logging.getLogger(__name__)

SILENCE_S = 20.0
"""haHousekeepingInterval."""
HEARTBEAT_S = 1.0
PLAIN_HEARTBEAT_S = 5.0


class HistoriesDiffer(StoreError):
    """This member's log cannot continue the master's without an operator's decision."""


class MasterHello(Struct, frozen=True, rename="camel"):
    """The master's part of the handshake. The name "reign" is that of release 0.1.0."""

    member_id: int = field(name="member")
    epoch: int
    term_id: int = field(name="reign")
    history: History
    min_offset: int
    max_offset: int
    copied_from: int
    has_tail: bool = False
    """Its log has the tail that this member sent of its own."""
    start_offset: int | None = None
    needed_from: int | None = None
    """None, both: a master of the first release."""


def read_hello(packet: dict[str, Any]) -> MasterHello:
    try:
        hello = convert(packet, MasterHello)
    except ValidationError as error:
        raise ProtocolError(f"the master's handshake cannot be read: {error}") from None
    check_history(hello.history)
    return hello


class _SetFrame(Struct, frozen=True, rename="camel"):
    in_sync: InSyncSet
    members: dict[int, str]


@dataclass(frozen=True, slots=True)
class LogCopy:
    """This member's copy of its master's log and the group file, with what belongs to copying: `cut` drops
    the log from an offset on, `appended` is called when it grew."""

    store: MessageStore
    file: GroupFile
    confirmed: ConfirmedOffset
    cut: Callable[[int], Awaitable[None]]
    appended: Callable[[], None]
    now_ms: Callable[[], int]


class _Link:
    """What both streams have."""

    def __init__(self, stream: Stream, copy: LogCopy) -> None:
        self._reader, self._writer = stream
        self._store, self._file, self._confirmed = copy.store, copy.file, copy.confirmed
        self._cut_log, self._appended, self._now_ms = copy.cut, copy.appended, copy.now_ms
        self.master_end = 0
        self.read_ms = self.written_ms = 0
        """When the stream was last read and written."""

    async def run(self) -> None:
        """Until the master is gone or breaks the rules; the caller closes the stream."""
        reporting = asyncio.ensure_future(self._report_forever())
        try:
            self.report_end()
            while True:
                await self._take()
        finally:
            reporting.cancel()

    def report_end(self) -> None:
        """Report to the master how far this log is safe. Also called when a flush has finished, which may be
        after the stream ended."""
        raise NotImplementedError

    async def _report_forever(self) -> None:
        raise NotImplementedError

    async def _take(self) -> None:
        raise NotImplementedError

    def _append(self, body: bytes, offset: int) -> None:
        end = self._store.log.max_offset
        if not self._store.replica.append(body, offset):
            raise StoreError(
                f"the master sent commit-log offset {offset}, but this log ends at {end} or takes no writes"
            )
        self.master_end = offset + len(body)
        self._appended()

    def _write(self, report: bytes) -> None:
        """Nothing on a closed stream: it must not raise in the flush that calls this."""
        if not self._writer.is_closing():
            self.written_ms = self._now_ms()
            self._writer.write(report)


class MasterLink(_Link):
    def __init__(self, stream: Stream, copy: LogCopy, hello: MasterHello) -> None:
        super().__init__(stream, copy)
        self._master = hello
        self._reported = self._reported_start = -1
        self.may_delete_to = 0
        """Where the master's log starts: on this member's disk, too."""
        self.decides_starts = hello.start_offset is not None
        """False behind a master of the first release: its log may start later because its disk was full."""
        self.has_joined = False

    async def run(self) -> None:
        hello = self._master
        await self._file.change(lambda state: follow(state, hello.epoch, hello.term_id, hello.member_id))
        await self._join_histories(hello)
        await self._take_start(hello.start_offset, hello.needed_from)
        if not self.decides_starts:
            self.may_delete_to = hello.min_offset
        self.has_joined = True
        await super().run()

    async def _join_histories(self, hello: MasterHello) -> None:
        state = self._state
        is_empty = self._store.log.max_offset == self._store.log.min_offset
        point = divergence(state.history, self._store.log.max_offset, hello.history, hello.max_offset)
        if is_empty:
            if not self._store.replica.append(b"", hello.min_offset):
                raise StoreError(f"the empty store cannot begin at commit-log offset {hello.min_offset}")
        elif not point.shared:
            await self._join_tails(hello, state)
        elif point.offset < self._store.log.max_offset:
            await self._cut(point.offset, state)
        if self._store.log.max_offset < hello.min_offset:
            raise HistoriesDiffer(
                f"the master's log begins at {hello.min_offset}, this one ends at "
                f"{self._store.log.max_offset}: empty this store to copy the master's"
            )
        if is_empty:
            state = replace(state, copied_from=hello.copied_from, caught_up_at=hello.max_offset)
        # Another master may never have had the end of the first one's log.
        caught_up_at = min(state.caught_up_at, hello.max_offset)
        await self._reach(() if is_empty else point.shared, state.copied_from, caught_up_at)

    async def _join_tails(self, hello: MasterHello, state: GroupState) -> None:
        """Both copied the same plain master: this log continues where its last complete record ends."""
        if state.history or not hello.has_tail:
            raise HistoriesDiffer(
                "this store has messages that are not of its master's group: empty it to copy the master's"
            )
        if (end := self._store.replica.whole_end()) < self._store.log.max_offset:
            await self._cut_log(end)
        log.warning("this log up to %d is the master's, by its last bytes", end)

    async def _cut(self, offset: int, state: GroupState) -> None:
        end = self._store.log.max_offset
        if offset < state.confirmed_offset:
            raise HistoriesDiffer(
                f"the master does not have what this member knows to be confirmed: [{offset}, "
                f"{state.confirmed_offset}). Nothing is cut; `promote --unclean` decides who is right"
            )
        if offset < (start := self._store.log.min_offset):
            raise HistoriesDiffer(
                f"this log starts at {start} and parts from the master's at {offset} already: nothing of it "
                "is the master's. Empty this store to copy the master's log"
            )
        log.warning("%d bytes of another term are cut: the log ends at %d now", end - offset, offset)
        await self._cut_log(offset)

    async def _reach(self, shared: History, copied_from: int, caught_up_at: int) -> None:
        """Store the entries that this log has reached. Before any acknowledgement."""
        history = reached(shared, self._master.history, self._store.replica.durable_end)

        def step(state: GroupState) -> GroupState:
            return replace(state, history=history, copied_from=copied_from, caught_up_at=caught_up_at)

        if step(self._state) != self._state:
            await self._file.change(step)

    async def _take(self) -> None:
        async with asyncio.timeout(SILENCE_S):
            head = ha_frames.decode_head(await self._reader.readexactly(ha_frames.HEAD_SIZE))
            body = await self._reader.readexactly(head.body_size)
        self.read_ms = self._now_ms()
        epoch = self._master.epoch
        if head.epoch != epoch or self._state.epoch != epoch:
            raise StaleEpoch(f"a stream of epoch {head.epoch}, while epoch {self._state.epoch} is promised")
        if head.kind == ha_frames.SET:
            await self._take_set(body)
        elif head.kind == ha_frames.START:
            content = orjson.loads(body)
            await self._take_start(int(content["start"]), int(content["needed"]))
        else:
            self._take_log(head, body)

    def _take_log(self, head: ha_frames.Head, body: bytes) -> None:
        self.master_end = head.offset
        if body:
            self._append(body, head.offset)
        self._confirmed.advance(min(head.confirm_offset, self._store.log.max_offset))
        if body and not self._store.replica.is_sync_flush:
            self.report_end()

    async def _take_set(self, body: bytes) -> None:
        try:
            frame = convert(orjson.loads(body), _SetFrame, str_keys=True)
        except ValueError as error:
            raise ProtocolError(f"the master's in-sync set cannot be read: {error}") from None
        epoch = self._master.epoch
        await self._file.change(lambda state: take_set(state, epoch, frame.in_sync, frame.members))
        self._write(ha_frames.encode_report(ha_frames.SET, frame.in_sync.version))

    async def _take_start(self, start_offset: int | None, needed_from: int | None) -> None:
        """On disk before anything is deleted up to it."""
        epoch = self._master.epoch
        await self._file.change(lambda state: take_start(state, epoch, start_offset, needed_from))
        self.may_delete_to = start_offset or 0

    def report_end(self) -> None:
        end = self._store.replica.durable_end
        if end != self._reported and self._has_reached_all(end):
            self._reported = end
            self._write(ha_frames.encode_report(ha_frames.LOG, end))
            self._report_start()

    def _report_start(self) -> None:
        """Behind a log end, which is the first report that a master expects."""
        start = self._store.log.min_offset
        if start != self._reported_start and self.decides_starts:
            self._reported_start = start
            self._write(ha_frames.encode_report(ha_frames.START, start))

    def _has_reached_all(self, log_end: int) -> bool:
        """While an entry waits to be stored, `_report_forever` stores it and reports then."""
        coming = self._master.history[len(self._state.history) :]
        return not coming or coming[0].start_offset > log_end

    async def _report_forever(self) -> None:
        while True:
            end = self._store.replica.durable_end
            if not self._has_reached_all(end):
                state = self._state
                await self._reach(state.history, state.copied_from, state.caught_up_at)
                self.report_end()
            if self._reported == self._store.replica.durable_end:
                self._reported = -1  # a heartbeat repeats the last report
            self.report_end()
            await self._writer.drain()
            is_behind = len(self._state.history) < len(self._master.history)
            await asyncio.sleep(HEARTBEAT_S / 4 if is_behind else HEARTBEAT_S)

    @property
    def _state(self) -> GroupState:
        return self._file.known


class PlainMasterLink(_Link):
    async def _take(self) -> None:
        async with asyncio.timeout(SILENCE_S):
            offset, size = ha_frames.decode_push(await self._reader.readexactly(ha_frames.PUSH_SIZE))
            body = await self._reader.readexactly(size)
        self.read_ms = self._now_ms()
        if not body:
            return
        if self._store.log.max_offset == 0:
            # On disk before the first byte: a copy without its beginning must never become master.
            await self._file.change(lambda state: replace(state, copied_from=offset))
        self._append(body, offset)
        if not self._store.replica.is_sync_flush:
            self.report_end()

    def report_end(self) -> None:
        self._write(ha_frames.encode_ack(self._store.replica.durable_end))

    async def _report_forever(self) -> None:
        while True:
            await asyncio.sleep(PLAIN_HEARTBEAT_S)
            self.report_end()
            await self._writer.drain()
