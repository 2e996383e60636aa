"""Steps that change desired state alone: rows of name servers, groups and brokers, and the end of a cluster.

They run where the console's key is (no host), because new members' hosts get the cluster's secrets sealed.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db import transaction

from clusters.models import Broker, BrokerGroup, Cluster, Host, LiveBroker, NameServer
from clusters.provisioning.ports import pick_broker_port, pick_name_server_port
from clusters.provisioning.registry import Registry, StepContext, StepFailed
from clusters.provisioning.secrets_of_clusters import seal_for_hosts
from console.core.events import publish


def register(kinds: Registry) -> None:
    kinds.add("declare", declare, take_back)
    kinds.add("forget", forget)
    kinds.add("drain_group", drain_group, stop_draining)
    kinds.add("mark_deleted", mark_deleted)
    kinds.add("revive", revive, bury)


def declare(ctx: StepContext) -> dict[str, Any]:
    """Rows for what is to be: they are not to run until their start step says so."""
    wanted = ctx.arguments
    with transaction.atomic():
        cluster = Cluster.objects.select_for_update().get(pk=ctx.cluster.pk)
        for item in wanted.get("name_servers", []):
            _name_server(cluster, item, first_fence(ctx.now()))
        for item in wanted.get("groups", []):
            _group(cluster, item, first_fence(ctx.now()))
        hosts = Host.objects.filter(name__in=_hosts(wanted))
        seal_for_hosts(cluster, hosts, ctx.now())
    return {}


def first_fence(now: datetime) -> int:
    """A folder that was kept remembers the fences of the rows before: new rows begin above them, whose
    numbers rose by a few since they were made."""
    return int(now.timestamp() * 1000)


def _hosts(wanted: Any) -> set[str]:
    of_groups = {member["host"] for group in wanted.get("groups", []) for member in group["members"]}
    return of_groups | {item["host"] for item in wanted.get("name_servers", [])}


def _host(name: str) -> Host:
    host = Host.objects.select_for_update().filter(name=name, removed_at=None).first()
    if host is None:
        raise StepFailed(f"there is no host {name}")
    return host


def _name_server(cluster: Cluster, item: Any, fence: int) -> None:
    if NameServer.objects.filter(cluster=cluster, number=item["number"]).exists():
        return
    host = _host(item["host"])
    taken = set(NameServer.objects.filter(host=host).values_list("port", flat=True))
    port = item.get("port", 0)
    if port == 0 or port in taken:
        port = pick_name_server_port(host.namesrv_port_low, host.namesrv_port_high, taken)
    NameServer.objects.create(
        cluster=cluster,
        number=item["number"],
        host=host,
        port=port,
        fence=fence,
        desired=NameServer.Desired.STOPPED,
    )


def _group(cluster: Cluster, item: Any, fence: int) -> None:
    group, _ = BrokerGroup.objects.get_or_create(
        cluster=cluster,
        name=item["name"],
        defaults={"master_member": item.get("master", 0), "overrides": item.get("overrides", {})},
    )
    for member in item["members"]:
        if group.brokers.filter(member=member["member"]).exists():
            continue
        host = _host(member["host"])
        taken = set(Broker.objects.filter(host=host).values_list("port", flat=True))
        port = member.get("port", 0)
        if port == 0 or port in taken:
            port = pick_broker_port(host.port_low, host.port_high, taken)
        Broker.objects.create(
            group=group,
            member=member["member"],
            host=host,
            port=port,
            fence=fence,
            overrides=member.get("overrides", {}),
            desired=Broker.Desired.STOPPED,
        )


def take_back(ctx: StepContext) -> None:
    """Of `declare`: its rows are gone; the processes were stopped by the undoing of later steps."""
    with transaction.atomic():
        _forget(ctx.cluster, ctx.arguments)
        if ctx.operation.kind == "create":
            Cluster.objects.filter(pk=ctx.cluster.pk).update(deleted_at=ctx.now())


def forget(ctx: StepContext) -> None:
    with transaction.atomic():
        _forget(ctx.cluster, ctx.arguments)


def _forget(cluster: Cluster, what: Any) -> None:
    for item in what.get("groups", []):
        members = [member["member"] for member in item["members"]]
        rows = Broker.objects.filter(
            group__cluster=cluster, group__name=item["name"], member__in=members
        ).select_related("host")
        _forget_live(cluster, [row.address for row in rows])
        rows.delete()
    _drop_empty(cluster, (item["name"] for item in what.get("groups", [])))
    numbers = [item["number"] for item in what.get("name_servers", [])]
    NameServer.objects.filter(cluster=cluster, number__in=numbers).delete()


def _forget_live(cluster: Cluster, addresses: list[str]) -> None:
    """At once, and not when the collector looks again: pages, alerts and ages would show who is gone."""
    LiveBroker.objects.filter(cluster=cluster, address__in=addresses).delete()
    publish(f"cluster/{cluster.name}", {"gone": addresses})


def _drop_empty(cluster: Cluster, names: Iterable[str]) -> None:
    BrokerGroup.objects.filter(cluster=cluster, name__in=list(names), brokers=None).delete()


def drain_group(ctx: StepContext) -> None:
    BrokerGroup.objects.filter(cluster=ctx.cluster, name=ctx.arguments["group"]).update(is_draining=True)


def stop_draining(ctx: StepContext) -> None:
    BrokerGroup.objects.filter(cluster=ctx.cluster, name=ctx.arguments["group"]).update(is_draining=False)


def mark_deleted(ctx: StepContext) -> None:
    with transaction.atomic():
        LiveBroker.objects.filter(cluster=ctx.cluster).delete()
        BrokerGroup.objects.filter(cluster=ctx.cluster).delete()
        NameServer.objects.filter(cluster=ctx.cluster).delete()
        Cluster.objects.filter(pk=ctx.cluster.pk).update(deleted_at=ctx.now())


def revive(ctx: StepContext) -> None:
    Cluster.objects.filter(pk=ctx.cluster.pk).update(deleted_at=None)


def bury(ctx: StepContext) -> None:
    Cluster.objects.filter(pk=ctx.cluster.pk).update(deleted_at=ctx.now())
