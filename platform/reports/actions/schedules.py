"""Schedules: made, changed, paused, thrown away; and the runs that are due.

A schedule goes on only as long as its owner may still ask for such a run: rights that were taken away since
pause it, and its note says so.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction

from clusters.models import Cluster
from console.core import audit
from console.core.actors import Actor
from console.core.models.people import Role
from console.core.problems import Problem
from console.core.rights import Grants
from console.core.standing import kept_grants, standing_of
from reports.actions.known_settings import with_known
from reports.actions.runs import Origin, RunWish, do_keep_refusal, do_start_run, plan_run
from reports.models import ReportRun, ReportSchedule
from reports.selectors.timetable import check_cron, check_zone, next_time

log = logging.getLogger(__name__)

MOST = 200
"""Of one cluster."""
WISHED = ("report", "options", "brokers", "allows_partial", "time_zone", "keep_days", "timeout_s", "retries")


@dataclass(frozen=True, slots=True)
class ScheduleWish:
    name: str
    cron: str
    wish: RunWish
    last_hours: int | None = None
    is_enabled: bool = True

    @property
    def values(self) -> dict[str, Any]:
        wished = {name: getattr(self.wish, name) for name in WISHED}
        wished["brokers"] = list(self.wish.brokers)
        own = ("name", "cron", "last_hours", "is_enabled")
        return wished | {name: getattr(self, name) for name in own}


@dataclass(frozen=True, slots=True)
class Owner:
    """Who makes or changes it: their rights are what it may do from then on."""

    actor: Actor
    grants: Grants = field(repr=False)


def check_schedule(cluster: Cluster, asked: ScheduleWish, *, now: datetime) -> None:
    check_zone(asked.wish.time_zone)
    check_cron(asked.cron, asked.wish.time_zone, now)
    plan_run(cluster, asked.wish, now=now)


def do_create_schedule(
    cluster: Cluster, asked: ScheduleWish, *, owner: Owner, now: datetime
) -> ReportSchedule:
    check_schedule(cluster, asked, now=now)
    if ReportSchedule.objects.filter(cluster=cluster).count() >= MOST:
        raise Problem("too_many", f"{MOST} schedules of one cluster at most", 409)
    schedule = ReportSchedule(cluster=cluster, created_by=owner.actor.name, created_at=now)
    return _save(schedule, asked, owner, "report.schedule.create", now)


def do_change_schedule(
    schedule: ReportSchedule, asked: ScheduleWish, *, owner: Owner, now: datetime
) -> ReportSchedule:
    check_schedule(schedule.cluster, asked, now=now)
    return _save(schedule, asked, owner, "report.schedule.update", now)


def _save(
    schedule: ReportSchedule, asked: ScheduleWish, owner: Owner, action: str, now: datetime
) -> ReportSchedule:
    before = {name: getattr(schedule, name) for name in asked.values} if schedule.pk else None
    for name, value in asked.values.items():
        setattr(schedule, name, value)
    schedule.owner_id = owner.actor.user_id or 0
    schedule.grants = kept_grants(owner.grants)
    schedule.updated_at, schedule.note = now, ""
    schedule.next_at = next_time(asked.cron, asked.wish.time_zone, now) if asked.is_enabled else None
    try:
        with transaction.atomic():
            schedule.save()
            _note(owner.actor, action, schedule, now, before=before, after=asked.values)
    except IntegrityError:
        raise Problem("exists", f"there is a schedule {asked.name!r} already", 409, field="name") from None
    return schedule


def do_delete_schedule(schedule: ReportSchedule, *, actor: Actor, now: datetime) -> None:
    """Its runs stay until their days are over."""
    with transaction.atomic():
        _note(actor, "report.schedule.delete", schedule, now)
        schedule.delete()


def _note(actor: Actor, action: str, schedule: ReportSchedule, now: datetime, **details: Any) -> None:
    audit.record(actor, action, cluster=schedule.cluster.name, target=schedule.name, details=details, now=now)


def wish_of(schedule: ReportSchedule, moment: datetime | None = None) -> RunWish:
    """What one of its runs is to do; `moment` is its time."""
    begin = end = None
    if moment is not None and schedule.last_hours is not None:
        begin, end = moment - timedelta(hours=schedule.last_hours), moment
    return RunWish(**{name: getattr(schedule, name) for name in WISHED}, begin=begin, end=end)


# -- what is due --------------------------------------------------------------------------------------------


def do_start_due_runs(*, now: datetime) -> int:
    """By beat. How many were started."""
    due = ReportSchedule.objects.filter(is_enabled=True, next_at__lte=now, cluster__deleted_at=None)
    return sum(_start_due(schedule, now) for schedule in due.select_related("cluster", "owner"))


def _start_due(schedule: ReportSchedule, now: datetime) -> bool:
    mine = ReportSchedule.objects.filter(pk=schedule.pk, next_at=schedule.next_at, is_enabled=True)
    try:
        moment = _last_due(schedule, now)
        next_at = next_time(schedule.cron, schedule.time_zone, now)
    except Problem as problem:
        mine.update(is_enabled=False, next_at=None, note=f"paused: {problem.detail}"[:255])
        return False
    wish = with_known(schedule.cluster, wish_of(schedule, moment))
    try:
        with transaction.atomic():
            return bool(mine.update(next_at=next_at, note="")) and _start_at(schedule, moment, wish, now)
    except IntegrityError:
        log.warning("the schedule %s had its run of %s already", schedule.name, moment)
        mine.update(next_at=next_at)
        return False


def _start_at(schedule: ReportSchedule, moment: datetime, wish: RunWish, now: datetime) -> bool:
    if reason := _reason_against(schedule, now):
        ReportSchedule.objects.filter(pk=schedule.pk).update(note=reason[:255])
        return False
    return _start(schedule, moment, wish, now)


def _last_due(schedule: ReportSchedule, now: datetime) -> datetime:
    """The latest moment that has come: those that nobody looked at before it are left out."""
    moment = schedule.next_at
    assert moment is not None
    for _ in range(10_000):
        following = next_time(schedule.cron, schedule.time_zone, moment)
        if following is None or following > now:
            return moment
        moment = following
    return moment


def _reason_against(schedule: ReportSchedule, now: datetime) -> str:
    standing = standing_of(schedule.owner, schedule.grants)
    if not standing.may(Role.OPERATOR, schedule.cluster.name):
        ReportSchedule.objects.filter(pk=schedule.pk).update(is_enabled=False, next_at=None)
        return f"paused: {schedule.owner.username} may no longer ask for reports of {schedule.cluster.name}"
    open_runs = ReportRun.objects.filter(schedule=schedule, state__in=ReportRun.OPEN)
    if open_runs.exists():
        return f"{now:%Y-%m-%d %H:%M} UTC: left out, because the run before it was still open"
    return ""


def _start(schedule: ReportSchedule, moment: datetime, wish: RunWish, now: datetime) -> bool:
    actor = Actor(f"{schedule.created_by} (schedule {schedule.name})"[:150], user_id=schedule.owner_id)
    origin = Origin(schedule, moment)
    try:
        do_start_run(schedule.cluster, wish, actor=actor, now=now, origin=origin)
    except Problem as problem:
        do_keep_refusal(schedule.cluster, wish, problem.detail, actor=actor, now=now, origin=origin)
    return True
