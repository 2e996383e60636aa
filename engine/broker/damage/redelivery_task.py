"""Gives messages to those who skipped them, once they are whole again.

A group's copy goes where it reads what it must see again: %RETRY%group for who pulls, the pop retry topic for
who pops, with the first topic and id kept as a message that was sent back keeps them, and no try counted. A
message that was damaged when its delay or its time had passed goes to the topic that it was sent to. Groups
that broadcast read no retry topic: for them the message stays in the list, and an operator resets their
offsets.

It is appended first, and noted as redelivered once the append is on disk and confirmed: a crash or another
master in between delivers it twice, never not at all. Only a master writes; a slave tells its master what
the master does not know. Loop thread only."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from engine.broker.damage.damaged_records import DAMAGE_FILE, DamagedRecords
from engine.broker.damage.record_rows import DamagedRecord, Skip
from engine.broker.damage.waited_drafts import Waited, delayed_message, timed_message, was_recalled
from engine.broker.delivery.parked_messages import draft_of, was_delivered
from engine.broker.failover.role import Role
from engine.broker.groups.group_table import SubscriptionGroupTable
from engine.broker.pop.pop_requests import comes_back_in
from engine.broker.stats.traffic import Traffic
from engine.broker.topics.topic_table import TopicTable, retry_topic_config
from engine.protocol.names import SCHEDULE_TOPIC, TIMER_TOPIC, retry_topic
from engine.protocol.properties import Property, encode_properties
from engine.protocol.records import Record, decode_record
from engine.store.index.key_search import KeySearch
from engine.store.message_store import MessageStore
from engine.store.reading.record_reads import Place
from engine.store.results import Damage, MessageDraft, PutStatus

log = logging.getLogger(__name__)

_PER_ROUND = 100
_DELIVERIES = ("delay", "timer")
_INDEX_SLACK_MS = 2_000
_MAX_FOUND = 64


def redelivery_draft(record: Record, topic: str) -> MessageDraft:
    """The message in the retry topic. Pure."""
    properties: dict[str, str | None] = {
        name: value for name, value in record.properties.items() if name != Property.DELAY
    }
    properties.setdefault(Property.RETRY_TOPIC, record.topic)
    properties.setdefault(Property.ORIGIN_MESSAGE_ID, record.offset_msg_id)
    return draft_of(record, topic, 0, encode_properties(properties).encode())


@dataclass(frozen=True, slots=True)
class Redelivery:
    """`read` and `search` read the log in a thread; `tell_master` is what a slave does instead."""

    store: MessageStore
    records: DamagedRecords
    topics: TopicTable
    groups: SubscriptionGroupTable
    read: Callable[[Place], Awaitable[bytes | None]]
    search: Callable[[KeySearch], Awaitable[tuple[bytes, ...]]]
    traffic: Traffic
    role: Role
    uses_retry_topic_v2: Callable[[], bool]
    is_broadcasting: Callable[[str], bool]
    topics_saved: Callable[[], Awaitable[object]]
    tell_master: Callable[[], Awaitable[None]]
    save: Callable[[str], None]
    appended: Callable[[], None]
    now_ms: Callable[[], int]
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def run(self) -> bool:
        """What is owed, as far as the store takes it. False: look again soon."""
        async with self.turn:
            if not self.role.is_master:
                await self.tell_master()
                return True
            self.note_kept()
            for record, skips in self._givable()[:_PER_ROUND]:
                await self._redeliver(record, skips)
            return not any(skip.appended for _, _, skip in self.records.skips())

    def note_kept(self) -> None:
        """Appends that nothing takes back any more are redeliveries; those of another epoch are forgotten."""
        epoch, kept_end = self.role.epoch, self.store.replica.kept_end
        for _, _, skip in self.records.skips():
            if skip.appended is None:
                continue
            if skip.appended[0] != epoch:
                skip.appended = None
            elif skip.appended[1] <= kept_end:
                self._note_redelivered(skip)

    def _note_redelivered(self, skip: Skip) -> None:
        self.records.redelivered(skip, self.now_ms())
        self.save(DAMAGE_FILE)

    def _givable(self) -> list[tuple[DamagedRecord, dict[str, Skip]]]:
        owed = []
        for record in self.records.owed():
            skips = {name: skip for name, skip in record.skips.items() if self._is_givable(name, skip)}
            if skips:
                owed.append((record, skips))
        return owed

    def _is_givable(self, name: str, skip: Skip) -> bool:
        if skip.redelivered_ms or skip.appended is not None:
            return False
        return skip.way in _DELIVERIES or (name in self.groups and not self.is_broadcasting(name))

    async def _redeliver(self, record: DamagedRecord, skips: dict[str, Skip]) -> None:
        found = await self._read(record.damage)
        if found is None:
            return
        message, due_ms = found
        for name, skip in skips.items():
            if not self.role.is_master:
                return
            if skip.way in _DELIVERIES:
                await self._deliver(message, due_ms, skip)
            else:
                await self._give(message, name, skip)

    async def _read(self, damage: Damage) -> tuple[Record, int] | None:
        """The message, and what its queue says besides its place: of a delayed one, when it is due."""
        units = self.store.queues.units(damage.topic, damage.queue_id, damage.queue_offset, 1)
        if damage.topic and not units:
            return None
        place = (units[0].commit_log_offset, units[0].size) if units else (damage.commit_log_offset, 0)
        raw = await self.read(place)
        if raw is None:
            return None
        message = decode_record(raw, 0, False)
        if damage.topic and (message.topic, message.queue_offset) != (damage.topic, damage.queue_offset):
            return None
        return message, units[0].tags_code if units else 0

    async def _give(self, message: Record, group: str, skip: Skip) -> None:
        topic = retry_topic(group)
        if skip.way == "pop":
            topic = comes_back_in(message.topic, group, is_v2=self.uses_retry_topic_v2())
        if topic not in self.topics:
            self.topics.create_unsaved(retry_topic_config(topic), self.now_ms())
        if topic in self.topics.unsaved:
            await self.topics_saved()
        self._append(redelivery_draft(message, topic), message, skip)

    async def _deliver(self, message: Record, due_ms: int, skip: Skip) -> None:
        """A delayed or timed message, or a recall."""
        now_ms = self.now_ms()
        waited: Waited | None = None
        if message.topic == SCHEDULE_TOPIC:
            waited = delayed_message(message, due_ms, now_ms)
        elif message.topic == TIMER_TOPIC:
            waited = timed_message(message, now_ms)
        if waited is None:
            return
        draft = waited.draft
        if draft is None or await self._is_settled(message, draft, waited.due_ms):
            self._note_redelivered(skip)
        else:
            self._append(draft, message, skip)

    async def _is_settled(self, message: Record, draft: MessageDraft, due_ms: int) -> bool:
        """Whether it was delivered before it was damaged, or called back."""
        key, now_ms = message.properties.get(Property.UNIQ_KEY), self.now_ms()
        if key is None or draft.topic == TIMER_TOPIC:
            return False
        begin_ms = due_ms - _INDEX_SLACK_MS
        found = await self.search(self.store.search.plan(draft.topic, key, _MAX_FOUND, begin_ms, now_ms))
        if was_delivered(found, draft, due_ms) or message.topic != TIMER_TOPIC:
            return was_delivered(found, draft, due_ms)
        begin_ms = message.store_timestamp - _INDEX_SLACK_MS
        recalls = self.store.search.plan(TIMER_TOPIC, key, _MAX_FOUND, begin_ms, now_ms)
        return was_recalled(message, await self.search(recalls))

    def _append(self, draft: MessageDraft, message: Record, skip: Skip) -> None:
        if not self.role.is_master:
            return
        result = self.store.log.put(draft, self.now_ms())
        if result.status is not PutStatus.PUT_OK:
            return
        self.appended()
        self.traffic.put(draft.topic, 1, result.size)
        skip.appended = self.role.epoch, result.commit_log_offset + result.size
        log.warning(
            "queue offset %d of %s@%d, skipped while it was damaged, was redelivered through %s",
            message.queue_offset,
            message.topic,
            message.queue_id,
            draft.topic,
        )
