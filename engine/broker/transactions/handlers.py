"""Decisions about half messages: END_TRANSACTION (37), and RESUME_CHECK_HALF_MESSAGE (323) for operators.

A decision counts once, however often and with whichever copy of the half message it comes. The real message
is appended before the decision is recorded; a crash in between is repaired at the next start
(`transaction_log_io`). A decision that could not be carried out changes nothing, and the producer is asked
again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from engine.access.gate import RecordCheck, unchecked
from engine.access.resources import Action
from engine.broker.delivery.parked_messages import Parking
from engine.broker.sending.admission import check_stored
from engine.broker.stats.traffic import Traffic
from engine.broker.transactions.half_messages import (
    HALF_QUEUE,
    commit_log_offset_of,
    committed_draft,
    is_half,
    origin_of,
    real_place,
    resumed_draft,
)
from engine.broker.transactions.transaction_log_io import TransactionLog
from engine.errors import BadRequest, NotFound, Refused
from engine.net.connection import Connection
from engine.net.outcomes import ColdRead, Handler, Outcome, Reply
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Command
from engine.protocol.headers.send import EndTransactionRequest, ResumeCheckHalfMessageRequest
from engine.protocol.names import TRANS_CHECK_MAX_TIME_TOPIC, TRANS_HALF_TOPIC
from engine.protocol.properties import Property
from engine.protocol.records import Record, decode_record
from engine.protocol.sys_flags import (
    TRANSACTION_COMMIT,
    TRANSACTION_MASK,
    TRANSACTION_NONE,
    TRANSACTION_ROLLBACK,
)
from engine.store.log.message_log import MessageLog
from engine.store.queues.message_queues import MessageQueues
from engine.store.reading.message_search import MessageSearch
from engine.store.results import MessageDraft, PutResult

log = logging.getLogger(__name__)

_KNOWN = (TRANSACTION_NONE, TRANSACTION_COMMIT, TRANSACTION_ROLLBACK)
_FOREVER_MS = 1 << 62


@dataclass(eq=False, repr=False)
class TransactionHandlers:
    log: MessageLog
    queues: MessageQueues
    search: MessageSearch
    transactions: TransactionLog
    parking: Parking
    traffic: Traffic
    now_ms: Callable[[], int]
    appended: Callable[[], None]
    check_record: RecordCheck = unchecked

    def routes(self) -> dict[int, Handler]:
        return {
            RequestCode.END_TRANSACTION: self.end,
            RequestCode.RESUME_CHECK_HALF_MESSAGE: self.resume_check,
        }

    # -- 37 -------------------------------------------------------------------------------------------------

    def end(self, request: Command, client: Connection) -> Outcome:
        header = EndTransactionRequest.decode(request.fields)
        if header.commit_or_rollback not in _KNOWN:
            raise BadRequest(f"commitOrRollback is 8, 12 or 0, not {header.commit_or_rollback}")
        if header.commit_or_rollback == TRANSACTION_NONE:
            log.info("transaction %s of %s is undecided", header.msg_id, header.producer_group)
            return Reply()
        if self.log.is_hot(header.commit_log_offset):
            half = self.log.record_at(header.commit_log_offset)
            return self._decide(header, half, request, client)
        return self._end_cold(header, request, client)

    def _end_cold(self, header: EndTransactionRequest, request: Command, client: Connection) -> Outcome:
        result = self.queues.get(TRANS_HALF_TOPIC, HALF_QUEUE, header.tran_state_table_offset, 1)

        def finish(body: bytes) -> Outcome:
            return self._decide(header, decode_record(body) if body else None, request, client)

        if result.cold is None:
            return finish(result.body)
        cold = result.cold
        return ColdRead(lambda: self.queues.read_cold(cold).body, finish)

    def _decide(
        self, header: EndTransactionRequest, half: Record | None, request: Command, client: Connection
    ) -> Outcome:
        if half is None or not is_half(half):
            raise NotFound(f"no half message at commit log offset {header.commit_log_offset}")
        self.check_record(request, client, real_place(half)[0], Action.PUB)
        self._check(header, half)
        origin = origin_of(half.properties, half.queue_offset)
        if self.transactions.table.get(origin) is None:
            raise Refused(f"the transaction {header.msg_id:.200} is decided or given up already")
        if header.commit_or_rollback == TRANSACTION_COMMIT:
            # A delivery delay counts from the commit.
            draft = self.parking.plan(committed_draft(half), self.now_ms())
            result = self._append(draft)
            self.traffic.put(draft.topic, 1, result.size)
        self.transactions.table.close(origin)
        self.transactions.decided()
        return Reply()

    def _check(self, header: EndTransactionRequest, half: Record) -> None:
        if half.properties.get(Property.PGROUP) != header.producer_group:
            raise Refused("The producer group wrong")
        if half.queue_offset != header.tran_state_table_offset:
            raise Refused("The transaction state table offset wrong")
        if half.commit_log_offset != header.commit_log_offset:
            raise Refused("The commit log offset wrong")
        entry = self.transactions.table.get(origin_of(half.properties, half.queue_offset))
        if header.from_transaction_check or entry is None or entry.immunity_ms is None:
            return
        if self.now_ms() - half.born_timestamp > entry.immunity_ms:
            raise Refused(
                "the immunity time is over: the producer will be asked",
                code=ResponseCode.ILLEGAL_OPERATION,
            )

    # -- 323 ------------------------------------------------------------------------------------------------

    def resume_check(self, request: Command, client: Connection) -> Outcome:
        """A message that was given up is checked again, unless it has been committed since."""
        message_id = ResumeCheckHalfMessageRequest.decode(request.fields).msg_id or ""
        record = self.log.record_at(commit_log_offset_of(message_id))
        if record is None or record.topic != TRANS_CHECK_MAX_TIME_TOPIC:
            raise NotFound(f"no message {message_id:.200} in {TRANS_CHECK_MAX_TIME_TOPIC}")
        if self._is_resumed(record):
            raise Refused(f"the transaction {record.uniq_key} is open again, or committed, already")
        draft = resumed_draft(record)
        self.transactions.note(draft, self._append(draft))
        return Reply()

    def _is_resumed(self, record: Record) -> bool:
        """Whether its unique key finds a later copy in the half topic, or the committed message."""
        unique_key, (topic, _) = record.uniq_key or "", real_place(record)
        halves = self._records(TRANS_HALF_TOPIC, unique_key)
        committed = self._records(topic, unique_key)
        return any(half.commit_log_offset > record.commit_log_offset for half in halves) or any(
            found.sys_flag & TRANSACTION_MASK == TRANSACTION_COMMIT for found in committed
        )

    def _records(self, topic: str, key: str) -> list[Record]:
        found = self.search.query(topic, key, 64, 0, _FOREVER_MS)
        return [decode_record(data) for data in found.records]

    def _append(self, draft: MessageDraft) -> PutResult:
        result = self.log.put(draft, self.now_ms())
        check_stored(result, ResponseCode.SERVICE_NOT_AVAILABLE)
        self.appended()
        return result
