"""Single brokers: write permission at once, and the end of a process's log, read by its host's agent."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.core.cache import cache

from clusters.actions.clusters import refuse_silent
from clusters.gateway import broker_groups
from clusters.gateway.addressing import address_of
from clusters.models import Cluster
from clusters.provisioning.confs import PERMISSION_ALL, PERMISSION_READ
from clusters.provisioning.inventory import Process, find_process
from console.core import audit
from console.core.actors import Actor
from console.core.problems import Problem
from console.core.waking import host_queue, wake

READ_TAIL = "clusters.tasks.logs.read_tail"
MOST_LINES = 2000
_WAIT_S = 10.0


@dataclass(frozen=True, slots=True)
class Permitted:
    broker: str
    address: str
    wanted: str
    read_back: str | None

    @property
    def is_ok(self) -> bool:
        return self.read_back == self.wanted


def do_permit_writes(cluster: Cluster, broker: str, address: str, is_on: bool, *, actor: Actor) -> Permitted:
    """`address`: of the group's master, as the console knows it."""
    wanted = PERMISSION_ALL if is_on else PERMISSION_READ
    action = "broker.allow_writes" if is_on else "broker.refuse_writes"
    with audit.attempt(
        actor, action, cluster=cluster.name, target=broker, details={"permission": wanted}
    ) as outcome:
        after = broker_groups.update_config(address_of(cluster), address, {"brokerPermission": wanted})
        done = Permitted(broker, address, wanted, after.get("brokerPermission"))
        outcome.is_ok, outcome.details["read_back"] = done.is_ok, done.read_back
    return done


def read_log(
    cluster: Cluster, label: str, kind: str, lines: int, now: datetime, *, pause: Callable[[], None]
) -> dict[str, Any]:
    """Asks the agent of its host, and waits for some seconds. `kind`: `log` or `out`."""
    process: Process = find_process(cluster, label)
    refuse_silent(process.host, now)
    key = f"log-tail:{uuid.uuid4().hex}"
    wake(
        READ_TAIL,
        queue=host_queue(process.host.name),
        cluster=cluster.pk,
        process=label,
        kind=kind,
        lines=min(lines, MOST_LINES),
        key=key,
    )
    deadline = time.monotonic() + _WAIT_S
    while time.monotonic() < deadline:
        found = cache.get(key)
        if found is not None:
            cache.delete(key)
            return {"process": label, "host": process.host.name, **found}
        pause()
    raise Problem("host_silent", f"the agent of {process.host.name} did not answer in time", 504)
