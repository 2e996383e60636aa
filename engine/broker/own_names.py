"""The topics and groups that a broker itself needs, made when they are missing."""

from __future__ import annotations

from engine.broker.groups import add_system_groups
from engine.broker.options import BrokerOptions
from engine.broker.state_files import Tables
from engine.broker.topics import add_system_topics, system_topics, withdraw_default_topic


def add_own_names(tables: Tables, options: BrokerOptions, now_ms: int) -> None:
    live = options.live
    wanted = system_topics(
        options.broker_cluster_name,
        options.broker_name,
        live.default_topic_queue_nums,
        live.auto_create_topic_enable,
        options.msg_trace_topic_name if options.trace_topic_enable else None,
    )
    add_system_topics(tables.topics, wanted, now_ms)
    if not live.auto_create_topic_enable:
        withdraw_default_topic(tables.topics, now_ms)
    add_system_groups(tables.groups, now_ms)
