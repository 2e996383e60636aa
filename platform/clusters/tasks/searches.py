"""Search jobs: a worker takes one for a turn; beat finds those that nobody has."""

from __future__ import annotations

import os
import socket
import uuid

from celery import shared_task
from django.utils import timezone

from clusters.actions.search_runs import do_run_search, open_searches
from clusters.actions.searches import RUN, do_expire_searches
from console.core.waking import wake


@shared_task
def run_search(id: str) -> None:
    """A turn of one job; another turn when there is more to do."""
    if do_run_search(uuid.UUID(id), worker=f"{socket.gethostname()}:{os.getpid()}", clock=timezone.now):
        wake(RUN, id=id)


@shared_task
def look_after_searches() -> None:
    """Every few seconds, by beat: jobs whose worker died, or whose wake-up was lost; results whose days are
    over."""
    now = timezone.now()
    for job_id in open_searches(now):
        wake(RUN, id=str(job_id))
    do_expire_searches(now=now)
