"""Puts the administrators' side of a broker together: which handler gets which part. No logic of its own."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Protocol

from engine.access.gate import RecordCheck, unchecked
from engine.broker.admin.handlers import BrokerAdminHandlers
from engine.broker.admin.handlers_refused import RefusalHandlers
from engine.broker.admin.handlers_store import StoreAdminHandlers
from engine.broker.clients.consumer_table import ConsumerTable
from engine.broker.clients.handlers_admin import ClientAdminHandlers
from engine.broker.clients.handlers_assignment import AssignmentHandlers
from engine.broker.clients.producer_table import ProducerTable
from engine.broker.clients.request_modes import RequestModes
from engine.broker.damage.handlers import DamageHandlers
from engine.broker.failover.role import Role, role_name
from engine.broker.groups.handlers import GroupAdminHandlers
from engine.broker.offsets.handlers_admin import OffsetAdminHandlers
from engine.broker.offsets.handlers_progress import ProgressHandlers
from engine.broker.offsets.progress import ConsumeProgress
from engine.broker.process.damage_wiring import DamageControl
from engine.broker.replication.handlers import HAAdminHandlers
from engine.broker.replication.handlers_state import ReplicaStateHandlers
from engine.broker.replication.handlers_status import HAStatus
from engine.broker.replication.replica_files import ReplicaFiles
from engine.broker.settings.config_changes import ConfigChanges
from engine.broker.settings.identity import BrokerIdentity
from engine.broker.settings.options import BrokerOptions
from engine.broker.snapshots.broker_snapshot import Snapshots
from engine.broker.snapshots.handlers import SnapshotHandlers
from engine.broker.snapshots.retention_state import retention_state
from engine.broker.state.tables import Tables
from engine.broker.stats.broker_stats import BrokerStats
from engine.broker.stats.traffic import Traffic
from engine.broker.storage.disk_room import DiskRoom
from engine.broker.topics.handlers import TopicAdminHandlers
from engine.broker.topics.topic_rules import TopicRules
from engine.net.connection import Connection
from engine.net.outcomes import Handler
from engine.net.tls import ServerTls
from engine.store.message_store import MessageStore


class RouteSource(Protocol):
    def routes(self) -> dict[int, Handler]: ...


@dataclass(frozen=True, slots=True)
class AdminParts:
    identity: BrokerIdentity
    options: BrokerOptions
    tables: Tables
    consumers: ConsumerTable[Connection]
    producers: ProducerTable[Connection]
    store: MessageStore
    traffic: Traffic
    stats: BrokerStats
    progress: ConsumeProgress
    modes: RequestModes
    changes: ConfigChanges
    now_ms: Callable[[], int]
    save: Callable[[str], None]
    wake: Callable[[Hashable], None]
    runtime_info: Callable[[], dict[str, str]]
    delete_expired_soon: Callable[[], None]
    cleaning_refusal: Callable[[], str]
    name_server: Callable[[], Connection | None]
    disk: DiskRoom
    booted_ms: int
    role: Role
    replica_files: ReplicaFiles
    ha_status: HAStatus
    tls: ServerTls
    damage: DamageControl
    check_record: RecordCheck = unchecked


def admin_handlers(parts: AdminParts) -> list[RouteSource]:
    name, store, live = parts.identity.name, parts.store, parts.options.live
    topics, groups, offsets = parts.tables.topics, parts.tables.groups, parts.tables.offsets
    consumers, now_ms, save = parts.consumers, parts.now_ms, parts.save
    rules = TopicRules(parts.identity.cluster, name, may_be_mixed=lambda: live.enable_mixed_message_type)
    return [
        TopicAdminHandlers(
            name, rules, topics, offsets, parts.traffic, parts.stats, store, now_ms=now_ms, save=save
        ),
        GroupAdminHandlers(groups, offsets, parts.traffic, live, now_ms=now_ms, save=save),
        ProgressHandlers(
            parts.identity.address, parts.progress, topics, groups, offsets, consumers, now_ms=now_ms
        ),
        OffsetAdminHandlers(
            name, topics, groups, offsets, consumers, store, live, parts.tables.delays, wake=parts.wake
        ),
        ClientAdminHandlers(
            name, consumers, parts.producers, topics, groups, store, check_record=parts.check_record
        ),
        StoreAdminHandlers(
            topics,
            consumers,
            store,
            delete_expired_soon=parts.delete_expired_soon,
            cleaning_refusal=parts.cleaning_refusal,
        ),
        AssignmentHandlers(name, topics, groups, consumers, parts.modes, name_server=parts.name_server),
        BrokerAdminHandlers(
            parts.options, parts.changes, parts.stats, runtime_info=parts.runtime_info, now_ms=now_ms
        ),
        HAAdminHandlers(parts.identity, parts.role, store, parts.ha_status),
        ReplicaStateHandlers(store, parts.replica_files),
        SnapshotHandlers(_snapshots(parts), run_id=parts.booted_ms, now_ms=now_ms),
        DamageHandlers(parts.damage.records),
        RefusalHandlers(),
    ]


def _snapshots(parts: AdminParts) -> Snapshots:
    who, role = parts.identity, parts.role
    return Snapshots(
        {
            "cluster": who.cluster,
            "name": who.name,
            "id": role.member_id,
            "address": who.address,
            "haAddress": who.ha_address,
            "bootedMs": parts.booted_ms,
        },
        parts.tables.topics,
        parts.tables.groups,
        parts.tables.offsets,
        parts.consumers,
        parts.traffic.senders,
        parts.store,
        parts.stats,
        parts.disk,
        {
            "ha": lambda: _ha_state(parts),
            "retention": lambda: retention_state(
                parts.store.options.retention, parts.store.front.deleted_unexpired
            ),
            "damage": lambda: parts.damage.section() or {},
            "certificate": lambda: _certificate_state(parts.tls),
        },
    )


def _certificate_state(tls: ServerTls) -> dict[str, object]:
    return {} if tls.not_after_ms is None else {"notAfterMs": tls.not_after_ms}


def _ha_state(parts: AdminParts) -> dict[str, object]:
    return {
        "role": role_name(parts.options.broker_role, parts.role),
        "permission": parts.options.live.broker_permission,
        **parts.ha_status.section(),
    }
