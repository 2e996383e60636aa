"""The plan that changes a cluster's access control, and what its preview says.

Brokers come before name servers: a broker that signs is understood by a name server that does not ask, not
the other way round. Members of a group talk to each other while they are restarted in turn, so where access
control was off and a group has slaves there are two rounds: first all learn to sign, then all ask for it.
"""

from __future__ import annotations

from dataclasses import replace

from clusters.provisioning.confs import ADMINISTRATION, OFF, ON, access_read_back
from clusters.provisioning.plans.plan import ClusterState, Plan, StepSpec
from clusters.provisioning.plans.restarts import roll_group

_MEANING = {
    OFF: "Whoever reaches the cluster's ports may change everything, without credentials.",
    ADMINISTRATION: "From then on changes need the signature of an administrator; applications and reads "
    "go on without credentials.",
    ON: "From then on every request needs a user with the right to it.",
}


def change_access_control(state: ClusterState, before: str, after: str) -> Plan:
    plan = Plan("access_control", f"Change the access control of {state.name} from {before} to {after}")
    plan.say(_MEANING[after])
    _warn(plan, before, after)
    if before == OFF:
        plan.say(
            "Make an administrator with a random secret, sealed by the console, and give it to the hosts."
        )
        plan.then([StepSpec("make_access_secrets", "Make the cluster's credentials", None, {})])
        if any(group.slaves for group in state.groups):
            plan.say("Restart brokers a first time, so that all members sign before any asks for it.")
            state = _roll_groups(plan, state)
    arguments = {"access_control": after}
    plan.then([StepSpec("set_access_control", f"Set access control to {after}", None, arguments)])
    _roll_groups(plan, state)
    _roll_name_servers(plan, state)
    changes = access_read_back(after)
    plan.then(
        StepSpec("read_back", f"Ask {each.label}", None, {"process": each.label, "changes": changes})
        for group in state.groups
        for each in group.members
    )
    return plan


def _roll_groups(plan: Plan, state: ClusterState) -> ClusterState:
    """The state after it: where there are slaves, the first of them is master then."""
    for group in state.groups:
        roll_group(plan, group)
    groups = tuple(
        replace(group, master=group.slaves[0].member) if group.slaves else group for group in state.groups
    )
    return replace(state, groups=groups)


def _roll_name_servers(plan: Plan, state: ClusterState) -> None:
    plan.say("Restart name servers, each once all brokers are registered with the one before.")
    for server in state.name_servers:
        named = {"name_server": server.label}
        plan.then([StepSpec("restart", f"Restart {server.label}", server.host, {"process": server.label})])
        plan.then(
            [StepSpec("await_registration", f"Wait until {server.label} knows all brokers", None, named)]
        )


def _warn(plan: Plan, before: str, after: str) -> None:
    if after == ON:
        plan.warnings.append("Applications without a user and policies are refused: create those first.")
    elif after == ADMINISTRATION and before == OFF:
        plan.warnings.append(
            "Tools and scripts that create topics or groups, reset offsets or change settings without "
            "credentials are refused, and so are requests signed with credentials the cluster does not know."
        )
    elif after == ADMINISTRATION:
        plan.warnings.append("Sends and reads need no credentials any more.")
    else:
        plan.warnings.append("Any process that reaches the ports may change or destroy the cluster.")
