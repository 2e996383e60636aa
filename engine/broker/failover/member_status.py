"""What a member answers about itself (30010), and whether its log starts where it should (docs/adr/0015).
Pure.
"""

from __future__ import annotations

from engine.broker.failover.group_state import GroupName, GroupState
from engine.broker.replication.epochs import log_epoch
from engine.protocol.bodies.brokers import GroupStatus
from engine.store.log.log_front import LogFront
from engine.store.log.message_log import MessageLog
from engine.store.log.replica_log import ReplicaLog


def missing_from(
    state: GroupState, log_start: int, *, is_linked: bool, lacks_only_expired: bool
) -> int | None:
    """The commit-log offset at which this log should start, when it starts later; None when it starts early
    enough, or when no master has decided where logs start. While a master is connected (`is_linked`) its
    decision is fresh; without one, messages that have expired since are not missed."""
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


def member_status(
    name: GroupName,
    state: GroupState,
    log: MessageLog,
    replica: ReplicaLog,
    front: LogFront,
    *,
    role: str,
    is_linked: bool,
    ha_address: str,
    trouble: str,
    now_ms: int,
) -> GroupStatus:
    """`is_linked`: a slave whose master is connected."""
    log_start = log.min_offset
    missing = (
        None if role == "master" else own_missing_from(state, log, front, is_linked=is_linked, now_ms=now_ms)
    )
    return GroupStatus(
        cluster_name=name.cluster,
        broker_name=name.broker,
        member_id=name.member_id,
        role=role,
        epoch=state.epoch,
        reign=state.term_id,
        master_id=state.master_id,
        log_epoch=log_epoch(state.history),
        log_start=log_start,
        log_end=replica.durable_end,
        copied_from=state.copied_from,
        whole_at=state.caught_up_at,
        confirmed_offset=replica.confirmed_offset or state.confirmed_offset,
        in_sync=state.in_sync,
        members={str(member): address for member, address in state.members.items()},
        ha_address=ha_address,
        promised_in_sync=state.promised_in_sync,
        start_offset=state.start_offset,
        unexpired_from=front.unexpired_from(now_ms),
        missing_from=missing,
        trouble=trouble or front_trouble(missing, log_start) or None,
    )


def own_missing_from(
    state: GroupState, log: MessageLog, front: LogFront, *, is_linked: bool, now_ms: int
) -> int | None:
    """Where this log should start, when it starts later; for a member that is not master."""
    is_old = front.lacks_only_expired(now_ms)
    return missing_from(state, log.min_offset, is_linked=is_linked, lacks_only_expired=is_old)
