"""What goes into the store and what comes out: drafts, and results with RocketMQ's status names.

Expected outcomes are values here, never exceptions. The types of the hot path are named tuples: as immutable
as a frozen dataclass, and made in a quarter of the time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

QueueKey = tuple[str, int]
"""Topic and queue id."""


class PutStatus(Enum):
    """Everything but PUT_OK means: not stored, and never will be."""

    PUT_OK = "PUT_OK"
    MESSAGE_ILLEGAL = "MESSAGE_ILLEGAL"
    PROPERTIES_SIZE_EXCEEDED = "PROPERTIES_SIZE_EXCEEDED"
    SERVICE_NOT_AVAILABLE = "SERVICE_NOT_AVAILABLE"
    DISK_FULL = "DISK_FULL"
    FENCED = "FENCED"


class GetStatus(Enum):
    FOUND = "FOUND"
    NO_MATCHED_MESSAGE = "NO_MATCHED_MESSAGE"
    MESSAGE_WAS_REMOVING = "MESSAGE_WAS_REMOVING"
    NO_MATCHED_LOGIC_QUEUE = "NO_MATCHED_LOGIC_QUEUE"
    NO_MESSAGE_IN_QUEUE = "NO_MESSAGE_IN_QUEUE"
    OFFSET_TOO_SMALL = "OFFSET_TOO_SMALL"
    OFFSET_OVERFLOW_ONE = "OFFSET_OVERFLOW_ONE"
    OFFSET_OVERFLOW_BADLY = "OFFSET_OVERFLOW_BADLY"
    OFFSET_FOUND_NULL = "OFFSET_FOUND_NULL"
    MESSAGE_DAMAGED = "MESSAGE_DAMAGED"
    """Our own: the queue has no usable unit here, and the log does not tell what it should be."""


class MessageDraft(NamedTuple):
    """A message as the broker wants it stored; hosts are packed (8 or 20 bytes), properties encoded."""

    topic: str
    queue_id: int
    flag: int
    sys_flag: int
    born_timestamp: int
    born_host: bytes
    reconsume_times: int
    prepared_transaction_offset: int
    body: bytes | bytearray | memoryview
    properties: bytes
    tags_code: int = 0


class PutResult(NamedTuple):
    """`commit_log_offset` + `size` is what a flush must reach; for a batch `size` covers all its records."""

    status: PutStatus
    commit_log_offset: int = -1
    size: int = 0
    queue_offset: int = -1
    store_timestamp: int = 0
    offsets: tuple[int, ...] = ()
    remark: str = ""


class Arrival(NamedTuple):
    """A message became readable; `next_queue_offset` is one behind it."""

    topic: str
    queue_id: int
    next_queue_offset: int
    tags_code: int


class RecordFilter(NamedTuple):
    """A question about a record's properties, and how many records one pull may ask it about."""

    matches: Callable[[bytes], bool]
    max_scan: int


class ColdRange(NamedTuple):
    """A part of one segment, and the queue offsets and sizes of the records in it."""

    path: str
    base_offset: int
    commit_log_offset: int
    size: int
    queue_offsets: tuple[int, ...]
    sizes: tuple[int, ...]


class ColdRanges(NamedTuple):
    """What `read_cold` fetches in a thread."""

    topic: str
    queue_id: int
    ranges: tuple[ColdRange, ...]


class Damage(NamedTuple):
    """A message that its queue has and whose bytes in the log are not whole.

    `commit_log_offset` is -1 where even that is unknown; `file` is the segment's name, never a path.
    """

    topic: str
    queue_id: int
    queue_offset: int
    commit_log_offset: int
    size: int
    file: str


class ColdBody(NamedTuple):
    """The records in front of the first damaged one (all, when there is none), and that one."""

    body: bytes
    damage: Damage | None = None


class GetResult(NamedTuple):
    """`body` is the stored records, one behind the other; with `cold` set it must first be read in a
    thread."""

    status: GetStatus
    next_begin_offset: int
    min_offset: int
    max_offset: int
    count: int = 0  # type: ignore[assignment]  # RocketMQ's word; tuple.count is not missed
    body: bytes = b""
    cold: ColdRanges | None = None
    first_commit_log_offset: int = -1
    size: int = 0
    damage: Damage | None = None
    """With MESSAGE_DAMAGED."""


@dataclass(frozen=True, slots=True)
class QueryResult:
    offsets: tuple[int, ...]
    records: tuple[bytes, ...]
    index_last_update_timestamp: int
    index_last_update_phyoffset: int
    continuation: str | None = None


@dataclass(frozen=True, slots=True)
class QueueUnit:
    queue_offset: int
    commit_log_offset: int
    size: int
    tags_code: int


@dataclass(slots=True)
class StoreStats:
    """Running totals since open; the broker takes differences."""

    put_count: int = 0
    put_bytes: int = 0
    put_failed_count: int = 0
    batch_count: int = 0
    get_found_count: int = 0
    get_missed_count: int = 0
    get_message_count: int = 0
    get_bytes: int = 0
    dispatched_count: int = 0
    unnamable_count: int = 0
    """Records whose topic is not a valid name: they stay in the log and get no queue."""
    flush_count: int = 0
