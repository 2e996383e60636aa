"""What follows when a setting changes while the broker runs.

Most settings are looked at when they are needed and need nothing here. Some have to be told to others: the
permission to name servers, quotas to the table of handlers, the retention rules to the store, the log level
to the logs, and whether topics make themselves to the topic that they are made after.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

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


class LiveEffects:
    """Call it with the attributes of `LiveOptions` that are different now."""

    def __init__(self, core: Core, *, register: Callable[[], None], announce: Callable[[str], None]) -> None:
        self._live = core.options.live
        self._topics = core.tables.topics
        self._store = core.store
        self._events = core.events
        self._register = register
        self._announce = announce

    def __call__(self, changed: frozenset[str]) -> None:
        if changed & _RETENTION:
            self._store.options = replace(self._store.options, retention=retention_rules(self._live))
        if changed & QUOTA_OPTIONS:
            self._events.routes_changed()
        if "log_level" in changed:
            set_level(self._live.log_level)
        if "auto_create_topic_enable" in changed:
            self._change_default_topic()
        if "broker_permission" in changed:
            self._topics.renew_version(now_ms())
            self._register()

    def _change_default_topic(self) -> None:
        if self._live.auto_create_topic_enable:
            offer_default_topic(self._topics, self._live.default_topic_queue_nums, now_ms())
        else:
            withdraw_default_topic(self._topics, now_ms())
        self._announce(TOPICS_FILE)
