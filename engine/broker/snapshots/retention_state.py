"""What a collector is told about deleting (section `retention`, docs/collector.md): the rules in force, and
what was deleted before its time. Pure."""

from __future__ import annotations

from engine.store.log.log_front import DeletedUnexpired
from engine.store.options import RetentionRules
from engine.store.retention import used_ratio


def retention_state(rules: RetentionRules, deleted: DeletedUnexpired) -> dict[str, object]:
    state: dict[str, object] = {
        "mayDeleteUnexpired": rules.clean_file_forcibly_enable,
        "reservedHours": rules.file_reserved_time_hours,
        "cleanRatio": used_ratio(rules, "disk_max_used_space_ratio"),
        "forceRatio": used_ratio(rules, "disk_space_clean_forcibly_ratio"),
        "refuseRatio": used_ratio(rules, "disk_space_warning_level_ratio"),
    }
    if deleted.segments:
        state["deletedUnexpired"] = {
            "segments": deleted.segments,
            "bytes": deleted.size_bytes,
            "fromOffset": deleted.from_offset,
            "toOffset": deleted.to_offset,
            "atMs": deleted.at_ms,
        }
    return state
