"""Rolling restarts, releases, settings, access control, promotion: plans, or the reason why not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from clusters.actions.clusters import refuse_attached, refuse_silent
from clusters.actions.operations import refuse_busy
from clusters.actions.sizes import get_group
from clusters.models import Broker, Cluster, Host
from clusters.provisioning.inventory import find_process
from clusters.provisioning.names import check_release
from clusters.provisioning.plans import restarts
from clusters.provisioning.plans.access import change_access_control
from clusters.provisioning.plans.plan import ClusterState, Plan
from clusters.provisioning.settings_rules import FOR_GOOD, RULES, checked, is_live
from clusters.provisioning.states import state_of
from console.core.problems import Problem


def _ready(cluster: Cluster, now: datetime) -> ClusterState:
    """Its state, when nothing else is under way and all its hosts are there."""
    refuse_attached(cluster)
    refuse_busy(cluster)
    state = state_of(cluster)
    for host in Host.objects.filter(name__in=state.hosts):
        refuse_silent(host, now)
    return state


def plan_restart(
    cluster: Cluster, groups: Sequence[str] | None, *, name_servers: bool, now: datetime
) -> Plan:
    state = _ready(cluster, now)
    wanted = [group.name for group in state.groups] if groups is None else list(groups)
    for name in wanted:
        get_group(state, name, "groups")
    return restarts.rolling_restart(state, wanted, name_servers=name_servers)


def plan_upgrade(cluster: Cluster, release: str, now: datetime) -> Plan:
    check_release(release)
    state = _ready(cluster, now)
    if release == cluster.release:
        raise Problem("same", f"{cluster.name} runs {release} already", 409, field="release")
    return restarts.upgrade(state, release, cluster.release)


def plan_access_control(cluster: Cluster, wanted: str, now: datetime) -> Plan:
    state = _ready(cluster, now)
    if wanted == cluster.access_control:
        raise Problem(
            "same", f"access control of {cluster.name} is {wanted} already", 409, field="access_control"
        )
    return change_access_control(state, cluster.access_control, wanted)


def plan_configure(
    cluster: Cluster, scope: Mapping[str, str], changes: Mapping[str, object], now: datetime
) -> Plan:
    """`scope`: {} for the whole cluster, {"group": …} or {"process": …}."""
    state = _ready(cluster, now)
    given = {key: value for key, value in changes.items() if value is not None}
    wanted: dict[str, str | None] = {**checked(given, "changes")}
    for key in changes:
        if changes[key] is not None:
            continue
        if is_live(key):
            raise Problem(
                "setting_refused",
                f"{key} is changed while a broker runs, which keeps what it was told: give it a value",
                400,
                field=f"changes.{key}",
            )
        if key not in RULES:
            raise Problem("setting_refused", f"{key[:80]} cannot be set by the console", 400, field="changes")
        wanted[key] = None
    if not wanted:
        raise Problem("invalid", "no setting is given", 400, field="changes")
    if fixed := sorted(FOR_GOOD & set(wanted)):
        raise Problem(
            "setting_refused",
            f"{fixed[0]} cannot be changed: the store's files were made with it",
            409,
            field=f"changes.{fixed[0]}",
        )
    before, reached = _covered(cluster, state, scope)
    return restarts.configure(state, scope, wanted, before, reached)


def _covered(
    cluster: Cluster, state: ClusterState, scope: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    """The overrides of the scope as they are, and the labels of its brokers."""
    if "process" in scope:
        process = find_process(cluster, scope["process"])
        if not isinstance(process, Broker):
            raise Problem("invalid", "settings of name servers cannot be changed", 400, field="process")
        return dict(process.overrides), [process.label]
    if "group" in scope:
        group = get_group(state, scope["group"])
        row = cluster.groups.get(name=group.name)
        return dict(row.overrides), [each.label for each in group.members]
    labels = [each.label for group in state.groups for each in group.members]
    return dict(cluster.overrides), labels


def plan_promote(cluster: Cluster, group_name: str, member: int | None, *, unclean: bool) -> Plan:
    refuse_attached(cluster)
    refuse_busy(cluster)
    state = state_of(cluster)
    group = get_group(state, group_name)
    if not group.slaves:
        raise Problem("no_slave", f"{group.name} has no slave", 409, field="group")
    if member is not None and member not in {each.member for each in group.members}:
        raise Problem("unknown_member", f"{group.name} has no member {member}", 400, field="member")
    if member == group.master:
        raise Problem("is_master", f"member {member} is master already", 409, field="member")
    return restarts.promote(state, group, member, unclean=unclean)
