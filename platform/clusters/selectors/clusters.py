"""Living clusters, by name."""

from __future__ import annotations

from django.db.models import QuerySet

from clusters.models import Cluster
from console.core.problems import not_found
from console.core.rights import Grants


def living() -> QuerySet[Cluster]:
    return Cluster.objects.filter(deleted_at=None)


def visible(grants: Grants) -> QuerySet[Cluster]:
    return living().filter(grants.clusters_filter())


def get_cluster(name: str) -> Cluster:
    cluster = living().filter(name=name).first()
    if cluster is None:
        raise not_found("cluster", name)
    return cluster
