"""Searches by Spark: begun where the console's rows are, finished on the host that has the files."""

from __future__ import annotations

import uuid

from celery import shared_task
from django.utils import timezone

from clusters.provisioning import agents
from reports.actions.searches import do_finish_search, do_start_search


@shared_task
def start_search(id: str) -> None:
    do_start_search(uuid.UUID(id), now=timezone.now())


@shared_task
def finish_search(id: str) -> None:
    do_finish_search(uuid.UUID(id), worker=agents.worker_name("reports"), now=timezone.now())
