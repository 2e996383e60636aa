"""What a store is told once, at open. Checked here, so that no other module of the room checks it again.

Names are RocketMQ's configuration keys in snake case; defaults are its defaults. Sizes are bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from engine.errors import BadInput

CQ_UNIT_SIZE = 20
_SECOND, _MINUTE, _HOUR = 1_000, 60_000, 3_600_000


class FlushDiskType(Enum):
    SYNC_FLUSH = "SYNC_FLUSH"
    ASYNC_FLUSH = "ASYNC_FLUSH"


@dataclass(frozen=True, slots=True)
class RetentionRules:
    """When segments of the commit log may go. Percentages are of the disk that holds the log."""

    file_reserved_time_hours: int = 72
    delete_when: str = "04"
    disk_max_used_space_ratio: int = 75
    clean_file_forcibly_enable: bool = True
    disk_space_clean_forcibly_ratio: int = 85
    disk_space_warning_level_ratio: int = 90
    max_files_per_round: int = 10


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """How much one pull may carry, from the hot window and from older parts of the log."""

    max_transfer_bytes_in_memory: int = 262_144
    max_transfer_count_in_memory: int = 32
    max_transfer_bytes_on_disk: int = 65_536
    max_transfer_count_on_disk: int = 8
    hot_window_bytes: int = 4 << 30


@dataclass(frozen=True, slots=True)
class StoreOptions:
    root: Path
    commit_log_dir: Path | None = None
    consume_queue_dir: Path | None = None
    index_dir: Path | None = None

    mapped_file_size_commit_log: int = 1 << 30
    mapped_file_size_consume_queue: int = 300_000 * CQ_UNIT_SIZE
    max_hash_slot_num: int = 5_000_000
    max_index_num: int = 20_000_000
    message_index_enable: bool = True
    max_message_size: int = 4 << 20

    flush_disk_type: FlushDiskType = FlushDiskType.ASYNC_FLUSH
    flush_commit_log_least_pages: int = 4
    flush_commit_log_thorough_interval_ms: int = 10_000
    is_strict: bool = False
    """Refuse to open a store in which something is missing or damaged that was there before."""
    store_host: bytes = b"\x7f\x00\x00\x01\x00\x00\x2a\x9f"
    check_crc_on_recover: bool = True
    transient_store_pool_enable: bool = False
    commit_interval_ms: int = 200

    retention: RetentionRules = field(default_factory=RetentionRules)
    reads: ReadLimits = field(default_factory=ReadLimits)
    max_open_queue_files: int = 1024
    max_mapped_segments: int = 256
    pretouch_bytes: int = 64 << 20
    """How much of the next segment is written with zeros ahead of need, so that puts find its pages
    present."""
    verify_on_open_bytes: int = 16 << 20
    """How much of the log's end is read and checked at every open, and its queue units written anew."""
    delay_level_ms: tuple[int, ...] = (
        *(second * _SECOND for second in (1, 5, 10, 30)),
        *(minute * _MINUTE for minute in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 30)),
        1 * _HOUR,
        2 * _HOUR,
    )

    def __post_init__(self) -> None:
        if self.mapped_file_size_commit_log < 4096:
            raise BadInput("mappedFileSizeCommitLog must be at least 4096")
        if self.mapped_file_size_consume_queue <= 0 or self.mapped_file_size_consume_queue % CQ_UNIT_SIZE:
            raise BadInput("mappedFileSizeConsumeQueue must be a positive multiple of 20")
        if self.max_hash_slot_num < 1 or self.max_index_num < 2:
            raise BadInput("maxHashSlotNum and maxIndexNum must be positive")
        if len(self.store_host) not in (8, 20):
            raise BadInput("store_host must be a packed host of 8 or 20 bytes")
        if self.transient_store_pool_enable and self.is_sync_flush:
            raise BadInput("transientStorePoolEnable needs flushDiskType=ASYNC_FLUSH")

    @property
    def is_sync_flush(self) -> bool:
        return self.flush_disk_type is FlushDiskType.SYNC_FLUSH

    @property
    def commit_log_path(self) -> Path:
        return self.commit_log_dir or self.root / "commitlog"

    @property
    def consume_queue_path(self) -> Path:
        return self.consume_queue_dir or self.root / "consumequeue"

    @property
    def index_path(self) -> Path:
        return self.index_dir or self.root / "index"
