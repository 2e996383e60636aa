"""What follows when a setting changes while the broker runs.

Most settings are read when they are needed and need nothing here. Some must be passed on: the permission to
name servers, quotas to the table of handlers, the retention rules to the store, the log level to the logs,
and automatic creation of topics to the default topic.
"""

from __future__ import annotations

from collections.abc import Callable

from engine.broker.process.core import Core, now_ms
from engine.broker.quotas.handlers_gate import QUOTA_OPTIONS
from engine.broker.settings.store_options_io import retention_rules
from engine.broker.topics.topic_table import TOPICS_FILE, offer_default_topic, withdraw_default_topic
from engine.daemon.logs import set_level

_RETENTION = frozenset(
    {
        "file_reserved_time",
        "delete_when",
        "disk_max_used_space_ratio",
        "disk_space_clean_forcibly_ratio",
        "disk_space_warning_level_ratio",
        "clean_file_forcibly_enable",
    }
)


def apply_settings(
    core: Core, changed: frozenset[str], *, register: Callable[[], None], announce: Callable[[str], None]
) -> None:
    """`changed`: the attributes of `LiveOptions` that are different now."""
    live, topics, store = core.options.live, core.tables.topics, core.store
    if changed & _RETENTION:
        store.front.rules = retention_rules(live)
    if changed & QUOTA_OPTIONS:
        core.events.routes_changed()
    if "log_level" in changed:
        set_level(live.log_level)
    if "auto_create_topic_enable" in changed:
        if live.auto_create_topic_enable:
            offer_default_topic(topics, live.default_topic_queue_nums, now_ms())
        else:
            withdraw_default_topic(topics, now_ms())
        announce(TOPICS_FILE)
    if "broker_permission" in changed:
        topics.renew_version(now_ms())
        register()
