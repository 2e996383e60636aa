"""Brokers of a cluster: the process that should run beside what the broker last said of itself."""

from __future__ import annotations

from dataclasses import dataclass

from clusters.models import Broker, Cluster, LiveBroker, NameServer
from console.core.problems import not_found


@dataclass(frozen=True, slots=True)
class BrokerRow:
    label: str
    broker_name: str
    address: str
    process: Broker | None
    """None: an attached cluster."""
    live: LiveBroker | None
    """None: the collector has not seen it."""


def broker_rows(cluster: Cluster) -> list[BrokerRow]:
    """Two queries. Of an attached cluster all that were seen; a managed one's are those that are asked for:
    the collector dials no others, so what it saw of another is of one that was removed a moment ago."""
    processes = Broker.objects.filter(group__cluster=cluster).select_related("host", "group__cluster")
    live = {row.address: row for row in LiveBroker.objects.filter(cluster=cluster)}
    rows = [
        BrokerRow(row.label, row.group.name, row.address, row, live.pop(row.address, None))
        for row in processes
    ]
    if cluster.kind == Cluster.Kind.ATTACHED:
        rows += [
            BrokerRow(f"{row.broker_name}-{row.member}", row.broker_name, row.address, None, row)
            for row in live.values()
        ]
    return sorted(rows, key=lambda row: row.label)


def get_broker(cluster: Cluster, label: str) -> BrokerRow:
    found = next((row for row in broker_rows(cluster) if row.label == label), None)
    if found is None:
        raise not_found("broker", label)
    return found


def master_of(cluster: Cluster, broker_name: str) -> BrokerRow:
    """The group's master: by our own rows, else as its name servers say."""
    rows = [row for row in broker_rows(cluster) if row.broker_name == broker_name]
    for row in rows:
        if row.process is not None and row.process.is_master:
            return row
    for row in rows:
        if row.process is None and row.live is not None and row.live.member == 0:
            return row
    raise not_found("broker group", broker_name)


def name_servers(cluster: Cluster) -> list[NameServer]:
    return list(NameServer.objects.filter(cluster=cluster).select_related("host", "cluster"))
