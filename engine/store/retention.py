"""Which segments may go: by age at the hour given, earlier when the disk fills up.

    usage > 75 %   expired segments go at any hour
    usage > 85 %   segments go whatever their age (if cleanFileForciblyEnable)
    usage > 90 %   no more writes

Deciding is pure (`plan_expiry`); `log_front` deletes. Queue and index files follow the log's new
beginning. The active segment never goes, nor does anything that is not yet on disk and dispatched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.store.options import RetentionRules

_HOUR_MS = 3_600_000
RATIO_BOUNDS = {
    "disk_max_used_space_ratio": (10, 95),
    "disk_space_clean_forcibly_ratio": (30, 85),
    "disk_space_warning_level_ratio": (35, 90),
}
"""RocketMQ's: whatever is configured, a disk of 90 % takes no more writes."""


@dataclass(frozen=True, slots=True)
class SegmentAge:
    base_offset: int
    end_offset: int
    last_modified_ms: int


def used_ratio(rules: RetentionRules, name: str) -> float:
    """A percentage of the rules as a ratio, pulled into its bounds."""
    low, high = RATIO_BOUNDS[name]
    percent: int = getattr(rules, name)
    return max(low, min(percent, high)) / 100


def is_disk_writable(rules: RetentionRules, disk_usage_ratio: float) -> bool:
    return disk_usage_ratio <= used_ratio(rules, "disk_space_warning_level_ratio")


def is_delete_hour(delete_when: str, hour: int) -> bool:
    return any(part.strip().isdigit() and int(part) == hour for part in delete_when.split(";"))


def expiry_limit_ms(rules: RetentionRules, now_ms: int) -> int:
    """What was written last at this time or before has expired."""
    return now_ms - rules.file_reserved_time_hours * _HOUR_MS


def plan_expiry(
    segments: Sequence[SegmentAge],
    rules: RetentionRules,
    *,
    now_ms: int,
    hour: int,
    disk_usage_ratio: float,
    settled_offset: int,
    manual: bool = False,
) -> int:
    """How many segments go, counted from the oldest. `settled_offset`: only what ends before it may go."""
    is_full = disk_usage_ratio > used_ratio(rules, "disk_max_used_space_ratio")
    is_forced = rules.clean_file_forcibly_enable and disk_usage_ratio > used_ratio(
        rules, "disk_space_clean_forcibly_ratio"
    )
    if not (manual or is_full or is_forced or is_delete_hour(rules.delete_when, hour)):
        return 0
    oldest_kept_ms = expiry_limit_ms(rules, now_ms)
    count = 0
    for segment in segments[:-1][: rules.max_files_per_round]:
        is_expired = segment.last_modified_ms <= oldest_kept_ms
        if segment.end_offset > settled_offset or not (is_expired or is_forced):
            break
        count += 1
    return count
