"""The broker's settings under RocketMQ's own property names, checked once at start.

Two values: `BrokerOptions` is fixed while the broker runs; its `live` part (`LiveOptions`) is the allow-list
of what may change at run time, one shared object that its readers look at when they need it. No path and no
address is in it. The same table (`engine.daemon.options`) reads broker.conf,
checks UPDATE_BROKER_CONFIG and prints GET_BROKER_CONFIG. A key that we do not know is a warning; a value that
is not allowed, or a feature that we cannot honour (controller, DLedger), is BadInput: starting without
it would break what the operator counts on. Pure: no file is read here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.broker.delivery.delay_levels import DEFAULT_LEVELS, LEVELS_PATTERN
from engine.broker.settings.profiles import (
    PROFILE_KEY,
    configures_deletion,
    forced_deletion_default,
    forced_deletion_warning,
    profile_defaults,
    protects_unexpired,
)
from engine.daemon.access_settings import ACCESS_KEYS, read_access
from engine.daemon.options import (
    ADDRESSES,
    HOST,
    HOURS,
    LOG_LEVEL,
    NAME,
    PATH,
    Choice,
    ConnectionOptions,
    Flag,
    Text,
    flag,
    option,
    option_keys,
    option_text,
    whole,
)
from engine.daemon.tls_settings import TLS_KEYS, ReadFile, read_tls
from engine.errors import BadInput, NotPermitted
from engine.protocol.bodies.config_text import format_config, parse_config
from engine.protocol.hosts import Host, joined
from engine.protocol.wire import camel_case
from engine.store.retention import RATIO_BOUNDS

_INT32, _INT64 = 0x7FFFFFFF, 0x7FFFFFFFFFFFFFFF
_MS_LIMIT = 86_400_000


@dataclass(slots=True)
class LiveOptions:
    """What an administrator may change while the broker runs."""

    broker_permission: int = whole(6, 0, 7)
    max_message_size: int = whole(4 << 20, 1, 15 << 20)
    auto_create_topic_enable: bool = flag(True)
    auto_create_subscription_group: bool = flag(True)
    default_topic_queue_nums: int = whole(8, 1, 1024)
    long_polling_enable: bool = flag(True)
    short_polling_time_mills: int = whole(1000, 1, 60_000)
    lite_pull_message_enable: bool = flag(True)
    enable_retry_topic_v2: bool = flag(False)
    # Whether a topic may become one of message.type=MIXED; those that are keep working without it.
    enable_mixed_message_type: bool = flag(False)
    # How many pops (and notifications) may wait: for one group and queue, and pops in all.
    pop_polling_size: int = whole(1024, 1, _INT32)
    max_pop_polling_size: int = whole(100_000, 1, _INT32)
    notify_consumer_ids_changed_enable: bool = flag(True)
    reject_transaction_message: bool = flag(False)
    transaction_time_out: int = whole(6_000, 0, _MS_LIMIT)
    transaction_check_interval: int = whole(30_000, 10, _MS_LIMIT)
    transaction_check_max: int = whole(15, 1, _INT32)
    store_reply_message_enable: bool = flag(True)
    timer_max_delay_sec: int = whole(259_200, 1, 10 * 365 * 86_400)
    recall_message_enable: bool = flag(False)
    slave_read_enable: bool = flag(False)
    slave_timeout: int = whole(3000, 1, _MS_LIMIT)
    trace_on: bool = flag(True)
    broker_fast_failure_enable: bool = flag(True)
    wait_time_mills_in_send_queue: int = whole(200, 1, _MS_LIMIT)
    sync_flush_timeout: int = whole(5000, 1, _MS_LIMIT)
    flush_interval_commit_log: int = whole(500, 1, _MS_LIMIT)
    flush_interval_consume_queue: int = whole(1000, 1, _MS_LIMIT)
    flush_consumer_offset_interval: int = whole(5000, 10, _MS_LIMIT)
    register_name_server_period: int = whole(30_000, 10_000, 60_000)
    force_register: bool = flag(True)
    compressed_register: bool = flag(False)
    enable_single_topic_register: bool = flag(False)
    default_query_max_num: int = whole(32, 1, 64)
    start_accept_send_request_time_stamp: int = whole(0, 0, _INT64)
    use_server_side_reset_offset: bool = flag(True)
    file_reserved_time: int = whole(72, 1, 24 * 365 * 100)
    delete_when: str = option("04", HOURS)
    # Like RocketMQ, the store pulls these into what it can live with, so an existing broker.conf starts.
    disk_max_used_space_ratio: int = whole(75, 0, 100)
    disk_space_clean_forcibly_ratio: int = whole(85, 0, 100)
    disk_space_warning_level_ratio: int = whole(90, 0, 100)
    clean_file_forcibly_enable: bool = flag(True)
    log_level: str = option("INFO", LOG_LEVEL)
    # The background check of the log for damaged records; a rate of 0 turns it off.
    signalbox_scrub_bytes_per_second: int = whole(4 << 20, 0, _INT32)
    signalbox_scrub_interval_seconds: int = whole(86_400, 1, _INT32)
    # Limits of our own; 0 is no limit. Beyond these topics and groups do not make themselves any more.
    signalbox_max_auto_created_topics: int = whole(500_000, 0, _INT32)
    signalbox_max_auto_created_topics_per_address: int = whole(300_000, 0, _INT32)
    signalbox_max_auto_created_groups: int = whole(250_000, 0, _INT32)
    signalbox_max_auto_created_groups_per_address: int = whole(150_000, 0, _INT32)
    # Quotas of our own; 0 is no limit.
    signalbox_client_requests_per_second: int = whole(0, 0, _INT32)
    signalbox_client_bytes_per_second: int = whole(0, 0, _INT64)
    signalbox_topic_requests_per_second: int = whole(0, 0, _INT32)
    signalbox_topic_bytes_per_second: int = whole(0, 0, _INT64)
    signalbox_group_requests_per_second: int = whole(0, 0, _INT32)
    signalbox_group_bytes_per_second: int = whole(0, 0, _INT64)


@dataclass(frozen=True, slots=True)
class BrokerOptions(ConnectionOptions):
    """Settings that are fixed from start to stop. Sizes are bytes, times milliseconds unless noted."""

    broker_cluster_name: str = option("DefaultCluster", NAME)
    broker_name: str = option("DEFAULT_BROKER", NAME)
    broker_id: int = whole(0, 0, _INT64)
    broker_role: str = option("ASYNC_MASTER", Choice(("ASYNC_MASTER", "SYNC_MASTER", "SLAVE")))
    bind_address: str = option("", HOST)
    broker_ip1: str = option("", HOST, "brokerIP1")
    broker_ip2: str = option("", HOST, "brokerIP2")
    listen_port: int = whole(10911, 0, 65535)
    ha_listen_port: int = whole(0, 0, 65535)
    ha_master_address: str = option("", ADDRESSES)
    ha_max_time_slave_not_catchup: int = whole(15_000, 100, _MS_LIMIT)
    in_sync_replicas: int = whole(1, 1, 64)
    min_in_sync_replicas: int = whole(1, 1, 64)
    all_ack_in_sync_state_set: bool = flag(False)
    signalbox_cluster_secret_file: str = option("", PATH)
    signalbox_allow_plain_slaves: bool = flag(False)
    namesrv_addr: str = option("", ADDRESSES)
    region_id: str = option("DefaultRegion", NAME)

    store_path_root_dir: str = option("~/store", PATH)
    store_path_commit_log: str = option("", PATH)
    signalbox_strict_start: bool = flag(False)
    mapped_file_size_commit_log: int = whole(1 << 30, 4096, 1 << 40)
    mapped_file_size_consume_queue: int = whole(6_000_000, 20, 1 << 40)
    max_hash_slot_num: int = whole(5_000_000, 1, _INT32)
    max_index_num: int = whole(20_000_000, 2, _INT32)
    message_index_enable: bool = flag(True)
    check_crc_on_recover: bool = option(True, Flag(), "checkCRCOnRecover")
    flush_disk_type: str = option("ASYNC_FLUSH", Choice(("SYNC_FLUSH", "ASYNC_FLUSH")))
    flush_commit_log_least_pages: int = whole(4, 0, _INT32)
    flush_commit_log_thorough_interval: int = whole(10_000, 1, _MS_LIMIT)
    transient_store_pool_enable: bool = flag(False)
    commit_interval_commit_log: int = whole(200, 1, _MS_LIMIT)
    clean_resource_interval: int = whole(10_000, 100, _MS_LIMIT)
    access_message_in_memory_max_ratio: int = whole(40, 1, 100)
    max_transfer_bytes_on_message_in_memory: int = whole(262_144, 1, 15 << 20)
    max_transfer_count_on_message_in_memory: int = whole(32, 1, _INT32)
    max_transfer_bytes_on_message_in_disk: int = whole(65_536, 1, 15 << 20)
    max_transfer_count_on_message_in_disk: int = whole(8, 1, _INT32)
    os_page_cache_busy_time_out_mills: int = whole(1000, 1, _MS_LIMIT)

    trace_topic_enable: bool = flag(False)
    msg_trace_topic_name: str = option("RMQ_SYS_TRACE_TOPIC", NAME)
    enable_property_filter: bool = flag(False)
    message_delay_level: str = option(DEFAULT_LEVELS, Text(LEVELS_PATTERN, "times like 1s 5s 10m 2h"))
    flush_delay_offset_interval: int = whole(10_000, 10, _MS_LIMIT)
    timer_wheel_enable: bool = flag(True)
    timer_roll_window_slot: int = whole(172_800, 2, 7 * 86_400)
    mapped_file_size_timer_log: int = whole(100 << 20, 4096, 1 << 40)
    metrics_exporter_type: str = option("DISABLE", Choice(("DISABLE", "PROM")), "metricsExporterType")
    metrics_prom_exporter_host: str = option("127.0.0.1", HOST)
    metrics_prom_exporter_port: int = whole(5557, 0, 65535)
    log_dir: str = option("", PATH)
    signalbox_max_long_polls: int = whole(100_000, 1, _INT32)
    live: LiveOptions = field(default_factory=LiveOptions)
    warnings: tuple[str, ...] = ()
    protects_unexpired: bool = False
    """Unexpired messages are not deleted to make room, unless broker.conf sets it explicitly."""
    configures_deletion: bool = False
    """Whether broker.conf sets anything about that (profiles.py)."""

    @property
    def is_sync_flush(self) -> bool:
        return self.flush_disk_type == "SYNC_FLUSH"

    @property
    def name_servers(self) -> tuple[str, ...]:
        return tuple(filter(None, self.namesrv_addr.split(";")))

    @property
    def is_slave(self) -> bool:
        """At the first start; later the group remembers who is what."""
        return self.broker_role == "SLAVE"


OPTION_KEYS = option_keys(BrokerOptions) | option_keys(LiveOptions, is_live=True)

_NOT_SUPPORTED = "this version does not have it, and starting without it would not be what you asked for"
_MUST_BE_FALSE = (
    "enableControllerMode",
    "enableDLegerCommitLog",
    "enableSlaveActingMaster",
    "duplicationEnable",
    "enableLmq",
    "enableMultiDispatch",
)
_READ_ELSEWHERE = TLS_KEYS | ACCESS_KEYS | {PROFILE_KEY}
_MUST_BE = {"storeType": ("default",), "messageStorePlugIn": ("",)}


@dataclass(frozen=True, slots=True)
class BrokerIdentity:
    """Who this broker is to others."""

    cluster: str
    name: str
    address: str
    ha_address: str


def identify(options: BrokerOptions, address: Host, ha_address: str | None) -> BrokerIdentity:
    """`ha_address`: where the HA port is, if there is one; else where RocketMQ's would be."""
    host, port = address
    conventional = joined(options.broker_ip2 or host, options.ha_listen_port or port + 1)
    name = options.broker_cluster_name, options.broker_name
    return BrokerIdentity(*name, joined(host, port), ha_address or conventional)


def load_options(
    text: str,
    overrides: Mapping[str, str] | None = None,
    defaults: Mapping[str, str] | None = None,
    read_tls_file: ReadFile = lambda path: None,
) -> BrokerOptions:
    """Options of a broker.conf's text; `overrides` (the command line) win, `defaults` stand in."""
    given = {**(defaults or {}), **parse_config(text), **(overrides or {})}
    given |= profile_defaults(given)
    given |= forced_deletion_default(given)
    _refuse_missing_features(given)
    fixed: dict[str, Any] = {}
    live: dict[str, Any] = {}
    warnings: list[str] = []
    tls = read_tls(given, read_tls_file)
    for name, value in given.items():
        key = OPTION_KEYS.get(name)
        if key is None:
            if name not in _READ_ELSEWHERE and name not in _MUST_BE_FALSE and name not in _MUST_BE:
                warnings.append(f"{name} is not a setting of this broker and has no effect")
        else:
            (live if key.is_live else fixed)[key.attribute] = key.read(value.strip())
    warnings += (*_setting_warnings(fixed), *_pulled_ratios(live), *_settle_broker_id(fixed), *tls.warnings)
    is_protected, changeable = protects_unexpired(given), LiveOptions(**live)
    warnings += forced_deletion_warning(
        is_protected=is_protected, is_enabled=changeable.clean_file_forcibly_enable
    )
    return BrokerOptions(
        **fixed,
        tls=tls,
        access=read_access(given),
        live=changeable,
        warnings=tuple(warnings),
        protects_unexpired=is_protected,
        configures_deletion=configures_deletion(given),
    )


def _refuse_missing_features(given: Mapping[str, str]) -> None:
    for name in _MUST_BE_FALSE:
        if given.get(name, "false").strip().lower() != "false":
            raise BadInput(f"{name}={given[name]:.200} is not allowed: {_NOT_SUPPORTED}")
    for name, allowed in _MUST_BE.items():
        value = given.get(name, allowed[0]).strip()
        if value.lower() not in allowed:
            raise BadInput(f"{name}={value:.200} is not allowed: {_NOT_SUPPORTED}")


def _settle_broker_id(fixed: dict[str, Any]) -> list[str]:
    """As in RocketMQ: a slave must set its brokerId, and a master is 0 whatever is set."""
    broker_id, is_slave = fixed.get("broker_id", 0), fixed.get("broker_role") == "SLAVE"
    if is_slave and broker_id == 0:
        raise BadInput("brokerRole=SLAVE needs a brokerId above 0, another one for every slave of the group")
    if is_slave or broker_id == 0:
        return []
    fixed["broker_id"] = 0
    return [f"brokerId={broker_id} is taken as 0: brokerRole={fixed.get('broker_role', 'ASYNC_MASTER')}"]


def _setting_warnings(fixed: Mapping[str, Any]) -> list[str]:
    warnings: list[str] = []
    if not fixed.get("bind_address") and not fixed.get("broker_ip1"):
        warnings.append("neither bindAddress nor brokerIP1 is set: only this machine can reach the broker")
    if fixed.get("transient_store_pool_enable") and fixed.get("flush_disk_type") == "SYNC_FLUSH":
        warnings.append("transientStorePoolEnable has no effect with flushDiskType=SYNC_FLUSH")
    return warnings


def _pulled_ratios(live: Mapping[str, Any]) -> list[str]:
    return [
        f"{camel_case(name)}={live[name]} is taken as {min(max(live[name], low), high)}"
        for name, (low, high) in RATIO_BOUNDS.items()
        if name in live and not low <= live[name] <= high
    ]


def option_values(options: BrokerOptions) -> dict[str, str]:
    """Every setting as text, under its name in broker.conf; no password is among them."""
    return (
        dict(options.tls.shown)
        | dict(options.access.shown)
        | {
            key.name: option_text(getattr(options.live if key.is_live else options, key.attribute))
            for key in OPTION_KEYS.values()
        }
    )


def options_text(options: BrokerOptions) -> str:
    return format_config(option_values(options))


def plan_change(live: LiveOptions, text: str) -> dict[str, Any]:
    """The attributes of `live` that this `key=value` text would change, all checked, not yet applied."""
    changes: dict[str, Any] = {}
    for name, value in parse_config(text).items():
        key = OPTION_KEYS.get(name)
        if key is None or not key.is_live:
            raise NotPermitted(f"{name:.200} cannot be changed at run time")
        changes[key.attribute] = key.read(value.strip())
    return {name: value for name, value in changes.items() if getattr(live, name) != value}


def apply_change(live: LiveOptions, changes: Mapping[str, Any]) -> None:
    for name, value in changes.items():
        setattr(live, name, value)
