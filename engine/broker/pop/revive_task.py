"""Revives messages whose pop was not acknowledged in time: one task that runs ten times a second.

A message is appended to the group's pop retry topic with its reconsume count raised, and acknowledged in the
revive log in the same turn of the loop: a crash in between loses nothing, and the next start completes it
(`UnfinishedPop`). A failed append is retried later. Messages of a deleted topic are dropped, and those of a
deleted group that may not be created by itself.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from engine.broker.delivery.deliverer_io import Deliverer
from engine.broker.groups.group_table import GroupAdmission
from engine.broker.pop.checkpoints import Checkpoints, OpenCheckpoint
from engine.broker.pop.pop_requests import comes_back_in, retry_draft
from engine.broker.pop.revive_log import ReviveLog
from engine.broker.settings.options import LiveOptions
from engine.broker.topics.topic_table import TopicTable, retry_topic_config
from engine.daemon.running import start_task, stop_tasks
from engine.protocol.records import decode_record
from engine.store.log.message_log import MessageLog
from engine.store.queues.message_queues import MessageQueues
from engine.store.recovery.record_repair import RecordRepair
from engine.store.results import Damage, PutStatus

log = logging.getLogger(__name__)

POLL_S = 0.1
_SLICE = 64


@dataclass(eq=False, repr=False)
class Revival:
    log: MessageLog
    queues: MessageQueues
    repairs: RecordRepair
    topics: TopicTable
    groups: GroupAdmission
    checkpoints: Checkpoints
    revive_log: ReviveLog
    deliverer: Deliverer
    live: LiveOptions
    now_ms: Callable[[], int]
    appended: Callable[[], None]
    topics_saved: Callable[[], Awaitable[object]]
    _task: asyncio.Task[None] | None = field(default=None, init=False)

    def start(self) -> None:
        self._task = start_task(self._revive_forever(), "revive popped messages")

    async def stop(self) -> None:
        await stop_tasks(self._task)

    async def _revive_forever(self) -> None:
        while True:
            has_more = await self.revive_some()
            await asyncio.sleep(0 if has_more else POLL_S)

    async def revive_some(self) -> bool:
        """Revive a slice of the due checkpoints; returns whether there may be more."""
        self.revive_log.catch_up(self.now_ms())
        due = self.checkpoints.take_due(self.now_ms(), _SLICE)
        for entry in due:
            if not await self._revive(entry):
                self.checkpoints.put_off(entry, self.now_ms())
        self.revive_log.commit_offsets()
        return len(due) == _SLICE

    async def _revive(self, entry: OpenCheckpoint) -> bool:
        """False: the store accepts nothing at the moment."""
        if entry.topic not in self.topics or not self._has_group(entry.group):
            return self._close(entry, list(entry.unacked))
        target = comes_back_in(entry.topic, entry.group, is_v2=self.live.enable_retry_topic_v2)
        await self._create_topic(target)
        for queue_offset, raw in (await self._read(entry)).items():
            # It may have been acknowledged while it was read.
            is_open = queue_offset in entry.unacked
            if is_open and raw is None and not await self._skip_damaged(entry, queue_offset):
                return False
            if queue_offset in entry.unacked and not self._bring_back(entry, queue_offset, raw, target):
                return False
        return True

    async def _skip_damaged(self, entry: OpenCheckpoint, queue_offset: int) -> bool:
        """The queue unit is wrong, or retention has deleted the message, or it is damaged: then it is listed,
        and revived after its repair."""
        queue, damaged = (entry.topic, entry.queue_id, queue_offset), self.deliverer.damaged
        if self.repairs.mend_queue(*queue):
            return False
        for unit in self.queues.units(*queue, 1):
            place = unit.commit_log_offset, unit.size
            if damaged.is_in_log(place):
                damage = Damage(*queue, *place, self.repairs.damage_at(*place).file)
                return await damaged.skip(damage, entry.group, "pop")
        return True

    def _has_group(self, name: str) -> bool:
        """A group that was created by its first pop may be unknown after a crash or on a new master, whose
        table is older than the log: it is created again, and nothing is lost."""
        return self.groups.find(name, self.now_ms()) is not None

    async def _create_topic(self, topic: str) -> None:
        if topic not in self.topics:
            self.topics.create_unsaved(retry_topic_config(topic), self.now_ms())
        if topic in self.topics.unsaved:
            await self.topics_saved()

    async def _read(self, entry: OpenCheckpoint) -> dict[int, bytes | None]:
        places: list[tuple[int, int]] = []
        for queue_offset in entry.unacked:
            units = self.queues.units(entry.topic, entry.queue_id, queue_offset, 1)
            places.append((units[0].commit_log_offset, units[0].size) if units else (-1, 0))
        offsets = list(entry.unacked)
        return dict(zip(offsets, await self.deliverer.read(places), strict=True))

    def _bring_back(self, entry: OpenCheckpoint, queue_offset: int, raw: bytes | None, target: str) -> bool:
        if raw is None:
            log.warning("message %s@%d:%d is gone: not revived", entry.topic, entry.queue_id, queue_offset)
            return self._close(entry, [queue_offset])
        now_ms = self.now_ms()
        draft = retry_draft(decode_record(raw, 0, False), target, entry.key[4])
        if self.log.put(draft, now_ms).status is not PutStatus.PUT_OK:
            return False
        self.appended()
        return self._close(entry, [queue_offset])

    def _close(self, entry: OpenCheckpoint, queue_offsets: list[int]) -> bool:
        result = self.revive_log.ack(entry.key, queue_offsets, self.now_ms())
        return result is None or result.status is PutStatus.PUT_OK
