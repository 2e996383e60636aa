"""Clusters of our own: planned and created, described, deleted, restored.

`plan_…` reads and refuses, and changes nothing: a dry run ends there. `do_…` writes, with its audit row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction

from clusters.actions.old_agents import refuse_old_agents
from clusters.actions.operations import do_start_operation, refuse_busy
from clusters.models import Broker, Cluster, Host, Operation
from clusters.provisioning.layout import group_names, lay_out
from clusters.provisioning.names import check_cluster_name, check_group_name, check_release
from clusters.provisioning.plans import sizes
from clusters.provisioning.plans.plan import Plan
from clusters.provisioning.reconcile import is_silent
from clusters.provisioning.secrets_of_clusters import make_secrets
from clusters.provisioning.settings_rules import checked
from clusters.provisioning.states import state_of
from console.core import audit
from console.core.actors import Actor
from console.core.problems import Problem, not_found


@dataclass(frozen=True, slots=True)
class ClusterRequest:
    name: str
    name_servers: int = 1
    groups: int | Sequence[str] = 1
    slaves: int = 0
    hosts: Sequence[str] | None = None
    profile: str = "fast"
    access_control: str = ""
    """off, administration or on; nothing: on with the profile `safe`, off without."""
    overrides: dict[str, Any] = field(default_factory=dict)
    release: str = "builtin"
    allow_same_host: bool = False
    needs_approval: bool = False
    labels: dict[str, str] = field(default_factory=dict)
    broker_cluster_name: str = ""


def usable_hosts(names: Sequence[str] | None, now: datetime) -> list[Host]:
    """Those that can take something new; asked for by name, the reason why one cannot."""
    rows = {host.name: host for host in Host.objects.filter(removed_at=None)}
    if names is None:
        return [host for host in rows.values() if not host.is_cordoned and not is_silent(host, now)]
    if len(set(names)) != len(names):
        raise Problem("invalid", "a host is named twice", 400, field="hosts")
    for name in names:
        host = rows.get(name)
        if host is None:
            raise Problem("unknown_host", f"there is no host {name!r}", 400, field="hosts")
        if host.is_cordoned:
            raise Problem(
                "cordoned", f"the host {name} takes nothing new: it is cordoned", 409, field="hosts"
            )
        refuse_silent(host, now)
    return [rows[name] for name in names]


def refuse_silent(host: Host, now: datetime) -> None:
    if is_silent(host, now):
        heard = "never" if host.heartbeat_at is None else f"last at {host.heartbeat_at:%H:%M:%S} UTC"
        raise Problem(
            "host_silent", f"the agent of {host.name} does not answer (heard of {heard})", 409, field="hosts"
        )


def plan_create(request: ClusterRequest, now: datetime) -> Plan:
    check_cluster_name(request.name)
    check_release(request.release)
    if request.broker_cluster_name:
        check_group_name(request.broker_cluster_name, "broker_cluster_name")
    if Cluster.objects.filter(name=request.name, deleted_at=None).exists():
        raise Problem("exists", f"there is a cluster {request.name} already", 409, field="name")
    overrides = checked(request.overrides)
    names = group_names(request.groups) if isinstance(request.groups, int) else list(request.groups)
    for name in names:
        check_group_name(name, "groups")
    if request.name_servers < 1 or not names:
        raise Problem(
            "invalid", "a cluster has a name server and a broker group at least", 400, field="groups"
        )
    refuse_unwritable(request.profile, overrides, request.slaves)
    hosts = usable_hosts(request.hosts, now)
    layout = lay_out(
        [host.name for host in hosts],
        name_servers=request.name_servers,
        group_names=names,
        slaves=request.slaves,
        allow_same_host=request.allow_same_host,
        masters_on=masters_on(),
    )
    access_control = access_control_of(request)
    plan = sizes.create(request.name, layout, request.profile, access_control)
    refuse_old_agents(plan, access_control)
    return plan


def access_control_of(request: ClusterRequest) -> str:
    if request.access_control:
        return request.access_control
    is_safe = request.profile == Cluster.Profile.SAFE
    return Cluster.AccessControl.ON if is_safe else Cluster.AccessControl.OFF


def refuse_unwritable(profile: str, overrides: dict[str, str], slaves: int) -> None:
    default = "2" if profile == Cluster.Profile.SAFE else "1"
    least = int(overrides.get("minInSyncReplicas", default))
    if least > slaves + 1:
        raise Problem(
            "never_writable",
            f"{least} members must be in sync before a write is taken, and a group has {slaves + 1}: ask for "
            f"{least - 1} slaves at least",
            409,
            field="slaves",
        )


def masters_on() -> dict[str, int]:
    counts: dict[str, int] = {}
    for broker in Broker.objects.filter(group__cluster__deleted_at=None).select_related("group", "host"):
        if broker.is_master:
            counts[broker.host.name] = counts.get(broker.host.name, 0) + 1
    return counts


def do_create_cluster(request: ClusterRequest, plan: Plan, *, actor: Actor, now: datetime) -> Operation:
    cluster = Cluster(
        name=request.name,
        broker_cluster_name=request.broker_cluster_name or "DefaultCluster",
        kind=Cluster.Kind.MANAGED,
        profile=request.profile,
        overrides=checked(request.overrides),
        release=request.release,
        **Cluster.access_columns(access_control_of(request)),
        labels=dict(request.labels),
        created_at=now,
    )
    make_secrets(cluster)
    stored = {
        "name": request.name,
        "slaves": request.slaves,
        "profile": request.profile,
        "access_control": cluster.access_control,
    }
    try:
        with transaction.atomic():
            cluster.save()
            return do_start_operation(
                cluster, plan, stored, needs_approval=request.needs_approval, actor=actor, now=now
            )
    except IntegrityError:
        raise Problem("exists", f"there is a cluster {request.name} already", 409, field="name") from None


POLICY = ("labels", "needs_approval", "repairs_drift")


def do_change_cluster(cluster: Cluster, changes: dict[str, Any], *, actor: Actor, now: datetime) -> Cluster:
    """What concerns no process: labels and policy."""
    values = {name: value for name, value in changes.items() if name in POLICY}
    details = {"before": {name: getattr(cluster, name) for name in values}, "after": values}
    with transaction.atomic():
        Cluster.objects.filter(pk=cluster.pk).update(**values)
        audit.record(
            actor, "cluster.change", cluster=cluster.name, target=cluster.name, details=details, now=now
        )
    cluster.refresh_from_db()
    return cluster


def refuse_attached(cluster: Cluster) -> None:
    if cluster.kind != Cluster.Kind.MANAGED:
        raise Problem(
            "attached", f"{cluster.name} is attached: its processes are not the console's to change", 409
        )


def plan_delete(cluster: Cluster, *, confirm: str, keep_data: bool) -> Plan:
    refuse_attached(cluster)
    refuse_busy(cluster)
    if confirm != cluster.name:
        raise Problem("confirm", "type the cluster's name to confirm", 400, field="confirm")
    return sizes.delete(state_of(cluster), keep_data=keep_data)


def get_deleted(name: str) -> Cluster:
    """The one that was deleted last, of those that can be restored."""
    rows = Cluster.objects.filter(name=name, kind=Cluster.Kind.MANAGED).exclude(deleted_at=None)
    found = rows.exclude(keepsake=None).order_by("-deleted_at").first()
    if found is None:
        raise not_found("deleted cluster", name)
    return found


def plan_restore(cluster: Cluster, now: datetime) -> Plan:
    refuse_busy(cluster)
    if Cluster.objects.filter(name=cluster.name, deleted_at=None).exists():
        raise Problem("exists", f"another cluster is called {cluster.name} now", 409, field="name")
    keepsake = cluster.keepsake or {}
    layout = keepsake["layout"]
    names = [each["host"] for each in layout["name_servers"]]
    names += [member["host"] for group in layout["groups"] for member in group["members"]]
    usable_hosts(sorted(set(names)), now)
    plan = sizes.restore(cluster.name, keepsake)
    refuse_old_agents(plan, cluster.access_control)
    return plan
