"""Repair: brings processes back to what their rows ask for, on request or by a cluster's policy."""

from __future__ import annotations

from datetime import datetime

from clusters.actions.clusters import refuse_attached
from clusters.actions.old_agents import refuse_old_agents
from clusters.actions.operations import do_start_operation, refuse_busy
from clusters.models import Cluster, Operation
from clusters.provisioning.plans import restarts
from clusters.provisioning.plans.plan import Plan
from clusters.provisioning.states import absent, drifted, state_of
from console.core.actors import Actor
from console.core.problems import Problem


def plan_repair(cluster: Cluster) -> Plan:
    refuse_attached(cluster)
    refuse_busy(cluster)
    return restarts.repair(state_of(cluster), drifted(cluster), absent(cluster))


def do_repair_drifted(*, now: datetime) -> int:
    """Clusters whose policy is to repair drift, when nothing else is under way. How many were begun."""
    begun = 0
    for cluster in Cluster.objects.filter(
        deleted_at=None, repairs_drift=True, kind=Cluster.Kind.MANAGED, needs_approval=False
    ):
        if Operation.objects.filter(cluster=cluster, state__in=Operation.OPEN).exists():
            continue
        labels = drifted(cluster)
        if not labels:
            continue
        plan = restarts.repair(state_of(cluster), labels, [])
        actor = Actor.system("reconcile")
        try:
            refuse_old_agents(plan, cluster.access_control)
            request = {"drifted": labels}
            do_start_operation(cluster, plan, request, needs_approval=False, actor=actor, now=now)
        except Problem:
            continue
        begun += 1
    return begun
