"""The name server's options, by RocketMQ's names, checked once at start.

Only the keys of `CHANGEABLE` may be changed while it runs (code 318). Never a path: CVE-2023-37582 was a
remote change of configStorePath.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from engine.daemon.access_settings import AccessSettings
from engine.daemon.logs import LEVELS
from engine.daemon.tls_settings import TlsSettings
from engine.errors import BadInput
from engine.net.networks import parse_networks
from engine.net.shares import MemoryLimits
from engine.protocol.wire import camel_case

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
class NamesrvOptions:
    listen_host: str = "127.0.0.1"
    listen_port: int = 9876
    kv_config_path: str = str(Path("~/namesrv/kvConfig.json"))
    order_message_enable: bool = False
    enable_all_topic_list: bool = True
    enable_topic_list: bool = True
    scan_not_active_broker_interval: int = 10_000
    need_wait_for_service: bool = False
    wait_seconds_for_service: int = 45
    default_broker_timeout: int = 120_000
    delete_topic_with_broker_registration: bool = False
    server_channel_max_idle_time_seconds: int = 120
    metrics_prom_exporter_port: int = -1
    signalbox_max_connections_per_ip: int = 65_536
    signalbox_max_receiving_bytes: int = 64 << 20
    signalbox_max_receiving_bytes_per_ip: int = 0
    signalbox_max_sending_bytes: int = 64 << 20
    signalbox_max_sending_bytes_per_ip: int = 0
    signalbox_trusted_proxies: str = ""
    log_dir: str = ""
    log_level: str = "INFO"
    tls: TlsSettings = field(default_factory=TlsSettings)
    access: AccessSettings = field(default_factory=AccessSettings)

    @property
    def memory(self) -> MemoryLimits:
        return MemoryLimits(
            self.signalbox_max_receiving_bytes,
            self.signalbox_max_receiving_bytes_per_ip,
            self.signalbox_max_sending_bytes,
            self.signalbox_max_sending_bytes_per_ip,
            clients_sign=self.access.is_on and not self.access.guards_changes_only,
        )


_RANGES = {
    "listen_port": (0, 65535),
    "scan_not_active_broker_interval": (100, 600_000),
    "wait_seconds_for_service": (0, 3600),
    "default_broker_timeout": (1000, 86_400_000),
    "server_channel_max_idle_time_seconds": (5, 86_400),
    "metrics_prom_exporter_port": (-1, 65535),
    "signalbox_max_connections_per_ip": (1, 0x7FFFFFFF),
    "signalbox_max_receiving_bytes": (1 << 20, 1 << 40),
    "signalbox_max_receiving_bytes_per_ip": (0, 1 << 40),
    "signalbox_max_sending_bytes": (1 << 20, 1 << 40),
    "signalbox_max_sending_bytes_per_ip": (0, 1 << 40),
}
_NAMES = {"listen_host": "bindAddress"}
_ATTRIBUTES = {
    _NAMES.get(item.name) or camel_case(item.name): item
    for item in fields(NamesrvOptions)
    if item.name not in ("access", "tls")
}


def apply_properties(
    options: NamesrvOptions, properties: Mapping[str, str]
) -> tuple[NamesrvOptions, list[str]]:
    """The options with these properties applied, and the keys we do not know. A bad value raises BadInput."""
    unknown: list[str] = []
    values: dict[str, object] = {}
    for key, text in properties.items():
        item = _ATTRIBUTES.get(key)
        if item is None:
            unknown.append(key)
        else:
            values[item.name] = _parse(key, item.name, type(getattr(options, item.name)), text.strip())
    return replace(options, **values), unknown  # type: ignore[arg-type]


def as_properties(options: NamesrvOptions) -> dict[str, object]:
    """No password is among them."""
    shown = dict(options.tls.shown) | dict(options.access.shown)
    return shown | {key: getattr(options, item.name) for key, item in _ATTRIBUTES.items()}


def _parse(key: str, name: str, kind: type, text: str) -> object:
    if kind is bool:
        if text.lower() not in ("true", "false"):
            raise BadInput(f"{key}={text!r}: true or false expected")
        return text.lower() == "true"
    if kind is int:
        low, high = _RANGES[name]
        if not text.lstrip("-").isdigit() or not low <= int(text) <= high:
            raise BadInput(f"{key}={text!r}: a number from {low} to {high} expected")
        return int(text)
    if name == "signalbox_trusted_proxies":
        parse_networks(text)
    if name == "log_level" and text.upper() not in LEVELS:
        raise BadInput(f"{key}={text!r}: one of {', '.join(LEVELS)} expected")
    return text.upper() if name == "log_level" else text
