"""The end of an engine process's log, for a page that asks: found by row, never by a path from outside."""

from __future__ import annotations

from celery import shared_task
from django.core.cache import cache

from clusters.models import Cluster
from clusters.provisioning import agents
from clusters.provisioning.inventory import find_process, spec_of
from clusters.provisioning.log_tails import tail
from console.core.problems import Problem

_KEPT_S = 30


@shared_task
def read_tail(cluster: int, process: str, kind: str, lines: int, key: str) -> None:
    row = Cluster.objects.filter(pk=cluster).first()
    mine = agents.current()
    if row is None or mine is None:
        return
    try:
        found = find_process(row, process)
    except Problem:
        return
    if found.host_id == mine.pk:
        cache.set(key, tail(spec_of(found), kind, lines), _KEPT_S)
