"""What `manage.py up` makes on a fresh machine: tables, an administrator, the host `local`, a first cluster.

Each function looks first and does nothing when it is done already, so that a second `up` continues. The
cluster goes the way that every cluster goes: a plan, an operation, steps of the agent.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from django.core.management import call_command
from django.db import transaction

from clusters.actions.clusters import ClusterRequest, do_create_cluster, plan_create
from clusters.actions.hosts import Ranges, add_host
from clusters.actions.operations import do_retry_operation
from clusters.models import Cluster, Host, Operation
from clusters.provisioning.host_keys import make_key, public_half
from clusters.provisioning.inventory import processes_of, spec_of
from clusters.provisioning.secrets_of_clusters import ADMINISTRATOR_FILE
from console.agent import VERSION, remember
from console.core import audit
from console.core.actors import Actor
from console.core.models import User

HOST = "local"
CLUSTER = "local"
ADMINISTRATOR = "admin"
SMALL_SEGMENTS = {
    "mappedFileSizeCommitLog": "67108864",
    "mappedFileSizeTimerLog": "16777216",
    "maxHashSlotNum": "500000",
    "maxIndexNum": "2000000",
}
_ACTOR = Actor.system("up")


def migrate() -> None:
    call_command("migrate", verbosity=0, interactive=False)


def make_administrator(now: datetime) -> str | None:
    """The password, the only time that it can be shown; None when there are people already."""
    password = secrets.token_urlsafe(12)
    with transaction.atomic():
        if User.objects.exists():
            return None
        User.objects.create_superuser(ADMINISTRATOR, password=password)
        audit.record(_ACTOR, "user.create", target=ADMINISTRATOR, details={"is_superuser": True}, now=now)
    return password


def join_local(data_root: Path, address: str, ranges: Ranges, now: datetime) -> Host:
    found = Host.objects.filter(name=HOST, removed_at=None).first()
    if found is not None:
        return found
    key = make_key(data_root)
    with transaction.atomic():
        host = add_host(HOST, address, str(data_root), public_half(key), ranges, version=VERSION, now=now)
        audit.record(_ACTOR, "host.join", target=HOST, details={"address": address}, now=now)
    remember(data_root, HOST)
    return host


def create_first_cluster(now: datetime) -> Operation | None:
    """None when there is, or ever was, a cluster."""
    if Cluster.objects.exists():
        begun = Operation.objects.filter(
            cluster__name=CLUSTER, kind="create", state__in=Operation.OPEN
        ).first()
        is_failed = begun is not None and begun.state == Operation.State.FAILED
        return do_retry_operation(begun, actor=_ACTOR, now=now) if begun and is_failed else begun
    request = ClusterRequest(
        CLUSTER,
        name_servers=1,
        groups=2,
        hosts=[HOST],
        access_control=Cluster.AccessControl.ADMINISTRATION,
        overrides=dict(SMALL_SEGMENTS),
    )
    return do_create_cluster(request, plan_create(request, now), actor=_ACTOR, now=now)


def follow(operation: Operation, say: Callable[[str], None], wait: Callable[[], None]) -> Operation:
    """Says what its steps do, until it is over or needs a person."""
    said: set[int] = set()
    while True:
        operation.refresh_from_db()
        for step in operation.steps.order_by("finished_at"):
            if step.state == "done" and step.pk not in said:
                said.add(step.pk)
                say(step.summary)
        if operation.state in (Operation.State.RUNNING, Operation.State.AWAITING_APPROVAL):
            wait()
            continue
        return operation


def missing(cluster: str) -> list[str]:
    """Labels of processes of that cluster that should run and are not known to."""
    row = Cluster.objects.filter(name=cluster, deleted_at=None).first()
    if row is None:
        return []
    return [
        process.label
        for process in processes_of(row)
        if process.desired == "running" and process.observed != "running"
    ]


def administrator_file_of(cluster: str) -> Path | None:
    """What `signalbox-admin` signs changes of this cluster with, where that is needed."""
    row = Cluster.objects.filter(name=cluster, deleted_at=None).first()
    process = next(iter(processes_of(row)), None) if row is not None else None
    if process is None:
        return None
    path = spec_of(process).folder.secrets / ADMINISTRATOR_FILE
    return path if path.exists() else None


def name_servers_of(cluster: str) -> str:
    row = Cluster.objects.filter(name=cluster, deleted_at=None).first()
    if row is None:
        return ""
    return ";".join(server.address for server in row.name_servers.select_related("host"))
