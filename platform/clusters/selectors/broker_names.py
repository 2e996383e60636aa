"""Which broker groups a cluster is known to have, whether or not a name server knows them just now."""

from __future__ import annotations

from clusters.models import BrokerGroup, Cluster, LiveBroker


def expected_brokers(cluster: Cluster) -> list[str]:
    """A group whose master is down is not in any route; a change that leaves it out is not complete."""
    if cluster.kind == Cluster.Kind.MANAGED:
        names = BrokerGroup.objects.filter(cluster=cluster).values_list("name", flat=True)
    else:
        names = LiveBroker.objects.filter(cluster=cluster).values_list("broker_name", flat=True)
    return sorted(set(names))
