"""A slave asks its master, over the remoting port, for everything that is not in the log: periodically.

Every three seconds while that costs little, at least every sixty; at once when there is a new master, or
a message of a topic that this broker has no configuration of (`UnconfiguredTopics`).

The broker that answers at the master's address need not be the master: it may have come back with an
empty disk, and what it does not have would be deleted here. So it is asked last who it is (30010), and
its answers count only if it is the master whose log is copied. Loop thread only.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field

from engine.broker.failover.role import Role, RoleKind
from engine.broker.replication.metadata import (
    Metadata,
    Progress,
    ReplicaFiles,
    UnconfiguredTopics,
    apply_metadata,
    apply_progress,
)
from engine.broker.replication.metadata_io import read_master
from engine.broker.state.tables import Tables
from engine.daemon.running import start_task, stop_tasks
from engine.errors import EngineError, PeerError, Refused
from engine.protocol.bodies.brokers import GroupStatus
from engine.protocol.commands import Command
from engine.store.log.message_log import MessageLog
from engine.store.queues.message_queues import MessageQueues

log = logging.getLogger(__name__)

PERIOD_S = 3.0
FULL_PERIOD_S = 60.0
SHARE = 0.1
"""The largest share of the time that is spent on asking."""
_COVER_POLLS = 10
_COVER_POLL_S = 0.1
_SOON_S = 0.5

Ask = Callable[[str, Command], Awaitable[Command]]
"""Sends a request to an address, signed where brokers must sign."""


class _NotMaster(Refused):
    """Another broker answers at the master's address."""


@dataclass(eq=False, repr=False)
class MetadataSync:
    """`save` writes a state file; `is_own_topic`: this broker needs it, even if the master lacks it;
    `timers_read` takes the time up to which timers are delivered."""

    role: Role
    log: MessageLog
    queues: MessageQueues
    tables: Tables
    files: ReplicaFiles
    save: Callable[[str], None]
    is_own_topic: Callable[[str], bool]
    timers_read: Callable[[int], None]
    now_ms: Callable[[], int]
    ask: Ask
    is_master: Callable[[GroupStatus | None], bool]
    """Of this broker's group, by its status; None: it does not know groups."""
    clock_s: Callable[[], float]
    _woken: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _soonest_s: float = field(default=0.0, init=False)
    """Before this, unconfigured topics do not wake the round: asking has its share of the time."""
    _asking_s: float = field(default=0.0, init=False)
    """How long the last round asked. Waiting until the log covers the answer does not count: it costs the
    master nothing, and a busy slave would copy offsets every ten seconds instead of every three."""
    _staged: Progress | None = field(default=None, init=False)
    _failing: str | None = field(default=None, init=False)
    _task: asyncio.Task[None] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        ids_by_topic = self.queues.ids_by_topic
        self._unconfigured = UnconfiguredTopics(self.tables.topics, ids_by_topic, self.save, self.now_ms)

    def start(self) -> None:
        self._task = start_task(self._run(), "take the master's metadata")

    async def stop(self) -> None:
        await stop_tasks(self._task)

    def wake(self) -> None:
        """There may be another master: drop what the old one sent and is not in place yet."""
        self._staged = None
        self._woken.set()

    def saw(self, topic: str) -> None:
        """A queue of this topic was made."""
        if not self.role.is_master and self._unconfigured.note(topic):
            wait_s = max(0.0, self._soonest_s - self.clock_s())
            asyncio.get_running_loop().call_later(wait_s, self._woken.set)

    def take_over(self) -> None:
        """The last step before this broker is master."""
        self.settle()
        self._unconfigured.adopt()

    async def _run(self) -> None:
        while True:
            self._woken.clear()
            began_s, self._asking_s = self.clock_s(), 0.0
            is_done = await self.round()
            pause_s = min(max(PERIOD_S, self._asking_s / SHARE), FULL_PERIOD_S)
            self._soonest_s = began_s + self._asking_s / SHARE
            with suppress(TimeoutError):
                async with asyncio.timeout(pause_s if is_done or self._failing else _SOON_S):
                    await self._woken.wait()

    async def round(self) -> bool:
        """Ask for everything once. False: there is no master to ask, or it did not answer."""
        role, master = self.role, self.role.master_address
        if role.kind is not RoleKind.SLAVE or master is None:
            return False
        unconfigured = self._unconfigured.names()
        began_s = self.clock_s()
        try:
            metadata, progress = await self._read(master)
        except _NotMaster:  # the stream reports more, and a new slave does not know its group yet
            role.is_master_alive = False
            return False
        except EngineError as error:
            if self._failing != master:
                log.warning("cannot ask the master at %s for its state: %s", master, error.text)
            self._failing = master
            if role.master_address == master:
                role.is_master_alive = False
                self._unconfigured.adopt()
            return False
        finally:
            self._asking_s = self.clock_s() - began_s
        if role.kind is not RoleKind.SLAVE or role.master_address != master:
            return False
        if self._failing is not None:
            log.info("the master at %s answers", master)
        self._failing = None
        role.is_master_alive = True
        self._apply(metadata)
        self._unconfigured.forget(unconfigured)
        await self._stage(progress)
        return True

    async def _read(self, master: str) -> tuple[Metadata, Progress]:
        async def ask(command: Command) -> Command:
            answer = await self.ask(master, command)
            if answer.code != 0:
                raise PeerError(f"{answer.code}: {answer.remark}", code=answer.code)
            return answer

        tables = self.tables
        metadata, progress, status = await read_master(ask, tables.topics.version, tables.groups.version)
        if not self.is_master(status):
            raise _NotMaster("it is not the master of this group")
        return metadata, progress

    # -- taking ---------------------------------------------------------------------------------------------

    def _apply(self, metadata: Metadata) -> None:
        applied = apply_metadata(metadata, self.tables, self.is_own_topic)
        for topic in applied.removed_topics:
            log.info("the master has no topic %s any more", topic)
            self.queues.delete_topic(topic)
        for file in applied.files:
            self.save(file)

    async def _stage(self, progress: Progress) -> None:
        """An older progress goes on waiting: the end of a busy master's log always moves on."""
        self.settle()
        if self._staged is None:
            self._staged = progress
        for _ in range(_COVER_POLLS):
            if self._staged is None or self.settle():
                return
            await asyncio.sleep(_COVER_POLL_S)

    def settle(self) -> bool:
        """Apply the waiting progress, if the log has reached its end."""
        progress = self._staged
        if progress is None or self.log.max_offset < progress.log_end:
            return False
        self._staged = None
        for file in apply_progress(progress, self.tables):
            self.save(file)
        if progress.timer_read_ms is not None:
            self.timers_read(progress.timer_read_ms)
        for name, data in progress.files.items():
            file_of = self.files.get(name)
            if file_of is not None:
                file_of.adopt(data)
        return True
