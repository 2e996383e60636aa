"""Steps of operations: an agent runs those of its host, a control worker those of none."""

from __future__ import annotations

import logging
import threading

from celery import shared_task

from clusters.provisioning import agents
from clusters.provisioning.executor import run_open_steps

log = logging.getLogger(__name__)

MOST_AT_ONCE = 6
"""Threads of an agent that run steps: the others are for what a page waits for (log tails) and healing."""
_places = threading.BoundedSemaphore(MOST_AT_ONCE)


@shared_task
def run_steps(host: str = "") -> int:
    """`host`: whose steps; empty for those of no host. When all places are taken, those who have them go on
    until nothing is due: there is nothing to wait for."""
    if not _places.acquire(blocking=False):
        return 0
    try:
        return _run(host)
    finally:
        _places.release()


def _run(host: str) -> int:
    if not host:
        return run_open_steps(None, agents.worker_name("control"))
    mine = agents.current()
    if mine is None or mine.name != host:
        log.warning("this worker is not the agent of %s", host)
        return 0
    return run_open_steps(mine.pk, agents.worker_name(host))
