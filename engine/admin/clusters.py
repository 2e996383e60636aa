"""Clusters and their brokers: who is there, how busy, how healthy."""

from __future__ import annotations

from engine.admin.commands import CLUSTER, Arguments, Option, Result, Table, command
from engine.client.admin import Admin
from engine.errors import EngineError
from engine.protocol.bodies.routes import BrokerData

_SWITCH_MORE = Option("m", "moreStats", "totals of today and yesterday instead of rates")


@command("clusterList", "List brokers with version, rates and disk", CLUSTER, _SWITCH_MORE)
async def cluster_list(admin: Admin, arguments: Arguments) -> Result:
    info = await admin.cluster.info()
    rows: list[tuple[object, ...]] = []
    for cluster, names in sorted(info.cluster_addr_table.items()):
        if arguments.clusterName in (None, cluster):
            for name in sorted(names):
                rows += await _broker_rows(
                    admin, cluster, info.broker_addr_table[name], bool(arguments.moreStats)
                )
    if arguments.moreStats:
        return Table(("Cluster", "Broker", "In yesterday", "Out yesterday", "In today", "Out today"), rows)
    columns = ("Cluster", "Broker", "BID", "Addr", "Version", "In TPS", "Out TPS", "Disk", "Active")
    return Table(columns, rows)


async def _broker_rows(
    admin: Admin, cluster: str, broker: BrokerData, more: bool
) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for broker_id, address in sorted(broker.broker_addrs.items()):
        try:
            info = await admin.brokers.runtime_info(address)
        except EngineError as error:
            place = (cluster, broker.broker_name)
            unreachable = (broker_id, address, *("unknown",) * 4, f"no: {error.text}")
            rows.append((*place, *("unknown",) * 4) if more else (*place, *unreachable))
            continue
        if more:
            rows.append((cluster, broker.broker_name, *_totals(info)))
            continue
        rows.append(
            (
                cluster,
                broker.broker_name,
                broker_id,
                address,
                info.get("brokerVersionDesc", "unknown"),
                _rate(info, "putTps"),
                _rate(info, "getTransferredTps"),
                _rate(info, "commitLogDiskRatio"),
                info.get("brokerActive", "unknown"),
            )
        )
    return rows


def _rate(info: dict[str, str], key: str) -> object:
    """The first of the three windows (10 s), or unknown: an absent number is not zero."""
    text = info.get(key, "").split(" ")[0]
    try:
        return round(float(text), 2)
    except ValueError:
        return "unknown"


def _totals(info: dict[str, str]) -> tuple[object, ...]:
    def between(kind: str, start: str, end: str) -> object:
        try:
            return int(info[f"msg{kind}Total{end}"]) - int(info[f"msg{kind}Total{start}"])
        except (KeyError, ValueError):
            return "unknown"

    return (
        between("Put", "YesterdayMorning", "TodayMorning"),
        between("Get", "YesterdayMorning", "TodayMorning"),
        between("Put", "TodayMorning", "TodayNow"),
        between("Get", "TodayMorning", "TodayNow"),
    )
