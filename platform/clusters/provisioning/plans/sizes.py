"""Plans that make a cluster, make it larger, and make it smaller."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from clusters.provisioning.confs import ADMINISTRATION, OFF, ON
from clusters.provisioning.layout import GroupLayout, Layout, Member, NameServerLayout
from clusters.provisioning.plans.plan import ClusterState, GroupState, Plan, StepSpec
from clusters.provisioning.plans.restarts import roll_group

_ACCESS = {
    OFF: "Access control is off: whoever reaches its ports may change everything.",
    ADMINISTRATION: "Access control is for administration: changes need the console's or another "
    "administrator's signature, applications and reads need none.",
    ON: "Access control is on: every application needs a user.",
}


def create(name: str, layout: Layout, profile: str, access_control: str = OFF) -> Plan:
    members = sum(len(group.members) for group in layout.groups)
    plan = Plan("create", f"Create the cluster {name}")
    plan.say(
        f"Make {len(layout.name_servers)} name servers and {len(layout.groups)} broker groups with {members} "
        f"brokers, profile {profile}."
    )
    plan.say(_ACCESS[access_control])
    _add(plan, layout.name_servers, layout.groups)
    return plan


def grow(
    state: ClusterState, name_servers: Sequence[NameServerLayout], groups: Sequence[GroupLayout]
) -> Plan:
    """`groups`: new ones, and old ones with the members that are added to them."""
    plan = Plan("grow", f"Grow the cluster {state.name}")
    _add(plan, name_servers, groups)
    if name_servers:
        plan.say("Restart every broker that was there, so that it registers with the new name servers.")
        new = {group.name for group in groups}
        for group in state.groups:
            roll_group(plan, group, hands_over=group.name not in new)
    return plan


def _add(plan: Plan, name_servers: Sequence[NameServerLayout], groups: Sequence[GroupLayout]) -> None:
    for server in name_servers:
        plan.say(f"Start the name server namesrv-{server.number} on {server.host}.")
    for group in groups:
        for member in group.members:
            what = "master" if member.member == 0 else "slave"
            plan.say(f"Start {group.name}-{member.member} on {member.host} as a {what}.")
    plan.then([StepSpec("declare", "Write down what is to be", None, rows_of(name_servers, groups))])
    plan.then(_reserve(name_servers, groups))
    plan.then(_start(f"namesrv-{server.number}", server.host) for server in name_servers)
    plan.then(_starts(groups, masters=True))
    plan.then(_starts(groups, masters=False))
    plan.then(StepSpec("gate", f"Wait until {g.name} is whole", None, {"group": g.name}) for g in groups)


def rows_of(name_servers: Iterable[NameServerLayout], groups: Iterable[GroupLayout]) -> dict[str, Any]:
    return {
        "name_servers": [asdict(server) for server in name_servers],
        "groups": [
            {"name": group.name, "members": [asdict(member) for member in group.members]} for group in groups
        ],
    }


def _reserve(name_servers: Iterable[NameServerLayout], groups: Iterable[GroupLayout]) -> list[StepSpec]:
    by_host: dict[str, list[str]] = {}
    for server in name_servers:
        by_host.setdefault(server.host, []).append(f"namesrv-{server.number}")
    for group in groups:
        for member in group.members:
            by_host.setdefault(member.host, []).append(f"{group.name}-{member.member}")
    return [
        StepSpec("reserve_ports", f"Find free ports on {host}", host, {"processes": labels})
        for host, labels in by_host.items()
    ]


def _starts(groups: Iterable[GroupLayout], *, masters: bool) -> list[StepSpec]:
    return [
        _start(f"{group.name}-{member.member}", member.host)
        for group in groups
        for member in group.members
        if (member.member == 0) == masters
    ]


def _start(label: str, host: str) -> StepSpec:
    return StepSpec("start", f"Start {label} on {host}", host, {"process": label, "undo": "remove"})


def shrink(state: ClusterState, group: GroupState, *, ignore_groups: Sequence[str], data: str) -> Plan:
    """A whole group goes, once everything in it is consumed."""
    plan = Plan("shrink", f"Remove the broker group {group.name} from {state.name}")
    plan.say(f"Refuse writes on {group.name}; producers go on to the other groups.")
    waits = "Wait until every consumer group has consumed what is in it"
    plan.say(waits + (f", but for {', '.join(ignore_groups)}." if ignore_groups else "."))
    brokers = "broker" if len(group.members) == 1 else f"{len(group.members)} brokers"
    plan.say(f"Stop its {brokers} and {_what_happens(data)}.")
    plan.warnings.append("Delayed and half messages in it that are not due yet are not waited for.")
    named = {"group": group.name}
    plan.then([StepSpec("drain_group", f"Mark {group.name} as being removed", None, named)])
    plan.then(
        [StepSpec("write_permission", f"Refuse writes on {group.name}", None, named | {"is_on": False})]
    )
    wait = named | {"ignore_groups": list(ignore_groups)}
    plan.then([StepSpec("await_consumption", f"Wait until {group.name} is consumed", None, wait)])
    remove_group(plan, group, data)
    return plan


def remove_group(plan: Plan, group: GroupState, data: str) -> None:
    plan.then(_remove(member.label, member.host, data) for member in group.slaves)
    plan.then([_remove(group.master_member.label, group.master_member.host, data)])
    members = [asdict(Member(each.member, each.host)) for each in group.members]
    forget = {"groups": [{"name": group.name, "members": members}]}
    plan.then([StepSpec("forget", f"Forget {group.name}", None, forget)])


def remove_slave(state: ClusterState, group: GroupState, member: int, data: str) -> Plan:
    slave = next(each for each in group.members if each.member == member)
    plan = Plan("shrink", f"Remove the slave {slave.label} from {state.name}")
    plan.say(f"Stop {slave.label} and {_what_happens(data)}.")
    plan.then([_remove(slave.label, slave.host, data)])
    forget = {"groups": [{"name": group.name, "members": [{"member": member, "host": slave.host}]}]}
    plan.then([StepSpec("forget", f"Forget {slave.label}", None, forget)])
    return plan


def _remove(label: str, host: str, data: str) -> StepSpec:
    return StepSpec("remove", f"Remove {label} from {host}", host, {"process": label, "data": data})


def _what_happens(data: str) -> str:
    texts = {"leave": "leave its files", "trash": "move its files to trash", "remove": "remove its files"}
    return texts[data]


def delete(state: ClusterState, *, keep_data: bool) -> Plan:
    plan = Plan("delete", f"Delete the cluster {state.name}")
    plan.say("Keep its layout, topics, groups and offsets for a restore.")
    plan.say(f"Stop {sum(len(group.members) for group in state.groups)} brokers, slaves first.")
    plan.say(
        "Leave their stores where they are." if keep_data else "Remove their stores, with every message."
    )
    if not keep_data:
        plan.warnings.append("Every message of the cluster is lost.")
    data = "leave" if keep_data else "remove"
    plan.then([StepSpec("take_keepsake", "Keep what a restore needs", None, {"keep_data": keep_data})])
    plan.then(_remove(each.label, each.host, data) for group in state.groups for each in group.slaves)
    plan.then(
        _remove(group.master_member.label, group.master_member.host, data)
        for group in state.groups
        if group.members
    )
    plan.then(_remove(server.label, server.host, data) for server in state.name_servers)
    plan.then([StepSpec("mark_deleted", f"{state.name} is deleted", None, {})])
    return plan


def restore(name: str, keepsake: dict[str, Any]) -> Plan:
    layout, has_data = keepsake["layout"], bool(keepsake["is_data_kept"])
    plan = Plan("restore", f"Restore the cluster {name}")
    plan.say("Bring back its name servers and broker groups where they were.")
    servers = [NameServerLayout(each["number"], each["host"]) for each in layout["name_servers"]]
    groups = [
        GroupLayout(each["name"], tuple(Member(m["member"], m["host"]) for m in each["members"]))
        for each in layout["groups"]
    ]
    plan.then([StepSpec("revive", f"{name} is there again", None, {})])
    rows = layout if has_data else _founded_anew(layout)
    plan.then([StepSpec("declare", "Write down what is to be", None, rows)])
    plan.then(_reserve(servers, groups))
    undo = {"undo": "stop" if has_data else "remove"}
    plan.then(_again(_start(f"namesrv-{each.number}", each.host), undo) for each in servers)
    plan.then(_again(step, undo) for step in _starts(groups, masters=True))
    plan.then(_again(step, undo) for step in _starts(groups, masters=False))
    plan.then(StepSpec("gate", f"Wait until {g.name} is whole", None, {"group": g.name}) for g in groups)
    if has_data:
        plan.say("Their stores are still there, with messages and offsets.")
    else:
        plan.say("Create its topics and groups again. Messages are gone, so offsets begin anew.")
        plan.then([StepSpec("put_back_objects", "Create topics and groups", None, {})])
    return plan


def _founded_anew(layout: dict[str, Any]) -> dict[str, Any]:
    """Without their stores groups begin as they once did: member 0 founds them."""
    return layout | {"groups": [group | {"master": 0} for group in layout["groups"]]}


def _again(step: StepSpec, changes: dict[str, Any]) -> StepSpec:
    return StepSpec(step.kind, step.summary, step.host, step.arguments | changes)
