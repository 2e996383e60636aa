"""From the broker's settings to the store's. Pure but for the size of this machine's memory."""

from __future__ import annotations

import os
from pathlib import Path

from engine.broker.delivery.delay_levels import parse_levels
from engine.broker.settings.options import BrokerOptions, LiveOptions
from engine.errors import BadInput
from engine.store.options import CQ_UNIT_SIZE, FlushDiskType, ReadLimits, RetentionRules, StoreOptions

_RECORD_MARGIN_BYTES = 64 << 10
_LARGEST_BODY = 15 << 20
"""A frame carries no more; the limit that counts is maxMessageSize, which may change at run time."""


def store_options(options: BrokerOptions, store_host: bytes) -> StoreOptions:
    root = Path(options.store_path_root_dir).expanduser()
    segment_bytes = options.mapped_file_size_commit_log
    largest_body = segment_bytes - _RECORD_MARGIN_BYTES - 8
    if largest_body < options.live.max_message_size:
        raise BadInput(
            f"mappedFileSizeCommitLog={segment_bytes} is too small for maxMessageSize="
            f"{options.live.max_message_size}: a segment must hold one message and 64 KiB more"
        )
    return StoreOptions(
        root=root,
        commit_log_dir=_commit_log_dir(options),
        mapped_file_size_commit_log=segment_bytes,
        mapped_file_size_consume_queue=_whole_units(options.mapped_file_size_consume_queue),
        max_hash_slot_num=options.max_hash_slot_num,
        max_index_num=options.max_index_num,
        message_index_enable=options.message_index_enable,
        max_message_size=min(largest_body, _LARGEST_BODY),
        flush_disk_type=FlushDiskType[options.flush_disk_type],
        flush_commit_log_least_pages=options.flush_commit_log_least_pages,
        flush_commit_log_thorough_interval_ms=options.flush_commit_log_thorough_interval,
        is_strict=options.signalbox_strict_start,
        store_host=store_host,
        check_crc_on_recover=options.check_crc_on_recover,
        transient_store_pool_enable=options.transient_store_pool_enable and not options.is_sync_flush,
        commit_interval_ms=options.commit_interval_commit_log,
        retention=retention_rules(options.live),
        reads=_reads(options),
        delay_level_ms=parse_levels(options.message_delay_level),
    )


def _whole_units(size_bytes: int) -> int:
    """Rounded up to whole queue units, as RocketMQ does with any size that it is given."""
    return -(-size_bytes // CQ_UNIT_SIZE) * CQ_UNIT_SIZE


def _commit_log_dir(options: BrokerOptions) -> Path | None:
    return Path(options.store_path_commit_log).expanduser() if options.store_path_commit_log else None


def retention_rules(live: LiveOptions) -> RetentionRules:
    return RetentionRules(
        file_reserved_time_hours=live.file_reserved_time,
        delete_when=live.delete_when,
        disk_max_used_space_ratio=live.disk_max_used_space_ratio,
        clean_file_forcibly_enable=live.clean_file_forcibly_enable,
        disk_space_clean_forcibly_ratio=live.disk_space_clean_forcibly_ratio,
        disk_space_warning_level_ratio=live.disk_space_warning_level_ratio,
    )


def _reads(options: BrokerOptions) -> ReadLimits:
    memory_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return ReadLimits(
        max_transfer_bytes_in_memory=options.max_transfer_bytes_on_message_in_memory,
        max_transfer_count_in_memory=options.max_transfer_count_on_message_in_memory,
        max_transfer_bytes_on_disk=options.max_transfer_bytes_on_message_in_disk,
        max_transfer_count_on_disk=options.max_transfer_count_on_message_in_disk,
        hot_window_bytes=memory_bytes * options.access_message_in_memory_max_ratio // 100,
    )
