"""Resetting a group's offsets, and undoing it: planned, stored, moved, read back, judged per queue.

The old offsets are in the database before the first queue is moved. A member that is consuming goes on from
the new offset at once, so what is read back may already be further: that is said, not taken for a failure.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import transaction

from clusters.actions.broker_changes import Reach, reach
from clusters.actions.groups import refuse_system_group
from clusters.actions.reset_plans import QueueMove, Target, plan_reset, plan_undo
from clusters.gateway import offsets as gateway
from clusters.models import Cluster, OffsetReset
from console.core import audit
from console.core.actors import Actor
from console.core.problems import Problem, not_found

UNREAD = "the broker did not say where the group is now"


def preview_reset(cluster: Cluster, group: str, target: Target) -> dict[str, Any]:
    moves, members, _ = _planned(cluster, group, target)
    return _preview(moves, members)


def do_reset_offsets(
    cluster: Cluster, group: str, target: Target, *, actor: Actor, now: datetime
) -> OffsetReset:
    moves, members, reached = _planned(cluster, group, target)
    return _apply(cluster, group, target.as_json(), moves, members, reached, None, actor, now)


def preview_undo(cluster: Cluster, group: str, reset: OffsetReset) -> dict[str, Any]:
    planned, members, _ = _planned_undo(cluster, group, reset)
    body = _preview([move for move, _ in planned], members)
    for row, (_, consumed) in zip(body["queues"], planned, strict=True):
        row["consumed_meanwhile"] = consumed
    return body


def do_undo_reset(
    cluster: Cluster, group: str, reset: OffsetReset, *, actor: Actor, now: datetime
) -> OffsetReset:
    planned, members, reached = _planned_undo(cluster, group, reset)
    target = {"to": "undo", "reset": str(reset.id)}
    return _apply(cluster, group, target, [move for move, _ in planned], members, reached, reset, actor, now)


def get_reset(cluster: Cluster, group: str, reset_id: Any) -> OffsetReset:
    reset = OffsetReset.objects.filter(cluster=cluster, group=group, id=reset_id).first()
    if reset is None:
        raise not_found("reset", str(reset_id))
    return reset


# -- planning -----------------------------------------------------------------------------------------------


def _planned(cluster: Cluster, group: str, target: Target) -> tuple[list[QueueMove], gateway.Members, Reach]:
    refuse_system_group(group)
    reached = reach(cluster)
    topics = target.topics or tuple({place[0] for place in target.queues})
    found, members = gateway.positions(
        reached.address,
        group,
        topics,
        reached.expected,
        at_ms=target.at_ms,
        source_group=target.source_group,
    )
    _refuse_broadcasting(group, members)
    known = {one.topic for one in found if one.queue >= 0}
    missing = [topic for topic in topics if topic not in known]
    if missing and not any(one.error for one in found if one.topic == missing[0]):
        raise Problem("not_found", f"there is no topic {missing[0]!r}", 404, field="topics")
    return plan_reset(found, target), members, reached


def _planned_undo(
    cluster: Cluster, group: str, reset: OffsetReset
) -> tuple[list[tuple[QueueMove, int | None]], gateway.Members, Reach]:
    reached = reach(cluster)
    topics = {row["topic"] for row in reset.queues}
    found, members = gateway.positions(reached.address, group, topics, reached.expected)
    _refuse_broadcasting(group, members)
    planned = plan_undo(found, reset.queues)
    if not planned:
        raise Problem("nothing_to_undo", "no queue was moved by this reset", 409)
    return planned, members, reached


def _refuse_broadcasting(group: str, members: gateway.Members) -> None:
    if members.model == "BROADCASTING":
        raise Problem(
            "broadcasting", f"{group} is broadcasting: its members keep their offsets themselves", 409
        )


# -- applying -----------------------------------------------------------------------------------------------


def _apply(
    cluster: Cluster,
    group: str,
    target: dict[str, Any],
    moves: list[QueueMove],
    members: gateway.Members,
    reached: Reach,
    undoes: OffsetReset | None,
    actor: Actor,
    now: datetime,
) -> OffsetReset:
    if all(move.to is None for move in moves):
        why = moves[0].detail if moves else "the topics have no queues"
        raise Problem("nothing_to_move", f"no queue can be moved: {why}", 409)
    reset = OffsetReset.objects.create(
        cluster=cluster,
        group=group,
        target=target,
        queues=[move.as_json() for move in moves],
        undoes=undoes,
        created_by=actor.name[:150],
        created_at=now,
    )
    action = "offsets.reset" if undoes is None else "offsets.undo"
    details = {"reset": str(reset.id), "target": target}
    with audit.attempt(actor, action, cluster=cluster.name, target=group, details=details) as outcome:
        wanted = [(*move.place, move.to) for move in moves if move.to is not None]
        try:
            moved = gateway.move(reached.address, group, wanted, is_online=members.count != 0)
        except Problem:
            _finish(reset, OffsetReset.State.FAILED, now)
            raise
        reset.queues = judged(moves, moved, members)
        state = _state(reset.queues)
        _finish(reset, state, now)
        outcome.is_ok = state == OffsetReset.State.DONE
        outcome.details["queues"] = [
            [row["topic"], row["broker"], row["queue"], *_texts(row["committed"], row["to"]), row["ok"]]
            for row in reset.queues
        ]
    return reset


def _texts(*offsets: int | None) -> list[str | None]:
    return [None if offset is None else str(offset) for offset in offsets]


def judged(
    moves: list[QueueMove], moved: list[gateway.Moved], members: gateway.Members
) -> list[dict[str, Any]]:
    """Each queue's plan with what was read back, and whether that is it. Pure."""
    found = {(one.topic, one.broker, one.queue): one for one in moved}
    return [_judged(move, found.get(move.place), members.count) for move in moves]


def _judged(move: QueueMove, found: gateway.Moved | None, online: int | None) -> dict[str, Any]:
    row = move.as_json() | {"read_back": None, "ok": False}
    if found is None or move.to is None:
        return row
    row["read_back"] = found.read_back
    if found.error:
        return row | {"detail": found.error}
    if found.read_back is None:
        return row | {"detail": UNREAD}
    if found.read_back == move.to:
        return row | {"ok": True}
    if online != 0 and found.read_back > move.to and found.read_back != move.committed:
        consumed = found.read_back - move.to
        return row | {"ok": True, "detail": f"a member has gone on from there already ({consumed} messages)"}
    return row | {"detail": f"the broker has {found.read_back} instead"}


def _state(rows: list[dict[str, Any]]) -> str:
    oks = [row["ok"] for row in rows]
    if all(oks):
        return OffsetReset.State.DONE
    return OffsetReset.State.PARTIAL if any(oks) else OffsetReset.State.FAILED


def _finish(reset: OffsetReset, state: str, now: datetime) -> None:
    with transaction.atomic():
        reset.state, reset.finished_at = state, now
        reset.save(update_fields=["state", "finished_at", "queues"])


def _preview(moves: list[QueueMove], members: gateway.Members) -> dict[str, Any]:
    return {
        "queues": [move.as_json() for move in moves],
        "replayed": _sum(move.replayed for move in moves if move.to is not None),
        "skipped": _sum(move.skipped for move in moves if move.to is not None),
        "members_online": members.count,
        "is_complete": all(move.to is not None for move in moves),
    }


def _sum(counts: Any) -> int | None:
    """Not known as soon as one is not."""
    listed = list(counts)
    return None if any(count is None for count in listed) else sum(listed)
