"""Half messages: what a transactional message looks like while it waits, and which are undecided. Pure.

A producer's message lies in the half topic until its fate is known, its real place kept in properties. From
there it is committed (a new record in the real topic that names the half record), checked with its producer
(a copy with one more check noted takes its place at the end of the half queue), or given up (moved to a topic
that nobody delivers). All copies of one message carry the queue offset of the first: that is its identity,
the `origin`. An op message names the offsets of the half queue that are decided.

The table of open transactions has one entry per message, however many copies of it the half queue holds. It
is in the order of the newest copies, so its first entry is where a start must begin to read the half
queue. A decision counts once: a later one, with whichever copy, finds nothing. `unwritten` are the decided
offsets that are not in an op message yet; all of them are written together, so a decision that no op message
holds lies behind those of the turn before. Loop thread only; rebuilt from the log whenever the broker becomes
master.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from engine.broker.delivery.parked_messages import draft_of, encoded_as
from engine.errors import BadInput, BadRequest
from engine.protocol._batches_cy import Batch, measure_batch
from engine.protocol.batches import BatchItem, encode_batch
from engine.protocol.message_ids import parse_offset_msg_id
from engine.protocol.names import (
    SEND_FORBIDDEN_TOPICS,
    SYSTEM_TOPIC_PREFIX,
    TRANS_CHECK_MAX_TIME_TOPIC,
    TRANS_HALF_TOPIC,
    TRANS_OP_HALF_TOPIC,
)
from engine.protocol.properties import Property, decode_properties, encode_properties
from engine.protocol.records import Record
from engine.protocol.sys_flags import TRANSACTION_COMMIT, TRANSACTION_NONE, with_transaction_type
from engine.store.results import MessageDraft

HALF_QUEUE = 0
_OP_TAG = "d"
# A producer must not forge the broker's own properties; a delay has no effect before the commit.
_NOT_KEPT = (Property.TRAN_PREPARED_QUEUE_OFFSET, Property.TRANSACTION_CHECK_TIMES, Property.DELAY)
_ONLY_HALF = (Property.TRAN_MSG, Property.REAL_TOPIC, Property.REAL_QID)


def half_draft(draft: MessageDraft, unique_key: str, producer_group: str) -> MessageDraft:
    """The message as it waits in the half topic."""
    properties = decode_properties(draft.properties.decode())
    for name in _NOT_KEPT:
        properties.pop(name, None)
    properties.setdefault(Property.PGROUP, producer_group)
    properties |= {
        Property.REAL_TOPIC: draft.topic,
        Property.REAL_QID: str(draft.queue_id),
        Property.TRANSACTION_ID: unique_key,
    }
    return draft._replace(
        topic=TRANS_HALF_TOPIC,
        queue_id=HALF_QUEUE,
        sys_flag=with_transaction_type(draft.sys_flag, TRANSACTION_NONE),
        properties=encode_properties(properties).encode(),
    )


def committed_draft(half: Record) -> MessageDraft:
    """The message in its real place, naming the half record that it commits."""
    properties = {name: value for name, value in half.properties.items() if name not in _ONLY_HALF}
    properties[Property.WAIT] = "false"
    sys_flag = with_transaction_type(half.sys_flag, TRANSACTION_COMMIT)
    return _draft_of(half, *real_place(half), sys_flag, half.commit_log_offset, properties)


def checked_copy(half: Record, check_times: int) -> MessageDraft:
    """The half message once more, with this check count."""
    noted = {
        Property.TRANSACTION_CHECK_TIMES: str(check_times),
        Property.TRAN_PREPARED_QUEUE_OFFSET: str(origin_of(half.properties, half.queue_offset)),
    }
    return _draft_of(half, TRANS_HALF_TOPIC, HALF_QUEUE, half.sys_flag, 0, {**half.properties, **noted})


def given_up_draft(half: Record) -> MessageDraft:
    """The half message where operators find it, all its properties kept."""
    return _draft_of(half, TRANS_CHECK_MAX_TIME_TOPIC, 0, half.sys_flag, 0, half.properties)


def resumed_draft(given_up: Record) -> MessageDraft:
    """A message that was given up, as a new half message that was never checked."""
    properties = {name: value for name, value in given_up.properties.items() if name not in _NOT_KEPT}
    return _draft_of(given_up, TRANS_HALF_TOPIC, HALF_QUEUE, given_up.sys_flag, 0, properties)


def op_batch(queue_offsets: Iterable[int], now_ms: int, store_host: bytes) -> tuple[MessageDraft, Batch]:
    """An op message for each offset, since brokers of 4.9 read no more than one; appended as one."""
    properties = encode_properties({Property.TAGS: _OP_TAG}).encode()
    draft = MessageDraft(TRANS_OP_HALF_TOPIC, HALF_QUEUE, 0, 0, now_ms, store_host, 0, 0, b"", properties)
    items = [BatchItem(0, str(offset).encode(), properties) for offset in queue_offsets]
    return draft, measure_batch(encode_batch(items))


def op_offsets(op: Record) -> list[int]:
    """The offsets of the half queue that an op message (ours, or Apache's of any version) is about."""
    if op.tags != _OP_TAG:
        return []
    return [int(part) for part in op.body.decode("ascii", "replace").split(",") if part.isdecimal()]


def question_body(half: Record) -> bytes:
    """What the producer is asked about: the record with its real topic and queue."""
    topic, queue_id = real_place(half)
    return encoded_as(half, topic, queue_id, half.properties)


def real_place(half: Record) -> tuple[str, int]:
    return half.properties[Property.REAL_TOPIC], number(half.properties, Property.REAL_QID, 0)


def topic_of(record: Record) -> str:
    """The topic that a message belongs to, also while it waits in a system topic."""
    if record.topic in SEND_FORBIDDEN_TOPICS or record.topic.startswith(SYSTEM_TOPIC_PREFIX):
        return record.properties.get(Property.REAL_TOPIC, record.topic)
    return record.topic


def commit_log_offset_of(message_id: str) -> int:
    """Where an offset message id from a request points to."""
    try:
        return parse_offset_msg_id(message_id)[1]
    except BadInput as error:
        raise BadRequest(error.text) from None


def origin_of(properties: Mapping[str, str], queue_offset: int) -> int:
    """The queue offset of the first of all copies: this one's own when it is the first."""
    return number(properties, Property.TRAN_PREPARED_QUEUE_OFFSET, queue_offset)


def number(properties: Mapping[str, str], name: str, default: int) -> int:
    text = properties.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else default


def is_half(record: Record) -> bool:
    return record.topic == TRANS_HALF_TOPIC and Property.REAL_TOPIC in record.properties


def _draft_of(
    record: Record, topic: str, queue_id: int, sys_flag: int, prepared: int, properties: Mapping[str, str]
) -> MessageDraft:
    draft = draft_of(record, topic, queue_id, encode_properties(properties).encode())
    return draft._replace(sys_flag=sys_flag, prepared_transaction_offset=prepared)


@dataclass(slots=True)
class OpenTransaction:
    """A half message; `queue_offset` and `commit_log_offset` are those of its newest copy."""

    origin: int
    producer_group: str
    born_ms: int
    immunity_ms: int | None
    check_times: int
    queue_offset: int
    commit_log_offset: int
    copies: tuple[int, ...]

    def is_due(self, now_ms: int, timeout_ms: int) -> bool:
        """Old enough to be checked. A birth time in the future means a wrong clock, so that counts as old."""
        age_ms = now_ms - self.born_ms
        return age_ms < 0 or age_ms > (timeout_ms if self.immunity_ms is None else self.immunity_ms)


class ReadFrom(NamedTuple):
    """Where a start reads the half queue and the op queue from; valid once the log is on disk to its end."""

    half_offset: int
    op_offset: int
    commit_log_end: int


class TransactionTable:
    def __init__(self) -> None:
        self._open: dict[int, OpenTransaction] = {}
        self._ops: deque[tuple[int, int]] = deque()
        """(op queue offset, highest half offset in it), as far as a start still needs them."""
        self._half_end = 0
        self._op_start = 0
        self.unwritten: list[int] = []

    def __len__(self) -> int:
        return len(self._open)

    def get(self, origin: int) -> OpenTransaction | None:
        return self._open.get(origin)

    def open(self) -> list[OpenTransaction]:
        return list(self._open.values())

    def due(self, now_ms: int, timeout_ms: int) -> list[OpenTransaction]:
        return [entry for entry in self._open.values() if entry.is_due(now_ms, timeout_ms)]

    def note(
        self, properties: Mapping[str, str], born_ms: int, queue_offset: int, commit_log_offset: int
    ) -> OpenTransaction:
        """A half message, or another copy of one, is in the log."""
        origin = origin_of(properties, queue_offset)
        older = self._open.pop(origin, None)
        immunity_s = number(properties, Property.CHECK_IMMUNITY_TIME_IN_SECONDS, -1)
        entry = self._open[origin] = OpenTransaction(
            origin,
            properties.get(Property.PGROUP, ""),
            born_ms,
            immunity_s * 1000 if immunity_s >= 0 else None,
            number(properties, Property.TRANSACTION_CHECK_TIMES, 0),
            queue_offset,
            commit_log_offset,
            (*(older.copies if older is not None else ()), queue_offset),
        )
        self._half_end = max(self._half_end, queue_offset + 1)
        return entry

    def close(self, origin: int) -> bool:
        """It is decided or given up; False if it already was."""
        entry = self._open.pop(origin, None)
        if entry is None:
            return False
        self.unwritten += entry.copies
        return True

    # -- op messages ----------------------------------------------------------------------------------------

    def op_written(self, op_queue_offset: int, half_offsets: Iterable[int]) -> None:
        """An op message with these offsets is in the log, so a start will know of them."""
        done = set(half_offsets)
        self.unwritten = [offset for offset in self.unwritten if offset not in done]
        self._ops.append((op_queue_offset, max(done, default=-1)))

    def read_from(self, commit_log_end: int) -> ReadFrom:
        """Everything before these two offsets is decided."""
        first = next(iter(self._open.values()), None)
        half_offset = self._half_end if first is None else first.queue_offset
        half_offset = min([half_offset, *self.unwritten])
        while self._ops and self._ops[0][1] < half_offset:
            self._op_start = self._ops.popleft()[0] + 1
        return ReadFrom(half_offset, self._op_start, commit_log_end)

    # -- after a start --------------------------------------------------------------------------------------

    def start_at(self, half_offset: int, op_offset: int) -> None:
        """Clear the table: the log from these two offsets on is read next."""
        self._open.clear()
        self._ops.clear()
        self.unwritten = []
        self._half_end, self._op_start = half_offset, op_offset

    def skip(self, queue_offset: int, properties: Mapping[str, str]) -> None:
        """A copy that is named in an op message: with it all copies are decided."""
        self._half_end = max(self._half_end, queue_offset + 1)
        self._open.pop(origin_of(properties, queue_offset), None)
