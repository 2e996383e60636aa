"""Brokers: list, state, configuration, housekeeping, replication, metadata, damaged records."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from engine.admin.arguments import shown_time
from engine.admin.broker_targets import BROKER, CLUSTER, broker_command, chosen_masters
from engine.admin.commands import Arguments, Option, command, group_option
from engine.admin.results import Document, Facts, Result, Row, Table
from engine.client import Admin
from engine.client.admin.brokers import BrokerAdmin
from engine.errors import EngineError, NotFound
from engine.protocol.bodies.brokers import (
    DELIVERY_PREFIX,
    DamagedRecordRow,
    HAClientRuntimeInfo,
    HARuntimeInfo,
    SkippedRecord,
)
from engine.protocol.codes import ResponseCode

_RATES_COLUMNS = ("Cluster", "Broker", "BID", "Addr", "Version", "In TPS", "Out TPS", "Disk", "Active")
_TOTALS_COLUMNS = ("Cluster", "Broker", "In yesterday", "Out yesterday", "In today", "Out today")
_HA_COLUMNS = ("Broker", "Role", "Max Offset", "Peer", "Peer Offset", "Diff", "KB/s", "In Sync")
_UNKNOWN = "unknown"


@command(
    "clusterList",
    "List brokers with version, rates and disk",
    CLUSTER,
    Option("m", "moreStats", "totals of today and yesterday instead of rates"),
)
async def cluster_list(admin: Admin, arguments: Arguments) -> Result:
    info = await admin.cluster.info()
    wanted = arguments.clusterName
    if wanted not in (None, *info.cluster_addr_table):
        raise NotFound(f"no cluster is called {wanted}", code=ResponseCode.BROKER_NOT_EXIST)
    row_of = _totals_row if arguments.moreStats else _rates_row
    rows: list[Row] = []
    for cluster, names in sorted(info.cluster_addr_table.items()):
        for name in sorted(names) if wanted in (None, cluster) else ():
            # A broker that registers at this moment may be missing in the second table.
            addresses = info.broker_addr_table[name].broker_addrs if name in info.broker_addr_table else {}
            for broker_id, address in sorted(addresses.items()):
                rows.append((cluster, name, *await row_of(admin, broker_id, address)))
    return Table(_TOTALS_COLUMNS if arguments.moreStats else _RATES_COLUMNS, rows)


async def _rates_row(admin: Admin, broker_id: int, address: str) -> Row:
    try:
        info = await admin.brokers.runtime_info(address)
    except EngineError as error:
        return (broker_id, address, *(_UNKNOWN,) * 4, f"no: {error.text}")
    return (
        broker_id,
        address,
        info.get("brokerVersionDesc", _UNKNOWN),
        *(_first_number(info.get(key, "")) for key in ("putTps", "getTransferredTps", "commitLogDiskRatio")),
        info.get("brokerActive", _UNKNOWN),
    )


def _first_number(text: str) -> object:
    """The first of three windows (10 s), or unknown: an absent number is not zero."""
    try:
        return round(float(text.split(" ")[0]), 2)
    except ValueError:
        return _UNKNOWN


async def _totals_row(admin: Admin, broker_id: int, address: str) -> Row:
    try:
        info = await admin.brokers.runtime_info(address)
    except EngineError:
        info = {}

    def between(kind: str, start: str, end: str) -> object:
        try:
            return int(info[f"msg{kind}Total{end}"]) - int(info[f"msg{kind}Total{start}"])
        except (KeyError, ValueError):
            return _UNKNOWN

    days = (("YesterdayMorning", "TodayMorning"), ("TodayMorning", "TodayNow"))
    return tuple(between(kind, *day) for day in days for kind in ("Put", "Get"))


@broker_command("brokerStatus", "Runtime figures of brokers")
async def broker_status(admin: Admin, arguments: Arguments) -> Result:
    return await _settings(admin, arguments, admin.brokers.runtime_info)


@broker_command("getBrokerConfig", "Configuration of brokers")
async def get_broker_config(admin: Admin, arguments: Arguments) -> Result:
    return await _settings(admin, arguments, admin.brokers.config)


async def _settings(
    admin: Admin, arguments: Arguments, ask: Callable[[str], Awaitable[dict[str, str]]]
) -> Result:
    found = {broker: await ask(broker) for broker in await chosen_masters(admin, arguments)}
    if len(found) == 1:
        (only,) = found.values()
        return Facts(dict(sorted(only.items())), document=found)
    rows = [(broker, *item) for broker, settings in found.items() for item in sorted(settings.items())]
    return Table(("Broker", "Name", "Value"), rows, document=found)


@broker_command(
    "updateBrokerConfig",
    "Change one setting while the broker runs",
    Option("k", "key", "the setting", "KEY", required=True),
    Option("v", "value", "its new value", "VALUE", required=True),
    example="updateBrokerConfig -b 127.0.0.1:10911 -k brokerPermission -v 4",
)
async def update_broker_config(admin: Admin, arguments: Arguments) -> Result:
    brokers = await chosen_masters(admin, arguments)
    for broker in brokers:
        await admin.brokers.update_config(broker, {arguments.key: arguments.value})
    data = {"brokers": brokers, arguments.key: arguments.value}
    return Facts(data, f"update broker config success, {', '.join(brokers)}")


def _register_housekeeping(
    name: str, help: str, clean: Callable[[BrokerAdmin, str], Awaitable[None]]
) -> None:
    """Without -b and -c: on every master."""

    @command(name, help, BROKER, CLUSTER, example=f"{name} -b 127.0.0.1:10911")
    async def run(admin: Admin, arguments: Arguments) -> Result:
        brokers = await chosen_masters(admin, arguments)
        for broker in brokers:
            await clean(admin.brokers, broker)
        return Facts({"brokers": brokers}, f"success, {', '.join(brokers)}")


for _name, _help, _clean in (
    ("cleanExpiredCQ", "Delete consume queues of expired messages", BrokerAdmin.clean_expired_queues),
    ("cleanUnusedTopic", "Delete consume queues of deleted topics", BrokerAdmin.clean_unused_topics),
    ("deleteExpiredCommitLog", "Delete expired commit logs now", BrokerAdmin.delete_expired_commit_logs),
):
    _register_housekeeping(_name, _help, _clean)


@broker_command("haStatus", "Replication of brokers")
async def ha_status(admin: Admin, arguments: Arguments) -> Result:
    found = {
        broker: await admin.brokers.ha_status(broker) for broker in await chosen_masters(admin, arguments)
    }
    rows = [row for broker, info in found.items() for row in _ha_rows(broker, info)]
    return Table(_HA_COLUMNS, rows, document={broker: info.to_json() for broker, info in found.items()})


def _ha_rows(broker: str, info: HARuntimeInfo) -> list[Row]:
    """One row for each slave of a master (or one with the peer "none"), and one for a slave."""
    if not info.master:
        seen = info.ha_client_runtime_info or HAClientRuntimeInfo()
        lag = max(0, seen.master_flush_offset - seen.max_offset) if seen.master_flush_offset else _UNKNOWN
        speed = round(seen.transferred_byte_in_second / 1024, 2)
        return [(broker, "slave", seen.max_offset, seen.master_addr or "none", "", lag, speed, "")]
    this = (broker, "master", info.master_commit_log_max_offset)
    return [
        (*this, slave.addr, slave.slave_ack_offset, slave.diff, speed, "yes" if slave.in_sync else "no")
        for slave in info.ha_connection_info
        for speed in (round(slave.transferred_byte_in_second / 1024, 2),)
    ] or [(*this, "none", "", "", "", "")]


@broker_command(
    "exportMetadata",
    "Topics and groups of brokers as JSON",
    Option("t", "topic", "only topics"),
    Option("g", "subscriptionGroup", "only groups"),
    example="exportMetadata -c DefaultCluster",
)
async def export_metadata(admin: Admin, arguments: Arguments) -> Result:
    exported: dict[str, dict[str, object]] = {}
    for broker in await chosen_masters(admin, arguments):
        part = exported[broker] = {}
        if arguments.topic or not arguments.subscriptionGroup:
            topics = await admin.topics.configs(broker)
            part["topics"] = {name: config.to_json() for name, config in sorted(topics.items())}
        if arguments.subscriptionGroup or not arguments.topic:
            groups = await admin.groups.configs(broker)
            part["groups"] = {name: config.to_json() for name, config in sorted(groups.items())}
    return Document(exported)


_DAMAGE_COLUMNS = (
    *("Broker", "File", "Commit log offset", "Size", "Topic", "Queue", "Queue offset"),
    *("Found", "Repaired", "Skipped by", "Skipped", "Redelivered"),
)


@broker_command(
    "damagedRecords",
    "Damaged records of brokers, and which groups have skipped them",
    group_option(required=False),
)
async def damaged_records(admin: Admin, arguments: Arguments) -> Result:
    rows: list[Row] = []
    for broker in await chosen_masters(admin, arguments):
        found = await admin.broker_groups.damaged_records(broker, arguments.groupName)
        for record in found.records:
            skips = record.skips or {"-": SkippedRecord()}
            rows += [_damage_row(broker, record, group, skip) for group, skip in skips.items()]
    return Table(_DAMAGE_COLUMNS, rows)


def shown_name(name: str) -> str:
    """A group, or the delivery of a delayed message, that skipped the record."""
    if not name.startswith(DELIVERY_PREFIX):
        return name
    topic = name.removeprefix(DELIVERY_PREFIX)
    return f"delivery to {topic}" if topic else "delivery (topic unreadable)"


def _damage_row(broker: str, record: DamagedRecordRow, group: str, skip: SkippedRecord) -> Row:
    has_queue = bool(record.topic)
    return (
        broker,
        record.file or "-",
        record.offset if record.offset >= 0 else "-",
        record.size,
        record.topic or "-",
        record.queue_id if has_queue else "-",
        record.queue_offset if has_queue else "-",
        shown_time(record.found_ms),
        shown_time(record.repaired_ms),
        shown_name(group),
        shown_time(skip.at_ms),
        shown_time(skip.redelivered_ms),
    )
