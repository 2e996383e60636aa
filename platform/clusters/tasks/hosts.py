"""Looking after hosts: beat wakes every living agent, an agent looks at its processes and its open steps."""

from __future__ import annotations

import threading

from celery import shared_task
from django.db import transaction
from django.utils import timezone

from clusters.actions.repairs import do_repair_drifted
from clusters.models import Host, Operation
from clusters.provisioning import agents, operations
from clusters.provisioning.executor import run_open_steps, stopping
from clusters.provisioning.reconcile import forget_silent_hosts, is_silent, look_after
from console.core.waking import host_queue, wake

_looking = threading.Lock()
_SOON_S = 4.0


@shared_task
def look_after_host(host: str) -> None:
    """Once at a time in this process; a second wake-up has nothing to add."""
    mine = agents.current()
    if mine is None or mine.name != host or not _looking.acquire(blocking=False):
        return
    try:
        soon = look_after(mine, timezone.now())
        while soon is not None and soon <= _SOON_S and not stopping.wait(soon):
            soon = look_after(mine, timezone.now())
        agents.note_look()
    finally:
        _looking.release()


@shared_task
def tick() -> None:
    """Every five seconds, by beat: nothing that a lost message or a killed worker left stays behind."""
    now = timezone.now()
    for host in Host.objects.filter(removed_at=None):
        if not is_silent(host, now):
            queue = host_queue(host.name)
            wake("clusters.tasks.hosts.look_after_host", queue=queue, host=host.name)
            wake(operations.RUN_STEPS, queue=queue, host=host.name)
    settle_cancelled()
    forget_silent_hosts(now)
    do_repair_drifted(now=now)
    run_open_steps(None, agents.worker_name("control"))


def settle_cancelled() -> None:
    """A cancelled operation whose worker died with a step in hand must end all the same."""
    now = timezone.now()
    for operation in Operation.objects.filter(state=Operation.State.CANCELLING):
        with transaction.atomic():
            operations.lock(operation.pk)
            operation.steps.filter(state="running", lease_until__lt=now).update(
                state="failed", error="its worker ended in the middle of it", lease_until=None
            )
            operations.advance(operation.pk, now)
