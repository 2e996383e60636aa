"""Plans that restart brokers one after another: rolling restart, release, settings, promotion, repair.

A group's slaves come first, each behind a gate: the next broker is touched when every member answers and is
in sync. The master comes last; where there are slaves one of them takes over first, so that writes stop for
the moment of a hand-over and not for that of a restart.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from clusters.provisioning.plans.plan import ClusterState, GroupState, MemberState, Plan, StepSpec
from clusters.provisioning.settings_rules import is_live


def rolling_restart(state: ClusterState, groups: Collection[str], *, name_servers: bool) -> Plan:
    plan = Plan("restart", f"Restart the brokers of {state.name} one after the other")
    if name_servers:
        _roll_name_servers(plan, state)
    for group in state.groups:
        if group.name in groups:
            roll_group(plan, group)
    return plan


def _roll_name_servers(plan: Plan, state: ClusterState) -> None:
    plan.say(f"Restart {len(state.name_servers)} name servers, one after the other.")
    for server in state.name_servers:
        plan.then([StepSpec("restart", f"Restart {server.label}", server.host, {"process": server.label})])


def roll_group(plan: Plan, group: GroupState, *, hands_over: bool = True) -> None:
    """`hands_over`: a slave takes over before the master is restarted."""
    for slave in group.slaves:
        _restart(plan, group, slave)
    slaves = [each for each in group.slaves if not each.is_new]
    if slaves and hands_over:
        heir = slaves[0]
        plan.say(f"{group.name}: restart its slaves, let {heir.label} take over, restart {_master(group)}.")
        plan.then(
            [
                StepSpec(
                    "promote",
                    f"{heir.label} takes over {group.name}",
                    None,
                    {"group": group.name, "member": heir.member},
                )
            ]
        )
        _gate(plan, group)
    else:
        plan.say(f"{group.name}: restart {_master(group)}, which has no slave to take over.")
        plan.warnings.append(f"{group.name} takes no writes and no reads while its master restarts.")
    _restart(plan, group, group.master_member)


def _master(group: GroupState) -> str:
    return group.master_member.label


def _restart(plan: Plan, group: GroupState, member: MemberState) -> None:
    plan.then([StepSpec("restart", f"Restart {member.label}", member.host, {"process": member.label})])
    _gate(plan, group)


def _gate(plan: Plan, group: GroupState) -> None:
    plan.then([StepSpec("gate", f"Wait until {group.name} is whole", None, {"group": group.name})])


def upgrade(state: ClusterState, release: str, before: str) -> Plan:
    plan = Plan("upgrade", f"Run {state.name} with the release {release}")
    plan.say(f"Look whether {release} is installed on every host, before anything is stopped.")
    plan.then(
        StepSpec("find_release", f"Find {release} on {host}", host, {"release": release})
        for host in state.hosts
    )
    plan.say(f"Set the release from {before} to {release}; rolling back returns to {before}.")
    plan.then([StepSpec("set_release", f"Set the release to {release}", None, {"release": release})])
    _roll_name_servers(plan, state)
    for group in state.groups:
        roll_group(plan, group)
    return plan


def configure(
    state: ClusterState,
    scope: Mapping[str, str],
    changes: Mapping[str, str | None],
    before: Mapping[str, str],
    reached: Collection[str],
) -> Plan:
    """`reached`: labels of the brokers that the scope covers; `before`: the overrides as they are."""
    plan = Plan("configure", f"Change {len(changes)} settings of {state.name}")
    for key, value in changes.items():
        old, new = before.get(key, "(default)"), "(default)" if value is None else value
        how = "while it runs" if is_live(key) else "with a restart"
        plan.say(f"{key}: {old} → {new}, {how}.")
    arguments = {"scope": dict(scope), "changes": dict(changes)}
    plan.then([StepSpec("set_overrides", "Write down the settings", None, arguments)])
    live = {key: value for key, value in changes.items() if is_live(key)}
    members = [each for group in state.groups for each in group.members if each.label in reached]
    if live:
        plan.then(
            StepSpec(
                "apply_live", f"Change {each.label}", None, {"process": each.label, "changes": dict(live)}
            )
            for each in members
        )
    if len(live) < len(changes):
        for group in state.groups:
            if any(each.label in reached for each in group.members):
                roll_group(plan, group)
    plan.then(
        StepSpec("read_back", f"Ask {each.label}", None, {"process": each.label, "changes": dict(changes)})
        for each in members
    )
    return plan


def promote(state: ClusterState, group: GroupState, member: int | None, *, unclean: bool) -> Plan:
    named = "the slave with the longest log" if member is None else f"{group.name}-{member}"
    plan = Plan("promote", f"Make {named} master of {group.name}")
    plan.say(f"Let {named} become master of {group.name} in place of {_master(group)}.")
    if unclean:
        plan.say("Go on when too few members answer.")
        plan.warnings.append(
            "Unclean: what only the absent members have is lost, even if it was acknowledged."
        )
    arguments = {"group": group.name, "member": member, "unclean": unclean}
    plan.then([StepSpec("promote", f"Promote {named}", None, arguments)])
    return plan


def repair(state: ClusterState, drifted: Collection[str], absent: Collection[str]) -> Plan:
    plan = Plan("repair", f"Repair {state.name}")
    servers = [each for each in state.name_servers if each.label in (*drifted, *absent)]
    for server in servers:
        plan.say(f"Restart {server.label} with the settings that it should have.")
        plan.then([StepSpec("restart", f"Restart {server.label}", server.host, {"process": server.label})])
    members = [each for group in state.groups for each in group.members if each.label in absent]
    for member in members:
        plan.say(f"Start {member.label}.")
    plan.then(
        StepSpec("start", f"Start {each.label} on {each.host}", each.host, {"process": each.label})
        for each in members
    )
    for group in state.groups:
        if any(each.label in drifted and each.label not in absent for each in group.members):
            roll_group(plan, group)
    if not plan.positions:
        plan.say("Nothing is to be repaired.")
    return plan
