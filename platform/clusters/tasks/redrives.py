"""Redrives: a worker takes one for a turn; beat finds those that nobody has."""

from __future__ import annotations

import os
import socket
import time
import uuid

from celery import shared_task
from django.utils import timezone

from clusters.actions.redrive_runs import do_run_redrive, open_redrives
from clusters.actions.redrives import RUN
from console.core.waking import wake


@shared_task
def run_redrive(id: str) -> None:
    """A turn of one redrive; another turn when there is more to do."""
    worker = f"{socket.gethostname()}:{os.getpid()}"
    if do_run_redrive(uuid.UUID(id), worker=worker, clock=timezone.now, sleep=time.sleep):
        wake(RUN, id=id)


@shared_task
def look_after_redrives() -> None:
    """Every few seconds, by beat: those whose worker died, or whose wake-up was lost."""
    for redrive_id in open_redrives(timezone.now()):
        wake(RUN, id=str(redrive_id))
