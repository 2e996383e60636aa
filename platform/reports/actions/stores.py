"""Where a cluster's stores are, as an administrator of the platform says."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from clusters.models import Cluster, Host
from console.core import audit
from console.core.actors import Actor
from console.core.problems import Problem
from reports.models import ClusterStores


@dataclass(frozen=True, slots=True)
class StoresWish:
    is_shared: bool
    host: str | None
    stores: tuple[dict[str, Any], ...]


def do_set_stores(cluster: Cluster, said: StoresWish, *, actor: Actor, now: datetime) -> ClusterStores:
    host = _host_of(cluster, said)
    values = {
        "is_shared": said.is_shared,
        "host": host,
        "stores": list(said.stores),
        "updated_by": actor.name,
        "updated_at": now,
    }
    with transaction.atomic():
        row, _ = ClusterStores.objects.update_or_create(cluster=cluster, defaults=values)
        audit.record(
            actor, "report.stores", cluster=cluster.name, target=cluster.name, details=asdict(said), now=now
        )
    return row


def _host_of(cluster: Cluster, said: StoresWish) -> Host | None:
    if cluster.kind == Cluster.Kind.MANAGED:
        if said.stores or said.host:
            raise Problem("managed", f"the hosts of {cluster.name} know its stores", 409, field="stores")
        return None
    if said.is_shared or not said.stores:
        return None
    host = Host.objects.filter(name=said.host or "", removed_at=None).first()
    if host is None:
        raise Problem("unknown_host", "name the host that has the disks", 400, field="host")
    return host
