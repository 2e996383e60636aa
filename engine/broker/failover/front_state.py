"""Whether this member's own log starts where it should (docs/adr/0015). Pure."""

from __future__ import annotations

from engine.broker.failover.group_state import GroupState


def missing_from(
    state: GroupState, log_start: int, *, is_linked: bool, lacks_only_expired: bool
) -> int | None:
    """The commit-log offset at which this log should start, when it starts later; None when all is well, or
    when no master has said where logs start. While a master is there (`is_linked`) its word is fresh; without
    one, time goes on and whatever has expired since is not missed."""
    if state.start_offset is None:
        return None
    wanted = max(state.start_offset, state.needed_from, state.copied_from)
    is_late = log_start > wanted and (is_linked or not lacks_only_expired)
    return wanted if is_late else None


def front_trouble(missing: int | None, log_start: int) -> str:
    if missing is None:
        return ""
    return (
        f"its log starts at offset {log_start}, but messages from offset {missing} on have not expired: "
        "it is not in sync and cannot become master. Stop it and empty its store, so that it copies anew"
    )
