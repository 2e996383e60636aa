"""Who collects which cluster: a lease per cluster, as a row. Synchronous, for a thread.

A collector that dies stops renewing; when its lease is over, another one raises the fence and goes on. The
old one's writes name the old fence and change nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from django.db.models import F, Q

from clusters.models import Cluster, Collection

LEASE = timedelta(seconds=8)
RENEW_EVERY_S = 2.0


def take_leases(holder: str, now: datetime) -> dict[int, int]:
    """Of all living clusters that nobody collects: cluster id to fence."""
    _make_rows()
    free = Q(lease_until=None) | Q(lease_until__lte=now)
    taken: dict[int, int] = {}
    for row in Collection.objects.filter(free, cluster__deleted_at=None):
        won = Collection.objects.filter(free, pk=row.pk, fence=row.fence).update(
            fence=row.fence + 1, holder=holder, lease_until=now + LEASE
        )
        if won:
            taken[row.cluster_id] = row.fence + 1
    return taken


def renew_leases(held: Mapping[int, int], now: datetime) -> set[int]:
    """Those that are still ours; a deleted cluster's is not."""
    kept = set()
    for cluster_id, fence in held.items():
        rows = Collection.objects.filter(cluster_id=cluster_id, fence=fence, cluster__deleted_at=None)
        if rows.update(lease_until=now + LEASE):
            kept.add(cluster_id)
    return kept


def release_leases(held: Mapping[int, int], now: datetime) -> None:
    for cluster_id, fence in held.items():
        Collection.objects.filter(cluster_id=cluster_id, fence=fence).update(lease_until=now)


def next_revision(cluster_id: int, fence: int) -> int | None:
    """Inside the transaction of a write; None when the lease went to somebody else."""
    rows = Collection.objects.filter(cluster_id=cluster_id, fence=fence)
    if not rows.update(revision=F("revision") + 1):
        return None
    return rows.values_list("revision", flat=True).get()


def _make_rows() -> None:
    missing = Cluster.objects.filter(deleted_at=None, collection=None)
    Collection.objects.bulk_create(
        [Collection(cluster_id=pk) for pk in missing.values_list("pk", flat=True)], ignore_conflicts=True
    )
