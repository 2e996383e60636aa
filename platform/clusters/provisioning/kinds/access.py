"""Steps that change a cluster's access control: its credentials, and the state in its row.

They run where the console's key is (no host), because the hosts get the credentials sealed. Credentials stay
when an operation is rolled back: a broker that signs is understood by one that does not ask.
"""

from __future__ import annotations

from django.db import transaction

from clusters.gateway import broker_groups
from clusters.gateway.addressing import address_of
from clusters.models import Cluster, Host
from clusters.provisioning.inventory import find_process, processes_of
from clusters.provisioning.registry import Registry, StepContext, StepFailed
from clusters.provisioning.secrets_of_clusters import new_access_secrets, seal_for_hosts
from clusters.provisioning.undoing import Undone
from console.core.problems import Problem

REGISTRATION_S = 90.0
_LOOK_S = 0.5


def register(kinds: Registry) -> None:
    kinds.add("make_access_secrets", make_access_secrets)
    kinds.add("set_access_control", set_access_control, reset_access_control)
    kinds.add("await_registration", await_registration, await_registration, undone=Undone.BEHIND)


def make_access_secrets(ctx: StepContext) -> None:
    """Once: a second run, and a cluster that had them before, keep what there is."""
    with transaction.atomic():
        cluster = Cluster.objects.select_for_update().get(pk=ctx.cluster.pk)
        if not cluster.sealed_inner_secret:
            Cluster.objects.filter(pk=cluster.pk).update(**new_access_secrets())
            cluster.refresh_from_db()
        host_ids = {process.host_id for process in processes_of(cluster)}
        seal_for_hosts(cluster, Host.objects.filter(pk__in=host_ids), ctx.now())
    ctx.log(f"the administrator is {cluster.access_key}")


def set_access_control(ctx: StepContext) -> None:
    with transaction.atomic():
        cluster = Cluster.objects.select_for_update().get(pk=ctx.cluster.pk)
        if "before" not in ctx.result:
            ctx.keep(before=cluster.access_control)
        _set(cluster, ctx.arguments["access_control"])


def reset_access_control(ctx: StepContext) -> None:
    before = ctx.operation.steps.get(pk=ctx.arguments["undoes"]).result.get("before")
    if before is not None:
        _set(ctx.cluster, before)


def _set(cluster: Cluster, state: str) -> None:
    Cluster.objects.filter(pk=cluster.pk).update(**Cluster.access_columns(state))


def await_registration(ctx: StepContext) -> None:
    """A restarted name server knows nobody: clients that ask it find no topic until brokers are back."""
    server = find_process(ctx.cluster, ctx.arguments["name_server"])
    waited, trouble = 0.0, ""
    while waited < REGISTRATION_S:
        ctx.check()
        address = address_of(ctx.cluster)
        try:
            missing = sorted(address.brokers - broker_groups.registered_brokers(address, server.address))
            trouble = f"{', '.join(missing)} is not registered yet" if missing else ""
        except Problem as problem:
            trouble = problem.detail
        if not trouble:
            return
        ctx.progress(trouble)
        ctx.wait(_LOOK_S)
        waited += _LOOK_S
    raise StepFailed(f"{server.label} does not know every broker after {REGISTRATION_S:g} s: {trouble}")
