"""Files of this host's runs: pieces for the console's machine, and the end of those whose days are over."""

from __future__ import annotations

from celery import shared_task
from django.core.cache import cache
from django.utils import timezone

from clusters.provisioning import agents
from reports.actions.bringing import KEPT_S, LOG_BYTES, read_piece
from reports.actions.expiring import do_remove_files
from reports.models import ReportRun
from reports.submitting import logs
from reports.submitting.folders import folders_of


@shared_task
def send_piece(run: str, table: str, name: str, offset: int, key: str) -> None:
    row = _mine(run)
    if row is not None:
        cache.set(key, read_piece(row, table, name, int(offset)), KEPT_S)


@shared_task
def send_log(run: str, key: str) -> None:
    row = _mine(run)
    if row is not None and row.host is not None:
        text = logs.tail(folders_of(row.host.data_root).log(row.pk), LOG_BYTES)
        cache.set(key, text.encode(), KEPT_S)


@shared_task
def remove_expired(host: str) -> int:
    mine = agents.current()
    return do_remove_files(mine, now=timezone.now()) if mine is not None and mine.name == host else 0


def _mine(run: str) -> ReportRun | None:
    """Only of this agent's own host."""
    mine = agents.current()
    if mine is None:
        return None
    return ReportRun.objects.select_related("host").filter(pk=run, host=mine).first()
