"""What a member says of itself when it is asked (30010), from what it knows. Pure."""

from __future__ import annotations

from engine.broker.failover.front_state import front_trouble, missing_from
from engine.broker.failover.group_state import GroupName, GroupState
from engine.broker.replication.epochs import log_epoch
from engine.protocol.bodies.brokers import GroupStatus, InSyncInfo
from engine.store.message_store import MessageStore


def member_status(
    name: GroupName,
    state: GroupState,
    store: MessageStore,
    *,
    role: str,
    is_linked: bool,
    ha_address: str,
    trouble: str,
    now_ms: int,
) -> GroupStatus:
    """`is_linked`: a slave that hears its master now."""
    told, rules, log_start = state.in_sync, store.options.retention, store.log.min_offset
    missing = None if role == "master" else own_missing_from(state, store, is_linked=is_linked, now_ms=now_ms)
    return GroupStatus(
        cluster_name=name.cluster,
        broker_name=name.broker,
        member_id=name.member_id,
        role=role,
        epoch=state.epoch,
        reign=state.reign,
        master_id=state.master_id,
        log_epoch=log_epoch(state.history),
        log_start=log_start,
        log_end=store.replica.durable_end,
        copied_from=state.copied_from,
        whole_at=state.whole_at,
        confirmed_offset=store.replica.confirmed_offset or state.confirmed_offset,
        in_sync=InSyncInfo(told.epoch, told.version, told.ids, told.min_in_sync, told.settled),
        members={str(member): address for member, address in state.members.items()},
        ha_address=ha_address,
        promised_in_sync=state.promised_in_sync,
        start_offset=state.start_offset,
        unexpired_from=store.front.unexpired_from(rules, now_ms),
        missing_from=missing,
        trouble=trouble or front_trouble(missing, log_start) or None,
    )


def own_missing_from(state: GroupState, store: MessageStore, *, is_linked: bool, now_ms: int) -> int | None:
    """Where this log should start, when it starts later; of whoever is not master."""
    is_old = store.front.lacks_only_expired(store.options.retention, now_ms)
    return missing_from(state, store.log.min_offset, is_linked=is_linked, lacks_only_expired=is_old)
