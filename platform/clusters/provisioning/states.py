"""A cluster's rows as plans see them, and which of its processes are not as they should be."""

from __future__ import annotations

from collections.abc import Sequence

from clusters.models import Broker, Cluster
from clusters.provisioning.inventory import Process, name_server_addresses, processes_of, spec_of
from clusters.provisioning.plans.plan import ClusterState, GroupState, MemberState, ServerState

_UP = (Broker.Observed.RUNNING, Broker.Observed.STARTING, Broker.Observed.SILENT)


def state_of(cluster: Cluster) -> ClusterState:
    servers = tuple(
        ServerState(row.label, row.number, row.host.name, row.address)
        for row in cluster.name_servers.select_related("host")
    )
    groups = tuple(
        GroupState(
            group.name,
            group.master_member,
            tuple(
                MemberState(row.label, row.member, row.host.name, row.address)
                for row in group.brokers.select_related("host", "group")
            ),
        )
        for group in cluster.groups.all()
    )
    return ClusterState(cluster.name, servers, tuple(group for group in groups if group.members))


def drifted(cluster: Cluster) -> list[str]:
    """Labels of processes that run with other settings than their rows ask for."""
    servers = name_server_addresses(cluster)
    return [
        process.label
        for process in processes_of(cluster)
        if process.observed in _UP and is_drifted(process, servers)
    ]


def is_drifted(process: Process, name_servers: Sequence[str]) -> bool:
    """Not known (never started by us) is not drift."""
    digest = process.running_config_digest
    return bool(digest) and digest != spec_of(process, name_servers).digest


def absent(cluster: Cluster) -> list[str]:
    down = (Broker.Observed.CRASHED, Broker.Observed.CRASH_LOOP, Broker.Observed.STOPPED)
    return [process.label for process in processes_of(cluster) if process.observed in down]
