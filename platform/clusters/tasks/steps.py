"""Steps of operations: an agent runs those of its host, a control worker those of none."""

from __future__ import annotations

import logging

from celery import shared_task

from clusters.provisioning import agents
from clusters.provisioning.executor import run_open_steps

log = logging.getLogger(__name__)


@shared_task
def run_steps(host: str = "") -> int:
    """`host`: whose steps; empty for those of no host."""
    if not host:
        return run_open_steps(None, agents.worker_name("control"))
    mine = agents.current()
    if mine is None or mine.name != host:
        log.warning("this worker is not the agent of %s", host)
        return 0
    return run_open_steps(mine.pk, agents.worker_name(host))
