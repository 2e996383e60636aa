"""Waking workers: a Celery message by task name, on commit. Only a wake-up: what is to be done is in rows.

A message that is lost costs time, not work: beat wakes everybody again. So a Redis that is away is logged and
does not fail the change that was just committed.
"""

from __future__ import annotations

import logging
from typing import Any

from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

log = logging.getLogger(__name__)

CONTROL = "control"
REPORTS = "reports"


def host_queue(host: str) -> str:
    return f"host.{host}"


def wake(task: str, *, queue: str = CONTROL, **ids: Any) -> None:
    """`ids` are JSON values that name rows, never the work itself."""
    transaction.on_commit(lambda: _send(task, queue, ids), robust=True)


def _send(task: str, queue: str, ids: dict[str, Any]) -> None:
    try:
        current_app.send_task(task, kwargs=ids, queue=queue, retry=False)
    except (OperationalError, OSError) as error:
        log.warning("%s was not told to do %s: %s", queue, task, error)
