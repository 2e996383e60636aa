"""A slave's end of the stream: finds where its history parts from its master's, cuts, and copies from there.

Order is everything here. The log is cut before the history forgets the cut part; an epoch entry is on disk
before an offset at or behind its start is acknowledged; an in-sync set is on disk before it is confirmed. A
cut below the confirmed offset is refused: it would lose what was acknowledged (docs/adr/0008, rules 6, 9).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

import orjson

from engine.broker.failover.group_file_io import GroupFile
from engine.broker.failover.group_state import (
    GroupState,
    StaleEpoch,
    follow,
    set_from_json,
    take_set,
    take_start,
)
from engine.broker.replication.confirmed_offset import ConfirmedOffset
from engine.broker.replication.epochs import Epoch, History, check_history, parting, reached
from engine.errors import ProtocolError, StoreError
from engine.protocol.layouts.ha_frames import (
    HEAD_SIZE,
    LOG,
    SET,
    START,
    Head,
    decode_head,
    encode_report,
)
from engine.store.message_store import MessageStore

log = logging.getLogger(__name__)

SILENCE_S = 20.0
"""haHousekeepingInterval."""
HEARTBEAT_S = 1.0


class HistoriesDiffer(StoreError):
    """This member's log cannot be joined to the master's without a person's decision."""


@dataclass(frozen=True, slots=True)
class MasterHello:
    member_id: int
    epoch: int
    reign: int
    history: History
    min_offset: int
    max_offset: int
    copied_from: int
    has_tail: bool
    """Its log has what this member showed of its own."""
    start_offset: int | None = None
    needed_from: int | None = None
    """None, both: a master of the first release."""


def read_hello(packet: dict[str, Any]) -> MasterHello:
    try:
        history = check_history([Epoch(*map(int, entry)) for entry in packet["history"]])
        keys = ("member", "epoch", "reign", "minOffset", "maxOffset", "copiedFrom")
        member, epoch, reign, low, high, copied = (int(packet[key]) for key in keys)
        start, needed = (_optional(packet.get(key)) for key in ("startOffset", "neededFrom"))
    except (KeyError, TypeError, ValueError) as error:
        raise ProtocolError(f"the master's handshake cannot be read: {error}") from None
    has_tail = packet.get("hasTail") is True
    return MasterHello(member, epoch, reign, history, low, high, copied, has_tail, start, needed)


def _optional(value: Any) -> int | None:
    return None if value is None else int(value)


class MasterLink:
    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        store: MessageStore,
        file: GroupFile,
        confirmed: ConfirmedOffset,
        *,
        truncate: Callable[[int], Awaitable[None]],
        appended: Callable[[], None],
        now_ms: Callable[[], int],
    ) -> None:
        self._reader, self._writer = reader, writer
        self._store = store
        self._file = file
        self._confirmed = confirmed
        self._truncate = truncate
        self._appended = appended
        self._master: MasterHello | None = None
        self._now_ms = now_ms
        self._said = self._said_start = -1
        self.may_delete_to = 0
        """Where the master's log starts: on this member's disk, too."""
        self.decides_starts = True
        """False behind a master of the first release: where its log starts may be the work of a full disk."""
        self.has_joined = False
        self.master_end = 0
        self.heard_ms = self.said_ms = 0
        """When the stream was last read and written."""

    async def run(self, hello: MasterHello) -> None:
        """Until the master is gone or breaks the rules; the caller closes the stream."""
        self._master = hello
        await self._file.change(lambda state: follow(state, hello.epoch, hello.reign, hello.member_id))
        await self._join_histories(hello)
        await self._take_start(hello.epoch, hello.start_offset, hello.needed_from)
        if hello.start_offset is None:
            self.may_delete_to, self.decides_starts = hello.min_offset, False
        self.has_joined = True
        saying = asyncio.ensure_future(self._say_forever())
        try:
            self.say()
            while True:
                await self._take(hello)
        finally:
            saying.cancel()

    async def _join_histories(self, hello: MasterHello) -> None:
        store, state = self._store, self._state
        is_empty = store.log.max_offset == store.log.min_offset
        point = parting(state.history, store.log.max_offset, hello.history, hello.max_offset)
        if is_empty:
            self._begin_at(hello.min_offset)
        elif not point.shared:
            await self._join_tails(hello, state)
        elif point.offset < store.log.max_offset:
            await self._cut(point.offset, state)
        if store.log.max_offset < hello.min_offset:
            raise HistoriesDiffer(
                f"the master's log begins at {hello.min_offset}, this one ends at "
                f"{store.log.max_offset}: empty this store to copy the master's"
            )
        if is_empty:
            state = replace(state, copied_from=hello.copied_from, whole_at=hello.max_offset)
        # Another master may never have had the end of the first one's log.
        whole_at = min(state.whole_at, hello.max_offset)
        await self._reach(() if is_empty else point.shared, state.copied_from, whole_at)

    async def _join_tails(self, hello: MasterHello, state: GroupState) -> None:
        """Both followed one plain master: the log goes on where its last whole record ends."""
        if state.history or not hello.has_tail:
            raise HistoriesDiffer(
                "this store has messages that are not of its master's group: empty it to copy the master's"
            )
        if (whole := self._store.replica.whole_end()) < self._store.log.max_offset:
            await self._truncate(whole)
        log.warning("this log up to %d is the master's, by its last bytes", whole)

    def _begin_at(self, min_offset: int) -> None:
        if not self._store.replica.append(b"", min_offset):
            raise StoreError(f"the empty store cannot begin at commit-log offset {min_offset}")

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
        log.warning("%d bytes of another reign are cut: the log ends at %d now", end - offset, offset)
        await self._truncate(offset)

    async def _reach(self, shared: History, copied_from: int, whole_at: int) -> None:
        """Store the entries that this log has come to. Before any acknowledgement."""
        assert self._master is not None
        history = reached(shared, self._master.history, self._store.replica.durable_end)

        def step(state: GroupState) -> GroupState:
            return replace(state, history=history, copied_from=copied_from, whole_at=whole_at)

        if step(self._state) != self._state:
            await self._file.change(step)

    async def _take(self, hello: MasterHello) -> None:
        async with asyncio.timeout(SILENCE_S):
            head = decode_head(await self._reader.readexactly(HEAD_SIZE))
            body = await self._reader.readexactly(head.body_size)
        self.heard_ms = self._now_ms()
        if head.epoch != hello.epoch or self._state.epoch != hello.epoch:
            raise StaleEpoch(f"a stream of epoch {head.epoch}, while epoch {self._state.epoch} is promised")
        if head.kind == SET:
            await self._take_set(hello.epoch, body)
        elif head.kind == START:
            content = orjson.loads(body)
            await self._take_start(hello.epoch, int(content["start"]), int(content["needed"]))
        else:
            self._take_log(head, body)

    def _take_log(self, head: Head, body: bytes) -> None:
        store = self._store
        if body:
            if not store.replica.append(body, head.offset):
                raise StoreError(f"offset {head.offset} does not continue this log, or it takes no writes")
            self._appended()
        self.master_end = head.offset + len(body)
        self._confirmed.advance(min(head.confirm_offset, store.log.max_offset))
        if body and not store.options.is_sync_flush:
            self.say()

    async def _take_set(self, epoch: int, body: bytes) -> None:
        content = orjson.loads(body)
        in_sync = set_from_json(content["inSync"])
        members = {int(member): str(address) for member, address in content["members"].items()}
        await self._file.change(lambda state: take_set(state, epoch, in_sync, members))
        self._speak(encode_report(SET, in_sync.version))

    async def _take_start(self, epoch: int, start_offset: int | None, needed_from: int | None) -> None:
        """On disk before anything is deleted up to it."""
        await self._file.change(lambda state: take_start(state, epoch, start_offset, needed_from))
        self.may_delete_to = start_offset or 0

    def say(self) -> None:
        """Tell the master how far this log is safe, and where it starts. Also called when a flush has
        finished."""
        end = self._store.replica.durable_end
        if end != self._said and self._has_reached_all(end):
            self._said, self.said_ms = end, self._now_ms()
            self._speak(encode_report(LOG, end))
            self._say_start()

    def _say_start(self) -> None:
        """Behind a log end, which is the first word that a master expects."""
        assert self._master is not None
        start = self._store.log.min_offset
        if start != self._said_start and self._master.start_offset is not None:
            self._said_start = start
            self._speak(encode_report(START, start))

    def _speak(self, word: bytes) -> None:
        """A flush may end after the stream did: whoever calls then must not be told by an exception."""
        if not self._writer.is_closing():
            self._writer.write(word)

    def _has_reached_all(self, log_end: int) -> bool:
        """While an entry waits to be stored, `_say_forever` stores it and speaks then."""
        assert self._master is not None
        known = len(self._state.history)
        coming = self._master.history[known:]
        return not coming or coming[0].start_offset > log_end

    async def _say_forever(self) -> None:
        while True:
            if not self._has_reached_all(self._store.replica.durable_end):
                state = self._state
                await self._reach(state.history, state.copied_from, state.whole_at)
                self.say()
            self._said = -1 if self._said == self._store.replica.durable_end else self._said
            self.say()
            await self._writer.drain()
            await asyncio.sleep(HEARTBEAT_S / 4 if self._is_behind() else HEARTBEAT_S)

    def _is_behind(self) -> bool:
        assert self._master is not None
        return len(self._state.history) < len(self._master.history)

    @property
    def _state(self) -> GroupState:
        return self._file.known
