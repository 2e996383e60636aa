"""Where a run can go: a host that has the stores. `choose` is pure; `place` reads rows, changes nothing.

One Spark reads what its host's disks hold, so the host must have a member of every broker group that is
asked for; of several such hosts, one that can run Spark and has the most masters, which are never behind. If
no host has them all, the run is refused with the names, or made of what one host has when the caller says
that a part will do: then what was left out is named in the run, never passed over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from clusters.models import Broker, Cluster, Host
from clusters.provisioning.reconcile import is_silent
from console.core.problems import Problem
from reports.models import ClusterStores, SparkHost


@dataclass(frozen=True, slots=True)
class Member:
    group: str
    member: int
    host: str
    is_master: bool


@dataclass(frozen=True, slots=True)
class Placement:
    host: Host | None
    """None: any."""
    stores: list[dict[str, Any]]
    left_out: list[str] = field(default_factory=list)
    missing: str = ""
    """What keeps Spark from running there; known before anything is started."""


def choose(members: Sequence[Member], can_run: Mapping[str, bool]) -> tuple[str, list[Member], list[str]]:
    """The host, the member of each group to read there, and the groups that it has none of."""
    by_host: dict[str, dict[str, Member]] = {}
    for one in sorted(members, key=lambda each: (not each.is_master, each.member)):
        by_host.setdefault(one.host, {}).setdefault(one.group, one)

    def worth(host: str) -> tuple[Any, ...]:
        found = by_host[host]
        masters = sum(one.is_master for one in found.values())
        return (len(found), can_run.get(host, False), masters, [-ord(char) for char in host])

    best = max(by_host, key=worth)
    groups = {one.group for one in members}
    return best, list(by_host[best].values()), sorted(groups - by_host[best].keys())


def place(
    cluster: Cluster,
    brokers: Sequence[str],
    *,
    paths: Sequence[Mapping[str, Any]] = (),
    allows_partial: bool,
    now: datetime,
) -> Placement:
    """`paths` are those that the request itself names."""
    known = ClusterStores.objects.select_related("host").filter(cluster=cluster).first()
    if paths or cluster.kind == Cluster.Kind.ATTACHED:
        return _place_paths(cluster, known, brokers, list(paths))
    members = _members(cluster, brokers)
    if known is not None and known.is_shared:
        masters = [one for one in members if one.is_master]
        return _anywhere([{"broker": one.group, "member": one.member} for one in masters])
    hosts = {host.name: host for host in Host.objects.filter(removed_at=None)}
    spark = _spark_hosts()
    name, chosen, left_out = choose(
        members, {name: not spark.get(name, "") and not is_silent(host, now) for name, host in hosts.items()}
    )
    if left_out and not allows_partial:
        raise Problem(
            "stores_apart",
            f"no host has all stores: {name} lacks {', '.join(left_out)}. Name brokers of one host, or say "
            "allows_partial",
            409,
            field="brokers",
        )
    stores = [{"broker": one.group, "member": one.member} for one in chosen]
    return Placement(hosts.get(name), stores, left_out, refusal(name, hosts.get(name), spark))


def _members(cluster: Cluster, brokers: Sequence[str]) -> list[Member]:
    rows = Broker.objects.filter(group__cluster=cluster).select_related("group", "host")
    members = [Member(row.group.name, row.member, row.host.name, row.is_master) for row in rows]
    unknown = set(brokers) - {one.group for one in members}
    if unknown:
        raise Problem("unknown_broker", f"there is no broker group {min(unknown)!r}", 400, field="brokers")
    if not members:
        raise Problem("no_brokers", f"the cluster {cluster.name} has no broker yet", 409)
    return [one for one in members if not brokers or one.group in brokers]


def _place_paths(
    cluster: Cluster,
    known: ClusterStores | None,
    brokers: Sequence[str],
    paths: list[Mapping[str, Any]],
) -> Placement:
    stores = [dict(path) for path in paths or (known.stores if known else [])]
    if not stores:
        raise Problem(
            "no_stores",
            f"{cluster.name} is attached: say where its stores are (PUT reports/stores/)",
            409,
            field="stores",
        )
    unknown = set(brokers) - {store.get("broker") for store in stores}
    if unknown:
        raise Problem("unknown_broker", f"no store is {min(unknown)!r}'s", 400, field="brokers")
    stores = [store for store in stores if not brokers or store.get("broker") in brokers]
    if known is None or known.host is None:
        return _anywhere(stores)
    host = known.host
    return Placement(host, stores, missing=refusal(host.name, host, _spark_hosts()))


def _anywhere(stores: list[dict[str, Any]]) -> Placement:
    spark = _spark_hosts()
    hosts = Host.objects.filter(removed_at=None)
    refusals = [refusal(host.name, host, spark) for host in hosts]
    if refusals and all(refusals):
        return Placement(None, stores, missing=refusals[0])
    return Placement(None, stores, missing="" if refusals else "there is no host that could run Spark")


def refusal(name: str, host: Host | None, spark: Mapping[str, str]) -> str:
    """Why this host cannot do it, as far as that is known."""
    if host is None:
        return f"the host {name} was removed"
    return f"{said} (host {name})" if (said := spark.get(name, "")) else ""


def _spark_hosts() -> dict[str, str]:
    return dict(SparkHost.objects.values_list("host__name", "missing"))


def spark_state(now: datetime) -> list[dict[str, Any]]:
    """Of every living host: whether it can run Spark; null until its agent has looked."""
    found = {row.host_id: row for row in SparkHost.objects.all()}
    return [
        {
            "host": host.name,
            "is_available": None if (row := found.get(host.pk)) is None else not row.missing,
            "missing": "" if row is None else row.missing,
            "is_silent": is_silent(host, now),
            "checked_at": None if row is None else row.checked_at,
        }
        for host in Host.objects.filter(removed_at=None)
    ]
