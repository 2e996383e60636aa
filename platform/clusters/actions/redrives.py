"""Redrives: asking for one, pausing, resuming, calling it off. What workers do is in redrive_runs.py."""

from __future__ import annotations

import uuid
from dataclasses import astuple, dataclass
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Count, QuerySet

from clusters.actions.reading import Reader
from clusters.actions.sends import refuse_system_topic
from clusters.gateway.messages import find_stretches
from clusters.gateway.sends import require_topic
from clusters.models import Cluster, Redrive, RedriveOutcome
from clusters.selectors.redriving import Tally
from console.core import audit
from console.core.events import publish
from console.core.models.people import Role
from console.core.problems import Problem, not_found
from console.core.standing import kept_grants
from console.core.waking import wake
from engine.protocol.names import dlq_topic

RUN = "clusters.tasks.redrives.run_redrive"
State = Redrive.State


@dataclass(frozen=True, slots=True)
class RedriveRequest:
    selection: tuple[str, ...] | None
    """Offset ids; None: all."""
    target: str
    topic: str
    canary: int
    canary_window_s: int
    rate: int
    max_failure_share: float
    skips_redriven: bool


@dataclass(frozen=True, slots=True)
class RedrivePlan:
    total: int
    sentences: list[str]
    cursor: list[Any]
    watch: list[list[Any]]


def plan_redrive(reader: Reader, group: str, asked: RedriveRequest) -> RedrivePlan:
    """What it would do; also says what is wrong with it."""
    reader.require(Role.OPERATOR, group)
    if asked.target == Redrive.Target.TOPIC:
        refuse_system_topic(asked.topic)
        reader.require(Role.OPERATOR, asked.topic)
        require_topic(reader.address, asked.topic)
    stretches = find_stretches(reader.address, [dlq_topic(group)], 0, None)
    watch = [[stretch.broker, stretch.queue, stretch.high] for stretch in stretches]
    if asked.selection is None:
        total = sum(stretch.count for stretch in stretches)
        cursor: list[Any] = [list(astuple(stretch)) for stretch in stretches if stretch.count]
    else:
        total, cursor = len(asked.selection), [0]
    if not total:
        raise Problem("nothing", f"{group} has no dead letters", 409)
    return RedrivePlan(total, _sentences(group, asked, total), cursor, watch)


def _sentences(group: str, asked: RedriveRequest, total: int) -> list[str]:
    where = {
        Redrive.Target.GROUP.value: f"to {group} alone, through its retry topic",
        Redrive.Target.ORIGINAL.value: "to the topics they came from: every group of those gets them again",
        Redrive.Target.TOPIC.value: f"to {asked.topic}: every group of it gets them",
    }
    first = min(asked.canary, total)
    said = [f"send {total} dead letters {where[str(asked.target)]}"]
    if first:
        said.append(f"the first {first}, then wait {asked.canary_window_s} s for any that come back")
    said.append(f"then at most {asked.rate} a second")
    said.append(f"stop by itself when more than {asked.max_failure_share:.0%} fail")
    if asked.skips_redriven:
        said.append("leave out those that an earlier redrive has sent")
    return said


def do_create_redrive(reader: Reader, group: str, asked: RedriveRequest, *, now: datetime) -> Redrive:
    plan = plan_redrive(reader, group, asked)
    try:
        with transaction.atomic():
            redrive = _create(reader, group, asked, plan, now)
            _note(reader, "redrive.create", redrive, now, plan=plan.sentences, total=plan.total)
            wake(RUN, id=str(redrive.pk))
            tell(redrive)
    except IntegrityError:
        raise Problem("busy", f"another redrive of {group} is open", 409) from None
    return redrive


def _create(reader: Reader, group: str, asked: RedriveRequest, plan: RedrivePlan, now: datetime) -> Redrive:
    return Redrive.objects.create(
        cluster=reader.cluster,
        group=group,
        owner_id=reader.user_id,
        created_by=reader.actor.name,
        grants=kept_grants(reader.grants),
        target=asked.target,
        topic=asked.topic,
        selection=None if asked.selection is None else list(asked.selection),
        cursor=plan.cursor,
        watch=plan.watch,
        skips_redriven=asked.skips_redriven,
        canary=min(asked.canary, plan.total),
        canary_window_s=asked.canary_window_s,
        rate=asked.rate,
        max_failure_share=asked.max_failure_share,
        state=State.CANARY if asked.canary else State.RUNNING,
        total=plan.total,
        created_at=now,
    )


def do_pause_redrive(reader: Reader, redrive: Redrive, *, now: datetime) -> Redrive:
    return _change(
        reader, redrive, "redrive.pause", Redrive.ACTIVE, now, state=State.PAUSED, resumes_as=redrive.state
    )


def do_resume_redrive(reader: Reader, redrive: Redrive, *, now: datetime) -> Redrive:
    """One that stopped itself goes on as well: whoever resumes it has seen why, and accepts the failures that
    there are. Its share is raised to theirs if need be."""
    changes: dict[str, Any] = {"state": redrive.resumes_as or State.RUNNING, "reason": "", "attempts": 0}
    if redrive.state == State.STOPPED:
        tally = tally_of(redrive)
        reached = tally.failures / max(tally.tried, redrive.canary, 1)
        changes["max_failure_share"] = min(1.0, max(redrive.max_failure_share, reached))
    changed = _change(reader, redrive, "redrive.resume", (State.PAUSED, State.STOPPED), now, **changes)
    wake(RUN, id=str(redrive.pk))
    return changed


def do_cancel_redrive(reader: Reader, redrive: Redrive, *, now: datetime) -> Redrive:
    return _change(
        reader, redrive, "redrive.cancel", Redrive.OPEN, now, state=State.CANCELLED, finished_at=now
    )


def _change(
    reader: Reader, redrive: Redrive, action: str, states: tuple[str, ...], now: datetime, **changes: Any
) -> Redrive:
    reader.require(Role.OPERATOR, redrive.group)
    with transaction.atomic():
        found = Redrive.objects.filter(pk=redrive.pk, state=redrive.state, state__in=states)
        if not found.update(**changes):
            redrive.refresh_from_db()
            raise Problem("wrong_state", f"the redrive is {redrive.state}", 409)
        redrive.refresh_from_db()
        _note(reader, action, redrive, now, position=redrive.position)
        tell(redrive)
    return redrive


def _note(reader: Reader, action: str, redrive: Redrive, now: datetime, **details: Any) -> None:
    audit.record(
        reader.actor,
        action,
        cluster=reader.cluster.name,
        target=redrive.group,
        details={"redrive": str(redrive.pk), **details},
        now=now,
    )


def visible_redrives(reader: Reader) -> QuerySet[Redrive]:
    rows = Redrive.objects.filter(cluster=reader.cluster)
    return rows.filter(reader.grants.names_filter(reader.cluster.name, "group"))


def get_redrive(reader: Reader, redrive_id: uuid.UUID) -> Redrive:
    redrive = visible_redrives(reader).filter(pk=redrive_id).first()
    if redrive is None:
        raise not_found("redrive", str(redrive_id))
    return redrive


def tally_of(redrive: Redrive) -> Tally:
    return tallies_of([redrive])[redrive.pk]


def tallies_of(redrives: list[Redrive]) -> dict[uuid.UUID, Tally]:
    """One query for all."""
    rows = RedriveOutcome.objects.filter(redrive__in=[redrive.pk for redrive in redrives])
    counts: dict[uuid.UUID, dict[str, int]] = {redrive.pk: {} for redrive in redrives}
    for pk, state, count in rows.order_by().values_list("redrive_id", "state").annotate(Count("pk")):
        counts[pk][state] = count
    return {pk: Tally.of(found) for pk, found in counts.items()}


def tell(redrive: Redrive) -> None:
    cluster: Cluster = redrive.cluster
    publish(
        f"jobs/{cluster.name}",
        {
            "kind": "redrive",
            "id": str(redrive.pk),
            "group": redrive.group,
            "state": str(redrive.state),
            "reason": redrive.reason,
            "position": str(redrive.position),
            "total": str(redrive.total),
        },
    )
