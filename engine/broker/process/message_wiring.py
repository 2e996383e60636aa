"""Puts the clients' side of a broker together: which handler gets which part. No logic of its own."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import dataclass

from engine.access.gate import RecordCheck, unchecked
from engine.broker.clients.consumer_table import ConsumerTable
from engine.broker.clients.handlers import ClientHandlers
from engine.broker.clients.handlers_locks import LockHandlers
from engine.broker.clients.membership_io import Membership
from engine.broker.clients.producer_table import ProducerTable
from engine.broker.clients.queue_locks import QueueLocks
from engine.broker.damage.damaged_reads import DamagedReads
from engine.broker.delivery.deferral import Parking
from engine.broker.delivery.handlers_send_back import SendBackHandlers
from engine.broker.delivery.handlers_timers import TimerHandlers
from engine.broker.delivery.retries import RetryRule
from engine.broker.delivery.timer_counts import TimerCounts
from engine.broker.failover.role import Role
from engine.broker.offsets.handlers import OffsetHandlers
from engine.broker.process.admin_wiring import RouteSource
from engine.broker.pulling.handlers import PullHandlers
from engine.broker.pulling.handlers_query import QueryHandlers
from engine.broker.sending.durability import Durability
from engine.broker.sending.handlers import SendHandlers, SendPlace
from engine.broker.sending.handlers_plain import PlainSends
from engine.broker.sending.handlers_replies import ReplyHandlers
from engine.broker.sending.stored_properties import StoredProperties
from engine.broker.settings.options import BrokerOptions
from engine.broker.state.tables import Tables
from engine.broker.stats.put_times import Appends
from engine.broker.stats.traffic import Traffic
from engine.broker.storage.disk_room import DiskRoom
from engine.broker.transactions.handlers import TransactionHandlers
from engine.broker.transactions.transaction_log_io import TransactionLog
from engine.net.connection import Connection
from engine.protocol.hosts import Host, pack_host
from engine.protocol.layouts.checkpoints import TimerCheck
from engine.protocol.message_ids import UniqueKeys
from engine.store.message_store import MessageStore


@dataclass(frozen=True, slots=True)
class MessageParts:
    options: BrokerOptions
    role: Role
    address: Host
    tables: Tables
    consumers: ConsumerTable[Connection]
    producers: ProducerTable[Connection]
    locks: QueueLocks
    membership: Membership
    store: MessageStore
    appends: Appends
    traffic: Traffic
    transactions: TransactionLog
    disk: DiskRoom
    now_ms: Callable[[], int]
    waited_ms: Callable[[float, float], float]
    parking: Parking
    durability: Durability
    timer_counts: TimerCounts
    timer_check: Callable[[], TimerCheck]
    appended: Callable[[], None]
    save: Callable[[str], None]
    announce: Callable[[str], None]
    damaged_reads: DamagedReads
    check_record: RecordCheck = unchecked


def message_handlers(parts: MessageParts) -> list[RouteSource]:
    topics, groups, offsets = parts.tables.topics, parts.tables.groups, parts.tables.offsets
    store, live, now_ms, save = parts.store, parts.options.live, parts.now_ms, parts.save
    consumers, producers = parts.consumers, parts.producers
    retries = RetryRule(groups, parts.locks, live, save=save)
    return [
        *_send_handlers(parts, retries),
        *_later_handlers(parts, retries),
        PullHandlers(
            topics,
            groups,
            consumers,
            offsets,
            store,
            live,
            parts.traffic,
            parts.role,
            parts.damaged_reads,
            hot_window_bytes=store.options.reads.hot_window_bytes,
            allows_sql=parts.options.enable_property_filter,
            now_ms=now_ms,
            save=save,
        ),
        OffsetHandlers(topics, groups, offsets, store, live, now_ms=now_ms, save=save),
        ClientHandlers(
            consumers,
            producers,
            groups,
            topics,
            parts.membership,
            live,
            allows_sql=parts.options.enable_property_filter,
            now_ms=now_ms,
            save=save,
            announce=parts.announce,
        ),
        LockHandlers(parts.locks, now_ms=now_ms),
        TransactionHandlers(
            store,
            parts.transactions,
            parts.parking,
            parts.traffic,
            now_ms=now_ms,
            appended=parts.appended,
            check_record=parts.check_record,
        ),
        QueryHandlers(store, live, parts.check_record),
        _reply_handlers(parts),
    ]


def _reply_handlers(parts: MessageParts) -> ReplyHandlers:
    options = parts.options
    unique_keys = UniqueKeys(parts.address[0], os.getpid(), random.getrandbits(32))
    return ReplyHandlers(
        parts.address,
        options.region_id,
        parts.tables.topics,
        parts.producers,
        parts.store,
        options.live,
        StoredProperties(options.broker_cluster_name, options.region_id, unique_keys.next),
        parts.traffic,
        parts.disk,
        now_ms=parts.now_ms,
        draw=random.randrange,
        appended=parts.appended,
    )


def _later_handlers(parts: MessageParts, retries: RetryRule) -> list[RouteSource]:
    """What comes back, and what was timed."""
    topics, store, live, now_ms = parts.tables.topics, parts.store, parts.options.live, parts.now_ms
    parking = parts.parking
    return [
        SendBackHandlers(
            topics,
            retries,
            parking,
            store,
            live,
            parts.traffic,
            parts.disk,
            durability=parts.durability,
            now_ms=now_ms,
            draw=random.randrange,
            appended=parts.appended,
            check_record=parts.check_record,
        ),
        TimerHandlers(
            parts.options.broker_name,
            parts.options.region_id,
            topics,
            parking,
            store,
            live,
            parts.disk,
            parts.timer_counts,
            durability=parts.durability,
            check=parts.timer_check,
            now_ms=now_ms,
            appended=parts.appended,
        ),
    ]


def _send_handlers(parts: MessageParts, retries: RetryRule) -> list[RouteSource]:
    """The later routes win: plain sends are taken out before the others."""
    options = parts.options
    unique_keys = UniqueKeys(parts.address[0], os.getpid(), random.getrandbits(32))
    properties = StoredProperties(options.broker_cluster_name, options.region_id, unique_keys.next)
    sends = SendHandlers(
        SendPlace(pack_host(parts.address), options.region_id),
        parts.tables.topics,
        parts.appends,
        options.live,
        properties,
        parts.parking,
        parts.durability,
        retries,
        parts.transactions,
        parts.traffic,
        parts.disk,
        now_ms=parts.now_ms,
        waited_ms=parts.waited_ms,
        draw=random.randrange,
        appended=parts.appended,
    )
    if not parts.durability.is_instant:
        return [sends]
    plain = PlainSends(
        pack_host(parts.address),
        options.region_id,
        properties.suffixes,
        parts.tables.topics,
        parts.appends,
        options.live,
        parts.traffic,
        parts.disk,
        now_ms=parts.now_ms,
        waited_ms=parts.waited_ms,
        appended=parts.appended,
        otherwise=sends.send,
    )
    return [sends, plain]
