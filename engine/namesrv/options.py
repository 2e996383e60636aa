"""The name server's options under RocketMQ's property names, checked once at start.

Only the keys of `CHANGEABLE` may be changed at run time (request code 318). Never a path: CVE-2023-37582 was
a remote change of configStorePath.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from engine.daemon.options import (
    LOG_LEVEL,
    ConnectionOptions,
    Text,
    flag,
    option,
    option_keys,
    option_text,
    whole,
)

CHANGEABLE = frozenset(
    {
        "orderMessageEnable",
        "scanNotActiveBrokerInterval",
        "needWaitForService",
        "deleteTopicWithBrokerRegistration",
        "logLevel",
    }
)


@dataclass(frozen=True, slots=True)
class NamesrvOptions(ConnectionOptions):
    listen_host: str = option("127.0.0.1", Text(), "bindAddress")
    listen_port: int = whole(9876, 0, 65535)
    kv_config_path: str = option("~/namesrv/kvConfig.json", Text())
    order_message_enable: bool = flag(False)
    enable_all_topic_list: bool = flag(True)
    enable_topic_list: bool = flag(True)
    scan_not_active_broker_interval: int = whole(10_000, 100, 600_000)
    need_wait_for_service: bool = flag(False)
    wait_seconds_for_service: int = whole(45, 0, 3600)
    default_broker_timeout: int = whole(120_000, 1000, 86_400_000)
    delete_topic_with_broker_registration: bool = flag(False)
    server_channel_max_idle_time_seconds: int = whole(120, 5, 86_400)
    metrics_prom_exporter_port: int = whole(-1, -1, 65535)
    log_dir: str = option("", Text())
    log_level: str = option("INFO", LOG_LEVEL)


_KEYS = option_keys(NamesrvOptions)


def apply_properties(
    options: NamesrvOptions, properties: Mapping[str, str]
) -> tuple[NamesrvOptions, list[str]]:
    """The options with these properties applied, and the unknown keys. A bad value raises BadInput."""
    known = {key: text for key, text in properties.items() if key in _KEYS}
    values = {_KEYS[key].attribute: _KEYS[key].read(text.strip()) for key, text in known.items()}
    return replace(options, **values), [key for key in properties if key not in _KEYS]


def as_properties(options: NamesrvOptions) -> dict[str, str]:
    """Every option as text; passwords are left out or masked."""
    shown = dict(options.tls.shown) | dict(options.access.shown)
    return shown | {key.name: option_text(getattr(options, key.attribute)) for key in _KEYS.values()}
