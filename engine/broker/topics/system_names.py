"""The topics and groups that a broker itself needs, made when they are missing, and limits for others."""

from __future__ import annotations

from engine.broker.groups.group_table import add_system_groups
from engine.broker.settings.options import BrokerOptions, LiveOptions
from engine.broker.state.tables import Tables
from engine.broker.topics.auto_creation import auto_created_groups, auto_created_topics
from engine.broker.topics.topic_table import add_system_topics, system_topics, withdraw_default_topic


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


def limit_auto_creation(tables: Tables, live: LiveOptions) -> None:
    """From now on, by the settings that are in force at each moment."""
    tables.topics.auto_created = auto_created_topics(
        lambda: live.signalbox_max_auto_created_topics,
        lambda: live.signalbox_max_auto_created_topics_per_address,
    )
    tables.groups.auto_created = auto_created_groups(
        lambda: live.signalbox_max_auto_created_groups,
        lambda: live.signalbox_max_auto_created_groups_per_address,
    )
