"""What a host's agent says about Spark, and which hosts have not said it lately."""

from __future__ import annotations

from datetime import datetime, timedelta

from clusters.models import Host
from clusters.provisioning.reconcile import is_silent
from reports.models import SparkHost
from reports.submitting import availability

AGAIN = timedelta(minutes=10)
AGAIN_WHEN_MISSING = timedelta(minutes=1)
"""Somebody may be installing it."""


def do_note_spark(host: Host, *, now: datetime) -> SparkHost:
    found = {"missing": availability.missing()[:255], "checked_at": now}
    row, _ = SparkHost.objects.update_or_create(host=host, defaults=found)
    return row


def unseen_hosts(now: datetime) -> list[Host]:
    hosts = Host.objects.filter(removed_at=None).select_related("spark")
    return [host for host in hosts if _is_unseen(host, now) and not is_silent(host, now)]


def _is_unseen(host: Host, now: datetime) -> bool:
    row: SparkHost | None = getattr(host, "spark", None)
    return row is None or now - row.checked_at > (AGAIN_WHEN_MISSING if row.missing else AGAIN)
