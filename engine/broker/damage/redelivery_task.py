"""Redelivers messages to the groups that skipped them, once they are repaired.

A group's copy goes to a topic that the group reads: %RETRY%group for groups that pull, the pop retry
topic for groups that pop. First topic and id are kept as in a message that was sent back, and no try is
counted. Groups that broadcast read no retry topic: the message stays in the list, and an operator resets
their offsets.

A message that was damaged while it waited for its time goes on as it would have: a delayed one to its
topic as soon as its level's time has passed; a timed one to its topic if its time has passed and it was
not recalled, else back to the timers in a new record, as at the end of a window.

The message is appended first, and noted as redelivered once the append is on disk and confirmed: after a
crash or a change of master in between it is delivered twice rather than never. Only a master writes; a
slave reports to its master the skips that the master does not know. Loop thread only.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field

from engine.broker.damage.damaged_records import DAMAGE_FILE, DamagedRecord, DamagedRecords, Skip
from engine.broker.delivery.parked_messages import draft_of, restored, timed_draft, was_delivered
from engine.broker.delivery.timed_messages import delete_keys, exact_time_ms, out_time_ms
from engine.broker.failover.role import Role
from engine.broker.groups.group_table import SubscriptionGroupTable
from engine.broker.pop.pop_requests import comes_back_in
from engine.broker.stats.traffic import Traffic
from engine.broker.topics.topic_table import TopicTable, retry_topic_config
from engine.protocol.names import SCHEDULE_TOPIC, TIMER_TOPIC, retry_topic
from engine.protocol.properties import Property, encode_properties
from engine.protocol.records import Record, decode_record
from engine.store.index.key_search import KeySearch
from engine.store.log.message_log import MessageLog
from engine.store.log.replica_log import ReplicaLog
from engine.store.queues.message_queues import MessageQueues
from engine.store.reading.message_search import MessageSearch
from engine.store.reading.record_reads import Place
from engine.store.results import Damage, MessageDraft, PutStatus

log = logging.getLogger(__name__)

_PER_ROUND = 100
_DELIVERIES = ("delay", "timer")
_INDEX_SLACK_MS = 2_000
_MAX_FOUND = 64


@dataclass(frozen=True, slots=True)
class Waited:
    """`draft` is None where nothing is left to deliver; `due_ms` is when it was due."""

    draft: MessageDraft | None
    due_ms: int


def delayed_message(record: Record, due_ms: int, now_ms: int) -> Waited | None:
    """None: it is not due yet."""
    return None if due_ms > now_ms else Waited(restored(record, ()), due_ms)


def timed_message(record: Record, now_ms: int) -> Waited:
    out_ms = out_time_ms(record.properties)
    if out_ms is None:
        return Waited(None, now_ms)
    due_ms = exact_time_ms(record.properties, out_ms, record.store_timestamp)
    if due_ms > now_ms:
        properties = encode_properties(dict(record.properties)).encode()
        return Waited(draft_of(record, TIMER_TOPIC, 0, properties), now_ms)
    is_recall = Property.TIMER_DEL_UNIQKEY in record.properties
    return Waited(None if is_recall else timed_draft(record, now_ms), due_ms)


def was_recalled(record: Record, found: Iterable[bytes]) -> bool:
    """Whether one of the timer's records with this message's key calls it back."""
    keys = delete_keys(record.properties)
    return any(
        decode_record(raw, 0, False).properties.get(Property.TIMER_DEL_UNIQKEY) in keys for raw in found
    )


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
    """`read` and `search` read the log in a thread; a slave calls `report_skips` instead of redelivering."""

    log: MessageLog
    queues: MessageQueues
    message_search: MessageSearch
    replica: ReplicaLog
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
    report_skips: Callable[[], Awaitable[None]]
    save: Callable[[str], None]
    appended: Callable[[], None]
    now_ms: Callable[[], int]
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def run(self) -> bool:
        """Redeliver owed messages, as far as the store takes them. False: call again soon."""
        async with self.turn:
            if not self.role.is_master:
                await self.report_skips()
                return True
            self.note_kept()
            for record, skips in self._givable()[:_PER_ROUND]:
                await self._redeliver(record, skips)
            return not any(skip.appended for _, _, skip in self.records.skips())

    def note_kept(self) -> None:
        """Appends that are on disk and confirmed are redeliveries; those of another epoch are dropped."""
        epoch, kept_end = self.role.epoch, self.replica.kept_end
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
        """The message and its queue unit's tags code: for a delayed message, when it is due."""
        units = self.queues.units(damage.topic, damage.queue_id, damage.queue_offset, 1)
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
        found = await self.search(self.message_search.plan(draft.topic, key, _MAX_FOUND, begin_ms, now_ms))
        if was_delivered(found, draft, due_ms) or message.topic != TIMER_TOPIC:
            return was_delivered(found, draft, due_ms)
        begin_ms = message.store_timestamp - _INDEX_SLACK_MS
        recalls = self.message_search.plan(TIMER_TOPIC, key, _MAX_FOUND, begin_ms, now_ms)
        return was_recalled(message, await self.search(recalls))

    def _append(self, draft: MessageDraft, message: Record, skip: Skip) -> None:
        if not self.role.is_master:
            return
        result = self.log.put(draft, self.now_ms())
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
