"""Making a cluster larger and smaller: plans from requests, with the reason when it cannot be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from clusters.actions.clusters import masters_on, refuse_attached, refuse_unwritable, usable_hosts
from clusters.actions.operations import refuse_busy
from clusters.models import Broker, Cluster
from clusters.provisioning.layout import GroupLayout, Member, group_names, lay_out, place_slaves
from clusters.provisioning.names import check_group_name
from clusters.provisioning.plans import sizes
from clusters.provisioning.plans.plan import ClusterState, GroupState, Plan
from clusters.provisioning.states import state_of
from console.core.problems import Problem, not_found

DATA = ("trash", "leave", "remove")


@dataclass(frozen=True, slots=True)
class GrowRequest:
    name_servers: int = 0
    groups: int | Sequence[str] = 0
    slaves: int = 0
    """Of new groups when there are any, else added to `to_groups`."""
    to_groups: Sequence[str] | None = None
    hosts: Sequence[str] | None = None
    allow_same_host: bool = False


def plan_grow(cluster: Cluster, request: GrowRequest, now: datetime) -> Plan:
    refuse_attached(cluster)
    refuse_busy(cluster)
    state = state_of(cluster)
    taken = [group.name for group in state.groups]
    names = group_names(request.groups, taken) if isinstance(request.groups, int) else list(request.groups)
    for name in names:
        check_group_name(name, "groups")
        if name in taken:
            raise Problem("exists", f"there is a group {name} already", 409, field="groups")
    hosts = [host.name for host in usable_hosts(request.hosts, now)]
    if not (request.name_servers or names or request.slaves):
        raise Problem("invalid", "say what is to be added", 400, field="groups")
    if names:
        refuse_unwritable(cluster.profile, cluster.overrides, request.slaves)
    first = max((server.number for server in state.name_servers), default=0) + 1
    layout = lay_out(
        hosts,
        name_servers=request.name_servers,
        group_names=names,
        slaves=request.slaves if names else 0,
        allow_same_host=request.allow_same_host,
        masters_on=masters_on(),
        first_name_server=first,
    )
    added = [] if names or not request.slaves else _more_slaves(state, request, hosts)
    return sizes.grow(state, layout.name_servers, [*layout.groups, *added])


def _more_slaves(state: ClusterState, request: GrowRequest, hosts: list[str]) -> list[GroupLayout]:
    wanted = [group.name for group in state.groups] if request.to_groups is None else request.to_groups
    load: dict[str, int] = {}
    for broker in Broker.objects.filter(group__cluster__deleted_at=None).select_related("host"):
        load[broker.host.name] = load.get(broker.host.name, 0) + 1
    found = []
    for name in wanted:
        group = get_group(state, name, "to_groups")
        members = [Member(each.member, each.host) for each in group.members]
        placed = place_slaves(members, hosts, request.slaves, load, request.allow_same_host)
        for member in placed:
            load[member.host] = load.get(member.host, 0) + 1
        found.append(GroupLayout(name, placed))
    return found


def get_group(state: ClusterState, name: str, field: str = "group") -> GroupState:
    group = state.group(name)
    if group is None:
        raise Problem("unknown_group", f"{state.name} has no broker group {name!r}", 400, field=field)
    return group


def plan_shrink(
    cluster: Cluster, group_name: str, member: int | None, *, ignore_groups: Sequence[str], data: str
) -> Plan:
    """A whole group, or one slave of it."""
    refuse_attached(cluster)
    refuse_busy(cluster)
    state = state_of(cluster)
    group = get_group(state, group_name)
    if member is None:
        if len(state.groups) == 1:
            raise Problem(
                "last_group", "it is the last broker group: delete the cluster instead", 409, field="group"
            )
        return sizes.shrink(state, group, ignore_groups=ignore_groups, data=data)
    if member not in {each.member for each in group.members}:
        raise not_found("member", f"{group_name}-{member}")
    if member == group.master:
        raise Problem("is_master", "it is the master: promote another member first", 409, field="member")
    refuse_unwritable(cluster.profile, cluster.overrides, len(group.members) - 2)
    return sizes.remove_slave(state, group, member, data)
