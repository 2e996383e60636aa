"""The admin for code without an event loop: the same groups, the same methods. Safe from any thread."""

from __future__ import annotations

from typing import Unpack

from engine.client import admin
from engine.client.admin import (
    ADMIN_TIMEOUT_MS,
    access,
    brokers,
    groups,
    messages,
    name_servers,
    offsets,
    topics,
)
from engine.client.blocking.loop_thread import Blocking, BlockingClient, LoopThread, waiting
from engine.client.options import ServerAccess
from engine.client.tracing import trace_reader


class ClusterAdmin(Blocking):
    """`admin.cluster`."""

    info = waiting(name_servers.ClusterAdmin.info)
    masters = waiting(name_servers.ClusterAdmin.masters)
    brokers = waiting(name_servers.ClusterAdmin.brokers)
    address_of = waiting(name_servers.ClusterAdmin.address_of)


class TopicAdmin(Blocking):
    """`admin.topics`."""

    names = waiting(topics.TopicAdmin.names)
    system_topics = waiting(topics.TopicAdmin.system_topics)
    route = waiting(topics.TopicAdmin.route)
    delete_in_name_servers = waiting(topics.TopicAdmin.delete_in_name_servers)
    create = waiting(topics.TopicAdmin.create)
    create_many = waiting(topics.TopicAdmin.create_many)
    delete_on_broker = waiting(topics.TopicAdmin.delete_on_broker)
    config = waiting(topics.TopicAdmin.config)
    configs = waiting(topics.TopicAdmin.configs)
    stats_on_broker = waiting(topics.TopicAdmin.stats_on_broker)
    groups_on_broker = waiting(topics.TopicAdmin.groups_on_broker)
    stats = waiting(topics.TopicAdmin.stats)
    groups = waiting(topics.TopicAdmin.groups)
    delete = waiting(topics.TopicAdmin.delete)
    masters_of = waiting(topics.TopicAdmin.masters_of)


class GroupAdmin(Blocking):
    """`admin.groups`."""

    create = waiting(groups.GroupAdmin.create)
    create_many = waiting(groups.GroupAdmin.create_many)
    configs = waiting(groups.GroupAdmin.configs)
    config = waiting(groups.GroupAdmin.config)
    delete = waiting(groups.GroupAdmin.delete)
    set_readable = waiting(groups.GroupAdmin.set_readable)
    set_request_mode = waiting(groups.GroupAdmin.set_request_mode)
    request_modes = waiting(groups.GroupAdmin.request_modes)
    consume_stats_on_broker = waiting(groups.GroupAdmin.consume_stats_on_broker)
    consume_stats = waiting(groups.GroupAdmin.consume_stats)
    consume_stats_of_broker = waiting(groups.GroupAdmin.consume_stats_of_broker)
    time_spans = waiting(groups.GroupAdmin.time_spans)
    topics = waiting(groups.GroupAdmin.topics)
    subscription = waiting(groups.GroupAdmin.subscription)


class OffsetAdmin(Blocking):
    """`admin.offsets`."""

    max_offset = waiting(offsets.OffsetAdmin.max_offset)
    min_offset = waiting(offsets.OffsetAdmin.min_offset)
    offset_at = waiting(offsets.OffsetAdmin.offset_at)
    earliest_store_time = waiting(offsets.OffsetAdmin.earliest_store_time)
    committed = waiting(offsets.OffsetAdmin.committed)
    commit = waiting(offsets.OffsetAdmin.commit)
    reset_on_broker = waiting(offsets.OffsetAdmin.reset_on_broker)
    reset_queue = waiting(offsets.OffsetAdmin.reset_queue)
    reset = waiting(offsets.OffsetAdmin.reset)
    clone = waiting(offsets.OffsetAdmin.clone)
    all_on_broker = waiting(offsets.OffsetAdmin.all_on_broker)
    of_clients = waiting(offsets.OffsetAdmin.of_clients)
    corrections = waiting(offsets.OffsetAdmin.corrections)


class MessageAdmin(Blocking):
    """`admin.messages`."""

    by_offset_id = waiting(messages.MessageAdmin.by_offset_id)
    by_unique_key = waiting(messages.MessageAdmin.by_unique_key)
    by_key = waiting(messages.MessageAdmin.by_key)
    search = waiting(messages.MessageAdmin.search)
    stored_between = waiting(messages.MessageAdmin.stored_between)
    at = waiting(messages.MessageAdmin.at)
    queues = waiting(messages.MessageAdmin.queues)
    read = waiting(messages.MessageAdmin.read)
    consume_queue = waiting(messages.MessageAdmin.consume_queue)
    consume_directly = waiting(messages.MessageAdmin.consume_directly)


class ClientAdmin(Blocking):
    """`admin.clients`."""

    consumers = waiting(groups.ClientAdmin.consumers)
    consumer_ids = waiting(groups.ClientAdmin.consumer_ids)
    producers = waiting(groups.ClientAdmin.producers)
    all_producers = waiting(groups.ClientAdmin.all_producers)
    running_info = waiting(groups.ClientAdmin.running_info)


class BrokerAdmin(Blocking):
    """`admin.brokers`."""

    runtime_info = waiting(brokers.BrokerAdmin.runtime_info)
    config = waiting(brokers.BrokerAdmin.config)
    update_config = waiting(brokers.BrokerAdmin.update_config)
    stats = waiting(brokers.BrokerAdmin.stats)
    ha_status = waiting(brokers.BrokerAdmin.ha_status)
    snapshot = waiting(brokers.BrokerAdmin.snapshot)
    delay_offsets = waiting(brokers.BrokerAdmin.delay_offsets)
    timer_metrics = waiting(brokers.BrokerAdmin.timer_metrics)
    epoch_cache = waiting(brokers.BrokerAdmin.epoch_cache)
    clean_expired_queues = waiting(brokers.BrokerAdmin.clean_expired_queues)
    clean_unused_topics = waiting(brokers.BrokerAdmin.clean_unused_topics)
    delete_expired_commit_logs = waiting(brokers.BrokerAdmin.delete_expired_commit_logs)


class BrokerGroupAdmin(Blocking):
    """`admin.broker_groups`."""

    status = waiting(brokers.BrokerGroupAdmin.status)
    promote = waiting(brokers.BrokerGroupAdmin.promote)
    damaged_records = waiting(brokers.BrokerGroupAdmin.damaged_records)


class NameServerAdmin(Blocking):
    """`admin.name_servers`."""

    config = waiting(name_servers.NameServerAdmin.config)
    update_config = waiting(name_servers.NameServerAdmin.update_config)
    data_version = waiting(name_servers.NameServerAdmin.data_version)
    put = waiting(name_servers.NameServerAdmin.put)
    get = waiting(name_servers.NameServerAdmin.get)
    delete = waiting(name_servers.NameServerAdmin.delete)
    pairs = waiting(name_servers.NameServerAdmin.pairs)
    wipe_write_perm = waiting(name_servers.NameServerAdmin.wipe_write_perm)
    add_write_perm = waiting(name_servers.NameServerAdmin.add_write_perm)


class TraceReader(Blocking):
    """`admin.traces`."""

    read = waiting(trace_reader.TraceReader.read)


class AccessAdmin(Blocking):
    """`admin.access`."""

    create_user = waiting(access.AccessAdmin.create_user)
    update_user = waiting(access.AccessAdmin.update_user)
    delete_user = waiting(access.AccessAdmin.delete_user)
    user = waiting(access.AccessAdmin.user)
    users = waiting(access.AccessAdmin.users)
    create_acl = waiting(access.AccessAdmin.create_acl)
    update_acl = waiting(access.AccessAdmin.update_acl)
    delete_acl = waiting(access.AccessAdmin.delete_acl)
    acl = waiting(access.AccessAdmin.acl)
    acls = waiting(access.AccessAdmin.acls)


class Admin(BlockingClient):
    """`engine.client.Admin` without await.

    >>> with blocking.Admin(namesrv=NAMESRV) as admin:
    ...     "TBW102" in admin.topics.names()
    True
    """

    def __init__(
        self,
        *,
        timeout_ms: int = ADMIN_TIMEOUT_MS,
        loop: LoopThread | None = None,
        **access: Unpack[ServerAccess],
    ) -> None:
        super().__init__(loop, lambda: admin.Admin(timeout_ms=timeout_ms, **access))
        self.cluster = ClusterAdmin(self._loop, self._inner.cluster)
        self.topics = TopicAdmin(self._loop, self._inner.topics)
        self.groups = GroupAdmin(self._loop, self._inner.groups)
        self.offsets = OffsetAdmin(self._loop, self._inner.offsets)
        self.messages = MessageAdmin(self._loop, self._inner.messages)
        self.clients = ClientAdmin(self._loop, self._inner.clients)
        self.brokers = BrokerAdmin(self._loop, self._inner.brokers)
        self.broker_groups = BrokerGroupAdmin(self._loop, self._inner.broker_groups)
        self.name_servers = NameServerAdmin(self._loop, self._inner.name_servers)
        self.traces = TraceReader(self._loop, self._inner.traces)
        self.access = AccessAdmin(self._loop, self._inner.access)
