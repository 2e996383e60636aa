"""A slave asks its master, over the remoting port, for everything that is not in the log: by the clock.

Every three seconds while that costs little, at least every sixty; at once when there is a new master, or a
message of a topic that this broker has not heard of (strangers.py). The
requests are RocketMQ's (21, 201, 43, 45, 402, 61, 60, and 28 for where the log ends), so any RocketMQ can be
the master; what it does not know is left out. A master of ours also has 30020.

Whoever answers at the master's address need not be the master: it may have come back with an empty disk, and
what it does not have would be deleted here. So it is asked last who it is (30010), and what it said counts
only if it is the master whose log is copied. Loop thread only.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import orjson

from engine.broker.clients.queue_assignment import RequestModes
from engine.broker.failover.role import Role, RoleKind
from engine.broker.replication.metadata import (
    Metadata,
    Progress,
    apply_metadata,
    apply_progress,
)
from engine.broker.replication.replica_files import ReplicaFiles
from engine.broker.replication.table_reads_io import read_groups, read_topics
from engine.broker.replication.unconfigured_topics import Strangers
from engine.broker.state.tables import Tables
from engine.daemon.background_tasks import start_task, stop_tasks
from engine.errors import EngineError, PeerError, Refused
from engine.protocol.bodies.basics import KVTable
from engine.protocol.bodies.brokers import GroupStatus, ReplicaState
from engine.protocol.bodies.groups import MessageRequestModeSerializeWrapper
from engine.protocol.bodies.offsets import ConsumerOffsetSerializeWrapper, DelayOffsetSerializeWrapper
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Command
from engine.protocol.layouts.checkpoints import decode_timer_check
from engine.store.message_store import MessageStore

log = logging.getLogger(__name__)

PERIOD_S = 3.0
FULL_PERIOD_S = 60.0
SHARE = 0.1
"""Of the time, at most, is spent on asking."""
_COVER_POLLS = 10
_COVER_POLL_S = 0.1
_SOON_S = 0.5

Ask = Callable[[str, Command], Awaitable[Command]]
"""Sends a request to an address, signed where brokers must sign."""
_T = TypeVar("_T")


class _NotMaster(Refused):
    """Somebody else answers at the master's address."""


@dataclass(frozen=True, slots=True)
class SyncTargets:
    """`save` writes a state file; `is_own_topic`: this broker needs it, whatever the master has;
    `drop_queues` forgets a topic; `timers_read` says until when timers are delivered."""

    tables: Tables
    modes: RequestModes
    files: ReplicaFiles
    save: Callable[[str], None]
    is_own_topic: Callable[[str], bool]
    drop_queues: Callable[[str], object]
    timers_read: Callable[[int], None]
    now_ms: Callable[[], int]


class MetadataSync:
    def __init__(
        self,
        role: Role,
        store: MessageStore,
        targets: SyncTargets,
        *,
        ask: Ask,
        is_master: Callable[[GroupStatus | None], bool],
        clock_s: Callable[[], float],
    ) -> None:
        self._is_master = is_master
        """Of this broker's group, by what it says of itself; None: it does not know groups."""
        self._role = role
        self._store = store
        self._targets = targets
        self._ask = ask
        self._clock_s = clock_s
        self._woken = asyncio.Event()
        self._strangers = Strangers(
            targets.tables.topics, store.queues.ids_by_topic, save=targets.save, now_ms=targets.now_ms
        )
        self._soonest_s = 0.0
        """Before this, strangers do not have the master asked again: asking has its share of the time."""
        self._asking_s = 0.0
        """How long the last round asked. Waiting until the log covers the answer does not count: it costs the
        master nothing, and a busy slave would copy offsets every ten seconds instead of every three."""
        self._staged: Progress | None = None
        self._failing: str | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = start_task(self._run(), "take the master's metadata")

    async def stop(self) -> None:
        await stop_tasks(self._task)

    def wake(self) -> None:
        """There may be another master: what an old one said and is not in place counts no more."""
        self._staged = None
        self._woken.set()

    def saw(self, topic: str) -> None:
        """A queue of this topic was made."""
        if not self._role.is_master and self._strangers.note(topic):
            wait_s = max(0.0, self._soonest_s - self._clock_s())
            asyncio.get_running_loop().call_later(wait_s, self._woken.set)

    def take_over(self) -> None:
        """The last thing before this broker is master."""
        self.settle()
        self._strangers.adopt()

    async def _run(self) -> None:
        while True:
            self._woken.clear()
            began_s, self._asking_s = self._clock_s(), 0.0
            is_done = await self.round()
            pause_s = min(max(PERIOD_S, self._asking_s / SHARE), FULL_PERIOD_S)
            self._soonest_s = began_s + self._asking_s / SHARE
            try:
                async with asyncio.timeout(pause_s if is_done or self._failing else _SOON_S):
                    await self._woken.wait()
            except TimeoutError:
                pass

    async def round(self) -> bool:
        """Everything once. False: there is no master to ask, or it did not answer."""
        role, master = self._role, self._role.master_address
        if role.kind is not RoleKind.SLAVE or master is None:
            return False
        strangers = self._strangers.names()
        began_s = self._clock_s()
        try:
            metadata, progress = await self._read(master)
        except _NotMaster:  # its stream says more, and a new slave has not heard of its group yet
            role.is_master_alive = False
            return False
        except EngineError as error:
            if self._failing != master:
                log.warning("the master at %s cannot be asked: %s", master, error.text)
            self._failing = master
            if role.master_address == master:
                role.is_master_alive = False
                self._strangers.adopt()
            return False
        finally:
            self._asking_s = self._clock_s() - began_s
        if role.kind is not RoleKind.SLAVE or role.master_address != master:
            return False
        if self._failing is not None:
            log.info("the master at %s answers", master)
        self._failing = None
        role.is_master_alive = True
        self._apply(metadata)
        self._strangers.forget(strangers)
        await self._stage(progress)
        return True

    # -- asking ---------------------------------------------------------------------------------------------

    async def _read(self, master: str) -> tuple[Metadata, Progress]:
        async def ask(command: Command) -> Command:
            answer = await self._ask(master, command)
            if answer.code != 0:
                raise PeerError(f"{answer.code}: {answer.remark}", code=answer.code)
            return answer

        tables = self._targets.tables
        topics = await read_topics(ask, tables.topics.version)
        groups = await read_groups(ask, tables.groups.version)
        # The order matters: what is done with is asked before the state of the log that it rests on.
        offsets = await _decoded(
            (await ask(Command(RequestCode.GET_ALL_CONSUMER_OFFSET))).body,
            ConsumerOffsetSerializeWrapper.decode,
        )
        delays = DelayOffsetSerializeWrapper.decode(
            (await ask(Command(RequestCode.GET_ALL_DELAY_OFFSET))).body or b"{}"
        )
        modes = await _known(ask, RequestCode.GET_ALL_MESSAGE_REQUEST_MODE)
        counts = await _known(ask, RequestCode.GET_TIMER_METRICS)
        check = await _known(ask, RequestCode.GET_TIMER_CHECK_POINT)
        state = await self._read_state(ask)
        who = await _known(ask, RequestCode.SIGNALBOX_GROUP_STATUS)
        if not self._is_master(None if who is None else GroupStatus.decode(who)):
            raise _NotMaster("it is not the master of this group")
        metadata = Metadata(
            topics,
            groups,
            None if modes is None else MessageRequestModeSerializeWrapper.decode(modes),
            None if counts is None else _json_object(counts),
        )
        read_ms = None if check is None else decode_timer_check(check).last_read_time_ms
        return metadata, Progress(state.commit_log_max_offset, delays, read_ms, offsets, state.contents())

    async def _read_state(self, ask: Callable[[Command], Awaitable[Command]]) -> ReplicaState:
        own = await _known(ask, RequestCode.SIGNALBOX_REPLICA_STATE)
        if own is not None:
            return ReplicaState.decode(own)
        info = KVTable.decode((await ask(Command(RequestCode.GET_BROKER_RUNTIME_INFO))).body).table
        return ReplicaState(int(info.get("commitLogMaxOffset", "0")))

    # -- taking ---------------------------------------------------------------------------------------------

    def _apply(self, metadata: Metadata) -> None:
        targets = self._targets
        applied = apply_metadata(metadata, targets.tables, targets.modes, targets.is_own_topic)
        for topic in applied.removed_topics:
            log.info("the master has no topic %s any more", topic)
            targets.drop_queues(topic)
        for file in applied.files:
            targets.save(file)

    async def _stage(self, progress: Progress) -> None:
        """The oldest that waits goes on waiting: a busy master's log never ends where it ended."""
        self.settle()
        if self._staged is None:
            self._staged = progress
        for _ in range(_COVER_POLLS):
            if self._staged is None or self.settle():
                return
            await asyncio.sleep(_COVER_POLL_S)

    def settle(self) -> bool:
        """Take what waits, if the log has come that far."""
        progress, targets = self._staged, self._targets
        if progress is None or self._store.log.max_offset < progress.log_end:
            return False
        self._staged = None
        for file in apply_progress(progress, targets.tables):
            targets.save(file)
        if progress.timer_read_ms is not None:
            targets.timers_read(progress.timer_read_ms)
        for name, data in progress.files.items():
            file_of = targets.files.get(name)
            if file_of is not None:
                file_of.adopt(data)
        return True


async def _known(ask: Callable[[Command], Awaitable[Command]], code: RequestCode) -> bytes | None:
    """The answer's body; None when this master does not know the question."""
    try:
        return bytes((await ask(Command(code))).body)
    except PeerError as error:
        if error.code in (ResponseCode.REQUEST_CODE_NOT_SUPPORTED, ResponseCode.SYSTEM_ERROR):
            return None
        raise


async def _decoded(body: bytes | bytearray | memoryview, decode: Callable[[bytes], _T]) -> _T:
    """A hundred thousand offsets are read in a thread."""
    return await asyncio.to_thread(decode, bytes(body))


def _json_object(body: bytes) -> dict[str, object] | None:
    try:
        found = orjson.loads(body or b"null")
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None
