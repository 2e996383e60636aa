"""What is needed to talk to a cluster, taken from its rows: addresses, credentials, what may be dialled."""

from __future__ import annotations

from dataclasses import dataclass, field

from clusters.models import Broker, Cluster, NameServer
from console.core.problems import Problem
from console.core.sealing import unseal
from engine.protocol.signing import Credentials


@dataclass(frozen=True, slots=True)
class ClusterAddress:
    """Equal addresses share connections; a changed secret makes another one."""

    name: str
    name_servers: tuple[str, ...]
    brokers: frozenset[str]
    """The only broker addresses that are dialled."""
    credentials: Credentials | None = field(default=None, repr=False)
    uses_tls: bool = False
    broker_cluster_name: str = ""


def address_of(cluster: Cluster) -> ClusterAddress:
    """Reads rows; call it outside of a transaction, right before asking."""
    is_managed = cluster.kind == Cluster.Kind.MANAGED
    name_servers = managed_name_servers(cluster) if is_managed else list(cluster.name_server_addresses)
    if not name_servers:
        raise Problem("no_name_server", f"the cluster {cluster.name} has no name server yet", 409)
    brokers = managed_brokers(cluster) if is_managed else list(cluster.broker_addresses)
    credentials = None
    if cluster.access_key and cluster.sealed_secret_key:
        credentials = Credentials(cluster.access_key, unseal(cluster.sealed_secret_key))
    return ClusterAddress(
        cluster.name,
        tuple(name_servers),
        frozenset(brokers),
        credentials,
        cluster.uses_tls,
        cluster.broker_cluster_name,
    )


def managed_name_servers(cluster: Cluster) -> list[str]:
    rows = NameServer.objects.filter(cluster=cluster).select_related("host")
    return [row.address for row in rows]


def managed_brokers(cluster: Cluster) -> list[str]:
    rows = Broker.objects.filter(group__cluster=cluster).select_related("host")
    return [row.address for row in rows]
