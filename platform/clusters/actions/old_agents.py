"""Work that an agent of an older release would do wrongly is not handed to it.

Agents of release 0.1.0 do not know access control `administration`: they would start a broker or a name
server of such a cluster without it. An agent says its version with every heartbeat.
"""

from __future__ import annotations

from clusters.models import Cluster, Host
from clusters.provisioning.plans.plan import Plan
from console.core.problems import Problem

RELEASES = {"1": "0.1.0"}
"""Versions of agents that do not know `administration`, and the release that they are of."""
_STARTS = ("start", "restart")


def refuse_old_agents(plan: Plan, access_control: str) -> None:
    """`access_control`: the cluster's, before the plan."""
    steps = [step for _, step in plan.steps]
    changes = [step.arguments["access_control"] for step in steps if step.kind == "set_access_control"]
    if Cluster.AccessControl.ADMINISTRATION not in (changes or [access_control]):
        return
    names = {step.host for step in steps if step.kind in _STARTS}
    old = Host.objects.filter(name__in=names, removed_at=None, agent_version__in=RELEASES).first()
    if old is not None:
        raise Problem(
            "old_agent",
            f"the agent of {old.name} is of release {RELEASES[old.agent_version]}, which does not know "
            "access control `administration` and would start processes without it: upgrade that agent first",
            409,
            field="hosts",
        )
