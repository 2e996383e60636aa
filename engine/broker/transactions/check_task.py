"""Checks undecided transactions with their producers, at intervals.

Each round takes the transactions that are old enough: the half message is copied to the end of its queue with
its check count raised, then one live producer of its group is asked (39, one-way; in turn); the answer is an
ordinary decision (37). After `transactionCheckMax` rounds the message is moved to TRANS_CHECK_MAX_TIME_TOPIC,
so none is lost. Rounds count whether or not a producer is online, as in RocketMQ.
Cold half messages are read in a thread. Loop thread only.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from engine.broker.clients.client_tables import ProducerTable
from engine.broker.damage.damaged_records import RepairWait
from engine.broker.settings.options import LiveOptions
from engine.broker.storage.disk_room import DiskRoom
from engine.broker.topics.topic_table import TOPICS_FILE, TopicTable
from engine.broker.transactions.half_messages import (
    HALF_QUEUE,
    OpenTransaction,
    checked_copy,
    given_up_draft,
    is_half,
    question_body,
    real_place,
)
from engine.broker.transactions.transaction_log_io import TransactionLog
from engine.daemon.running import start_task, stop_tasks
from engine.net.connection import Connection
from engine.protocol.bodies.topics import TopicConfig
from engine.protocol.codes import RequestCode
from engine.protocol.commands import Command
from engine.protocol.headers.send import CheckTransactionStateRequest
from engine.protocol.names import TRANS_CHECK_MAX_TIME_TOPIC, TRANS_HALF_TOPIC
from engine.protocol.properties import Property, decode_properties
from engine.protocol.records import Record, decode_records
from engine.store.log.message_log import MessageLog
from engine.store.queues.message_queues import MessageQueues
from engine.store.results import ColdBody, GetResult, GetStatus, MessageDraft, PutResult, PutStatus

log = logging.getLogger(__name__)

_PER_SLICE = 32
_FLUSH_POLL_S = 0.02
_FLUSH_POLLS = 250
_HOUR_MS = 3_600_000


@dataclass(eq=False, repr=False)
class TransactionChecks:
    log: MessageLog
    queues: MessageQueues
    transactions: TransactionLog
    producers: ProducerTable[Connection]
    topics: TopicTable
    live: LiveOptions
    disk: DiskRoom
    now_ms: Callable[[], int]
    appended: Callable[[], None]
    announce: Callable[[str], None]
    repair: RepairWait
    _turns: int = field(default=0, init=False)
    _task: asyncio.Task[None] | None = field(default=None, init=False)

    def start(self) -> None:
        self._task = start_task(self._check_forever(), "check transactions")

    async def stop(self) -> None:
        await stop_tasks(self._task)
        self.transactions.stop()

    async def _check_forever(self) -> None:
        while True:
            await asyncio.sleep(self.live.transaction_check_interval / 1000)
            await self.check()

    async def check(self) -> None:
        """One round."""
        if self.disk.is_writable and not self.log.is_fenced:
            due = self.transactions.table.due(self.now_ms(), self.live.transaction_time_out)
            for begin in range(0, len(due), _PER_SLICE):
                await self._check_slice(due[begin : begin + _PER_SLICE])
                await asyncio.sleep(0)
        self.transactions.decided()
        self.transactions.commit_offsets()

    async def _check_slice(self, entries: list[OpenTransaction]) -> None:
        copies: list[Record] = []
        for entry in entries:
            # Not in its queue yet (not on disk, or not dispatched): checked in the next round.
            if entry.queue_offset >= self.queues.max_offset(TRANS_HALF_TOPIC, HALF_QUEUE):
                continue
            half, is_damaged = await self._read(entry.queue_offset)
            # While a cold message was read, its producer may have decided.
            if self.transactions.table.get(entry.origin) is not entry:
                continue
            if half is None and is_damaged:
                continue  # it stays open: another member, or an operator, may restore it
            if half is None:
                log.error("the half message at log offset %d is gone: closed", entry.commit_log_offset)
                self.transactions.table.close(entry.origin)
            elif self._is_exhausted(entry):
                self._give_up(entry, half)
            elif (copy := self._copy(entry, half)) is not None:
                copies.append(copy)
        if copies:
            await self._readable(copies[-1].commit_log_offset + copies[-1].size)
            for copy in copies:
                self._ask(copy)

    async def _read(self, queue_offset: int) -> tuple[Record | None, bool]:
        """The half message, and whether it is damaged."""
        result, read = await self._read_once(queue_offset)
        if read.damage is not None and await self.repair(read.damage):
            result, read = await self._read_once(queue_offset)
        body = read.body
        records = decode_records(body) if result.status is GetStatus.FOUND else []
        found = bool(records) and records[0].queue_offset == queue_offset and is_half(records[0])
        return records[0] if found else None, read.damage is not None

    async def _read_once(self, queue_offset: int) -> tuple[GetResult, ColdBody]:
        result = self.queues.get(TRANS_HALF_TOPIC, HALF_QUEUE, queue_offset, 1)
        if result.cold is not None:
            return result, await asyncio.to_thread(self.queues.read_cold, result.cold)
        return result, ColdBody(result.body, result.damage)

    def _is_exhausted(self, entry: OpenTransaction) -> bool:
        """Checked the maximum number of times; or older than the retention time and checked at least once,
        because its producer's clock may be wrong."""
        is_old = self.now_ms() - entry.born_ms > self.live.file_reserved_time * _HOUR_MS
        return entry.check_times >= self.live.transaction_check_max or (is_old and entry.check_times > 0)

    def _give_up(self, entry: OpenTransaction, half: Record) -> None:
        if TRANS_CHECK_MAX_TIME_TOPIC not in self.topics:
            self.topics.create_unsaved(TopicConfig(TRANS_CHECK_MAX_TIME_TOPIC, 1, 1), self.now_ms())
            self.announce(TOPICS_FILE)
        if self._put(given_up_draft(half)) is not None:
            log.warning(
                "transaction %s of group %s is given up after %d checks: see topic %s",
                half.uniq_key,
                entry.producer_group,
                entry.check_times,
                TRANS_CHECK_MAX_TIME_TOPIC,
            )
            self.transactions.table.close(entry.origin)

    def _copy(self, entry: OpenTransaction, half: Record) -> Record | None:
        draft = checked_copy(half, entry.check_times + 1)
        result = self._put(draft)
        if result is None:
            return None
        self.transactions.note(draft, result)
        return replace(
            half,
            size=result.size,
            queue_offset=result.queue_offset,
            commit_log_offset=result.commit_log_offset,
            store_timestamp=result.store_timestamp,
            properties=decode_properties(draft.properties.decode()),
        )

    def _put(self, draft: MessageDraft) -> PutResult | None:
        result = self.log.put(draft, self.now_ms())
        if result.status is not PutStatus.PUT_OK:
            log.warning("a half message was not copied: %s", result.remark or result.status.value)
            return None
        self.appended()
        return result

    async def _readable(self, commit_log_offset: int) -> None:
        """The producer's decision must find the copy, which under SYNC_FLUSH is readable after its flush."""
        for _ in range(_FLUSH_POLLS):
            if self.log.readable_end() >= commit_log_offset:
                return
            await asyncio.sleep(_FLUSH_POLL_S)

    def _ask(self, half: Record) -> None:
        channel = self._next_channel(half.properties.get(Property.PGROUP, ""))
        if channel is None:
            return
        topic, _ = real_place(half)
        header = CheckTransactionStateRequest(
            half.queue_offset, half.commit_log_offset, topic, half.uniq_key, half.uniq_key, half.offset_msg_id
        )
        body = question_body(half)
        channel.send_oneway(Command(RequestCode.CHECK_TRANSACTION_STATE, fields=header.encode(), body=body))

    def _next_channel(self, group: str) -> Connection | None:
        channels = [channel for channel in self.producers.clients(group) if channel.is_writable]
        self._turns += 1
        return channels[self._turns % len(channels)] if channels else None
