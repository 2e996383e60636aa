"""Old runs: their files go when their days are over, their rows a while later.

The files are on the run's host, so its agent removes them and says so; a row whose files may still be there
is kept. A host that was removed took its files with it.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Q

from clusters.models import Host
from clusters.provisioning.reconcile import is_silent
from console.core.waking import host_queue, wake
from reports.actions.telling import tell
from reports.models import ReportRun
from reports.submitting.copies import remove_copy
from reports.submitting.folders import folders_of

REMOVE = "reports.tasks.files.remove_expired"


def do_expire_runs(*, now: datetime) -> int:
    """Marks them, wakes the hosts that have files, and deletes rows whose time has come."""
    over = ReportRun.objects.filter(expires_at__lte=now).exclude(state__in=ReportRun.OPEN)
    count = 0
    for run in over.exclude(state=ReportRun.State.EXPIRED).select_related("cluster"):
        with transaction.atomic():
            count += ReportRun.objects.filter(pk=run.pk).update(
                state=ReportRun.State.EXPIRED, summary=None, log_tail="", progress={}
            )
            run.state = ReportRun.State.EXPIRED
            tell(run)
        remove_copy(run.pk)
    _wake_hosts(now)
    _delete_rows(now)
    return count


def _wake_hosts(now: datetime) -> None:
    having = _with_files().exclude(host=None).values_list("host_id", flat=True).distinct()
    for host in Host.objects.filter(pk__in=list(having), removed_at=None):
        if not is_silent(host, now):
            wake(REMOVE, queue=host_queue(host.name), host=host.name)


def _with_files():  # type: ignore[no-untyped-def]
    return ReportRun.objects.filter(state=ReportRun.State.EXPIRED, files_removed_at=None)


def _delete_rows(now: datetime) -> None:
    kept = timedelta(days=settings.REPORT_ROW_DAYS)
    is_clean = ~Q(files_removed_at=None) | Q(host=None) | Q(host__removed_at__isnull=False)
    ReportRun.objects.filter(is_clean, state=ReportRun.State.EXPIRED, expires_at__lte=now - kept).delete()


def do_remove_files(host: Host, *, now: datetime) -> int:
    """On the host itself. How many runs' files went."""
    folders = folders_of(host.data_root)
    count = 0
    for run in _with_files().filter(host=host):
        folders.remove(run.pk, run.folder)
        count += ReportRun.objects.filter(pk=run.pk).update(files_removed_at=now)
    return count
