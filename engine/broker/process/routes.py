"""Third stage of a broker's start: which handler answers which request code, and what each is given."""

from __future__ import annotations

import os
import random
from functools import partial
from typing import Protocol

from engine.broker.admin.handlers import BrokerAdminHandlers, RefusalHandlers, StoreAdminHandlers
from engine.broker.clients.handlers import ClientHandlers
from engine.broker.clients.handlers_admin import ClientAdminHandlers
from engine.broker.clients.handlers_assignment import AssignmentHandlers
from engine.broker.damage.handlers import DamageHandlers
from engine.broker.delivery.handlers import SendBackHandlers, TimerHandlers
from engine.broker.delivery.parked_messages import Parking
from engine.broker.delivery.retries import RetryRule
from engine.broker.failover.handlers import BrokerGroupHandlers
from engine.broker.failover.role import role_name
from engine.broker.groups.group_table import GroupAdmission
from engine.broker.groups.handlers import GroupAdminHandlers
from engine.broker.offsets.handlers import OffsetHandlers
from engine.broker.offsets.handlers_admin import OffsetAdminHandlers
from engine.broker.pop.handlers import PopHandlers
from engine.broker.pop.pop_reads import QueueReads
from engine.broker.pop.pop_requests import PopAdmission
from engine.broker.process.core import Core, now_ms
from engine.broker.process.tasks import Tasks
from engine.broker.pulling.handlers import PullHandlers
from engine.broker.pulling.handlers_query import QueryHandlers
from engine.broker.replication.handlers import HAStatus, ReplicationHandlers
from engine.broker.sending.admission import Admission, StoredProperties
from engine.broker.sending.durability import Durability, durability
from engine.broker.sending.handlers import SendHandlers
from engine.broker.sending.handlers_plain import PlainSendHandlers
from engine.broker.sending.handlers_replies import ReplyHandlers
from engine.broker.snapshots.broker_snapshot import Snapshots, retention_state
from engine.broker.snapshots.handlers import SnapshotHandlers
from engine.broker.stats.runtime_info import runtime_info
from engine.broker.storage.housekeeping_task import disk_space
from engine.broker.topics.handlers import TopicAdminHandlers
from engine.broker.topics.topic_rules import TopicRules
from engine.broker.transactions.handlers import TransactionHandlers
from engine.net.outcomes import Handler
from engine.protocol.hosts import pack_host
from engine.protocol.message_ids import UniqueKeys


class RouteSource(Protocol):
    def routes(self) -> dict[int, Handler]: ...


def build_routes(core: Core, tasks: Tasks) -> dict[int, Handler]:
    """Where two sources have the same code, the later one answers."""
    routes: dict[int, Handler] = {}
    status = HAStatus(core.role, core.store.log, tasks.replication.member, now_ms=now_ms)
    for source in (
        *_message_handlers(core, tasks),
        *_consumer_handlers(core, tasks),
        *_pop_handlers(core, tasks),
        *_table_handlers(core, tasks),
        *_broker_handlers(core, tasks, status),
        *_group_handlers(core, tasks, status),
    ):
        routes.update(source.routes())
    return routes | core.access.routes(core.identity)


def _message_handlers(core: Core, tasks: Tasks) -> list[RouteSource]:
    """Sends of all kinds, and messages that come back or wait for their time."""
    options, tables, live = core.options, core.tables, core.options.live
    retries = RetryRule(GroupAdmission(tables.groups, live, tasks.writer.save), core.clients.locks)
    parking = Parking(
        options.broker_name,
        len(core.store.options.delay_level_ms),
        live,
        has_timers=options.timer_wheel_enable,
    )
    group = tasks.replication.group
    safe = durability(options, group.in_sync_table if group is not None else lambda: None)
    return [
        *_send_handlers(core, tasks, retries, parking, safe),
        SendBackHandlers(
            tables.topics,
            retries,
            parking,
            core.store.log,
            live,
            core.figures.traffic,
            core.figures.disk,
            durability=safe,
            now_ms=now_ms,
            draw=random.randrange,
            appended=core.log_events.appended,
            check_record=core.access.check_record,
        ),
        TimerHandlers(
            options.broker_name,
            options.region_id,
            tables.topics,
            parking,
            core.store.log,
            live,
            core.figures.disk,
            tables.timer_counts,
            durability=safe,
            check=lambda: tasks.master.waiting.timer_store.check,
            now_ms=now_ms,
            appended=core.log_events.appended,
        ),
        TransactionHandlers(
            core.store.log,
            core.store.queues,
            core.store.search,
            tasks.master.transactions,
            parking,
            core.figures.traffic,
            now_ms=now_ms,
            appended=core.log_events.appended,
            check_record=core.access.check_record,
        ),
    ]


def _send_handlers(
    core: Core, tasks: Tasks, retries: RetryRule, parking: Parking, safe: Durability
) -> list[RouteSource]:
    options, address, topics, live = core.options, core.ports.address, core.tables.topics, core.options.live
    figures, appended = core.figures, core.log_events.appended
    unique_keys = UniqueKeys(address[0], os.getpid(), random.getrandbits(32))
    properties = StoredProperties(options.broker_cluster_name, options.region_id, unique_keys.next)
    admission = Admission(live, figures.disk, figures.appends, properties, figures.lag.delay_ms)
    handlers = PlainSendHandlers if safe.is_instant else SendHandlers
    sends = handlers(
        pack_host(address),
        options.region_id,
        topics,
        figures.appends,
        live,
        admission,
        parking,
        safe,
        retries,
        tasks.master.transactions,
        figures.traffic,
        now_ms=now_ms,
        draw=random.randrange,
        appended=appended,
    )
    replies = ReplyHandlers(
        address,
        options.region_id,
        topics,
        core.clients.producers,
        core.store.log,
        live,
        admission,
        figures.traffic,
        now_ms=now_ms,
        draw=random.randrange,
        appended=appended,
    )
    return [sends, replies]


def _consumer_handlers(core: Core, tasks: Tasks) -> list[RouteSource]:
    options, tables, store, live = core.options, core.tables, core.store, core.options.live
    consumers = core.clients.consumers
    groups = GroupAdmission(tables.groups, live, tasks.writer.save)
    return [
        PullHandlers(
            tables.topics,
            groups,
            consumers,
            tables.offsets,
            store.log,
            store.queues,
            live,
            core.figures.traffic,
            core.role,
            tasks.damage.reads,
            hot_window_bytes=store.options.reads.hot_window_bytes,
            allows_sql=options.enable_property_filter,
            now_ms=now_ms,
        ),
        OffsetHandlers(tables.topics, groups, tables.offsets, store.queues, store.search, now_ms=now_ms),
        ClientHandlers(
            consumers,
            core.clients.producers,
            groups,
            tables.topics,
            core.clients.membership,
            allows_sql=options.enable_property_filter,
            now_ms=now_ms,
            announce=tasks.writer.announce,
        ),
        QueryHandlers(store.log, store.search, live, core.access.check_record),
    ]


def _pop_handlers(core: Core, tasks: Tasks) -> list[RouteSource]:
    options, tables, store, live = core.options, core.tables, core.store, core.options.live
    groups = GroupAdmission(tables.groups, live, tasks.writer.save)
    return [
        PopHandlers(
            PopAdmission(tables.topics, groups, live, now_ms=now_ms),
            tables.topics,
            store,
            QueueReads(store.queues, tables.offsets, tables.orders),
            tables.orders,
            tasks.waits.holds,
            live,
            now_ms,
            random.randrange,
            tasks.waits.can_park,
            options.broker_name,
            tables.offsets,
            tasks.master.pops.log,
            core.figures.traffic,
            is_sync_flush=options.is_sync_flush,
            wake=tasks.waits.wake_soon,
            damaged=tasks.damage.reads,
            allows_sql=options.enable_property_filter,
        ),
    ]


def _table_handlers(core: Core, tasks: Tasks) -> list[RouteSource]:
    """What administrators ask of topics, groups, offsets and clients."""
    who, tables, store, live = core.identity, core.tables, core.store, core.options.live
    topics, groups, offsets, consumers = tables.topics, tables.groups, tables.offsets, core.clients.consumers
    figures, save = core.figures, tasks.writer.save
    rules = TopicRules(who.cluster, who.name, may_be_mixed=lambda: live.enable_mixed_message_type)
    return [
        TopicAdminHandlers(
            who.name,
            rules,
            topics,
            offsets,
            figures.traffic,
            figures.stats,
            store.queues,
            store.search,
            now_ms=now_ms,
            save=save,
        ),
        GroupAdminHandlers(groups, offsets, figures.traffic, live, now_ms=now_ms, save=save),
        OffsetAdminHandlers(
            who.name,
            who.address,
            topics,
            groups,
            offsets,
            consumers,
            store.queues,
            store.search,
            live,
            tables.delays,
            figures.progress,
            wake=tasks.waits.wake_soon,
            now_ms=now_ms,
        ),
        ClientAdminHandlers(
            who.name,
            consumers,
            core.clients.producers,
            topics,
            groups,
            store.log,
            check_record=core.access.check_record,
        ),
        AssignmentHandlers(
            who.name,
            topics,
            groups,
            consumers,
            tables.modes,
            core.clients.locks,
            tasks.registration.connection,
            now_ms,
        ),
    ]


def _broker_handlers(core: Core, tasks: Tasks, status: HAStatus) -> list[RouteSource]:
    """What administrators and collectors ask of the broker itself."""
    member = tasks.replication.member
    return [
        StoreAdminHandlers(
            core.tables.topics,
            core.clients.consumers,
            core.store.queues,
            delete_expired_soon=tasks.log.housekeeping.delete_expired_soon,
            cleaning_refusal=member.streams.cleaning_refusal if member is not None else str,
        ),
        BrokerAdminHandlers(
            core.options,
            core.changes,
            core.figures.stats,
            runtime_info=partial(_runtime_info, core, tasks),
            now_ms=now_ms,
        ),
        SnapshotHandlers(_snapshots(core, tasks, status), run_id=core.runtime.booted_ms, now_ms=now_ms),
        DamageHandlers(tasks.damage.records),
        RefusalHandlers(),
    ]


def _group_handlers(core: Core, tasks: Tasks, status: HAStatus) -> list[RouteSource]:
    """What the members of a broker group ask each other, and operators about them."""
    name, secret = (core.identity.cluster, core.identity.name), core.runtime.cluster_secret
    member = tasks.replication.member
    return [
        ReplicationHandlers(core.identity, core.role, core.store.log, status, tasks.replication.files),
        BrokerGroupHandlers(*name, secret, core.store.repairs, member, tasks.damage.exchange),
    ]


def _runtime_info(core: Core, tasks: Tasks) -> dict[str, str]:
    return (
        runtime_info(
            core.store,
            core.figures.stats,
            core.figures.put_times,
            disk_space(str(core.store.options.commit_log_path)),
            now_ms=now_ms(),
            boot_ms=core.runtime.booted_ms,
            loop_lag_ms=core.figures.lag.lag_ms,
            start_accepting_ms=core.options.live.start_accept_send_request_time_stamp,
            is_active=not tasks.waits.is_closing,
        )
        | tasks.master.waiting.progress()
    )


def _snapshots(core: Core, tasks: Tasks, status: HAStatus) -> Snapshots:
    who, options, store, tls = core.identity, core.options, core.store, core.runtime.tls

    def ha_state() -> dict[str, object]:
        role = role_name(options.broker_role, core.role)
        return {"role": role, "permission": options.live.broker_permission, **status.section()}

    return Snapshots(
        {
            "cluster": who.cluster,
            "name": who.name,
            "id": core.role.member_id,
            "address": who.address,
            "haAddress": who.ha_address,
            "bootedMs": core.runtime.booted_ms,
        },
        core.tables.topics,
        core.tables.groups,
        core.tables.offsets,
        core.clients.consumers,
        core.figures.traffic.senders,
        store.log,
        store.queues,
        store.search,
        core.figures.stats,
        {
            "disk": lambda: {"usageRatio": round(core.figures.disk.usage_ratio, 3)},
            "ha": ha_state,
            "retention": lambda: retention_state(store.front.rules, store.front.deleted_unexpired),
            "damage": lambda: tasks.damage.section() or {},
            "certificate": lambda: {} if tls.not_after_ms is None else {"notAfterMs": tls.not_after_ms},
        },
    )
