"""Gives groups the messages that they skipped, once they are whole again.

The copy goes where the group reads what it must see again: %RETRY%group for who pulls, the pop retry topic
for who pops, with the first topic and id kept as a message that was sent back keeps them, and no try counted.
It is appended first and noted as redelivered then: a crash in between delivers it twice, never not at all.
Groups that broadcast read no retry topic: for them the message stays in the list, and an operator resets
their offsets."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from engine.broker.damage.damaged_records import DAMAGE_FILE, DamagedRecord, DamagedRecords, Skip
from engine.broker.delivery.redelivery import draft_of
from engine.broker.failover.role import Role
from engine.broker.groups.group_table import SubscriptionGroupTable
from engine.broker.pop.revive_task import comes_back_in
from engine.broker.stats.traffic import Traffic
from engine.broker.topics.topic_table import TopicTable, retry_topic_config
from engine.protocol.names import retry_topic
from engine.protocol.properties import Property, encode_properties
from engine.protocol.records import Record, decode_record
from engine.store.message_store import MessageStore
from engine.store.reading.record_reads import Place
from engine.store.results import MessageDraft, PutStatus

log = logging.getLogger(__name__)

_PER_ROUND = 100


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
    store: MessageStore
    records: DamagedRecords
    topics: TopicTable
    groups: SubscriptionGroupTable
    read: Callable[[Place], Awaitable[bytes | None]]
    traffic: Traffic
    role: Role
    uses_retry_topic_v2: Callable[[], bool]
    is_broadcasting: Callable[[str], bool]
    topics_saved: Callable[[], Awaitable[None]]
    save: Callable[[str], None]
    appended: Callable[[], None]
    now_ms: Callable[[], int]

    async def run(self) -> None:
        """What is owed, as far as the store takes it; only a master writes."""
        for record in self.records.owed()[:_PER_ROUND]:
            if not self.role.is_master:
                return
            await self._redeliver(record)

    async def _redeliver(self, record: DamagedRecord) -> None:
        damage = record.damage
        units = self.store.queue_units(damage.topic, damage.queue_id, damage.queue_offset, 1)
        if not units:
            return
        raw = await self.read((units[0].commit_log_offset, units[0].size))
        if raw is None:
            return
        message = decode_record(raw, 0, False)
        if (message.topic, message.queue_offset) != (damage.topic, damage.queue_offset):
            return
        for group, skip in record.skips.items():
            if not skip.redelivered_ms and group in self.groups and not self.is_broadcasting(group):
                await self._give(message, group, skip)

    async def _give(self, message: Record, group: str, skip: Skip) -> None:
        topic = retry_topic(group)
        if skip.way == "pop":
            topic = comes_back_in(message.topic, group, is_v2=self.uses_retry_topic_v2())
        if topic not in self.topics:
            self.topics.create_unsaved(retry_topic_config(topic), self.now_ms())
        if topic in self.topics.unsaved:
            await self.topics_saved()
        result = self.store.put(redelivery_draft(message, topic), self.now_ms())
        if result.status is not PutStatus.PUT_OK:
            return
        self.appended()
        self.traffic.put(topic, 1, result.size)
        skip.redelivered_ms = self.now_ms()
        self.save(DAMAGE_FILE)
        log.warning(
            "queue offset %d of %s@%d, skipped by %s while it was damaged, was redelivered through %s",
            message.queue_offset,
            message.topic,
            message.queue_id,
            group,
            topic,
        )
