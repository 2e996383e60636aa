"""Making, changing, deleting and restoring consumer groups on brokers; consume modes; one message."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction

from clusters.actions.broker_changes import Reach, as_change, change_brokers, is_complete, reach
from clusters.actions.describing import say
from clusters.actions.topics import refuse_unconfirmed
from clusters.gateway import groups as gateway
from clusters.gateway import offsets
from clusters.gateway.topics import delete_topic, read_topic
from clusters.gateway.writes import BrokerOutcome
from clusters.models import Cluster, ConsumerGroup
from console.core import audit
from console.core.actors import Actor
from console.core.problems import Problem, not_found
from engine.protocol.names import is_system_group, retry_topic


@dataclass(frozen=True, slots=True)
class GroupWish:
    name: str
    spec: dict[str, Any] = field(default_factory=dict)
    about: dict[str, Any] = field(default_factory=dict)


def plan_group(cluster: Cluster, wish: GroupWish, *, is_new: bool) -> list[dict[str, Any]]:
    refuse_system_group(wish.name)
    reached = reach(cluster)
    found = gateway.read_group(reached.address, wish.name, (), reached.expected)
    there = [one for one in found if one.ok and one.read_back is not None]
    if is_new:
        _refuse_existing(wish, found, there)
    elif not there and all(one.ok for one in found):
        raise not_found("group", wish.name)
    return [_planned(one, wish) for one in found]


def read_group_config(cluster: Cluster, name: str) -> list[BrokerOutcome]:
    """What every broker has; None where it has no such group."""
    reached = reach(cluster)
    found = gateway.read_group(reached.address, name, (), reached.expected)
    if all(one.ok and one.read_back is None for one in found):
        raise not_found("group", name)
    return found


def do_create_group(cluster: Cluster, wish: GroupWish, *, actor: Actor, now: datetime) -> list[BrokerOutcome]:
    plan_group(cluster, wish, is_new=True)
    spec = gateway.full_spec(wish.spec)
    outcomes = _put(cluster, "group.create", wish, spec, actor)
    _keep(cluster, wish, spec, now)
    return outcomes


def do_change_group(cluster: Cluster, wish: GroupWish, *, actor: Actor, now: datetime) -> list[BrokerOutcome]:
    if not wish.spec:
        _describe(cluster, wish, actor, now)
        return []
    planned = plan_group(cluster, wish, is_new=False)
    outcomes = _put(cluster, "group.update", wish, wish.spec, actor, as_change(planned))
    _keep(cluster, wish, wish.spec, now)
    return outcomes


def do_put_group(cluster: Cluster, wish: GroupWish, *, actor: Actor, now: datetime) -> list[BrokerOutcome]:
    """Made where it is missing, changed where it is otherwise: what a document says."""
    refuse_system_group(wish.name)
    outcomes = _put(cluster, "group.apply", wish, wish.spec, actor)
    _keep(cluster, wish, wish.spec, now)
    return outcomes


def do_delete_group(
    cluster: Cluster, name: str, *, confirm: str, actor: Actor, now: datetime
) -> list[BrokerOutcome]:
    """With its offsets and its retry topic, all of which are kept here. Dead letters stay: they are data."""
    refuse_system_group(name)
    refuse_unconfirmed(name, confirm)
    reached = reach(cluster)
    found = gateway.read_group(reached.address, name, (), reached.expected)
    if all(one.ok and one.read_back is None for one in found):
        raise not_found("group", name)
    keepsake = _keepsake(reached, name, found)
    _bury(cluster, name, keepsake, now)
    row = ConsumerGroup.objects.filter(cluster=cluster, name=name)
    try:
        outcomes = change_brokers(
            cluster, "group.delete", name, keepsake, lambda to: _delete(to, name), actor=actor
        )
    except Problem:
        row.update(deleted_at=None)
        raise
    if not is_complete(outcomes):
        row.update(deleted_at=None)
    return outcomes


def do_restore_group(cluster: Cluster, name: str, *, actor: Actor, now: datetime) -> list[BrokerOutcome]:
    """Config and offsets as they were kept; a queue that has lost those messages begins at its oldest one."""
    kept = ConsumerGroup.objects.filter(cluster=cluster, name=name).exclude(deleted_at=None).first()
    if kept is None or not kept.keepsake:
        raise not_found("deleted group", name)

    def put_all(to: Reach) -> list[BrokerOutcome]:
        outcomes: list[BrokerOutcome] = []
        for broker, spec in kept.keepsake["brokers"].items():
            outcomes += gateway.put_group(to.address, name, spec, (broker,), to.expected)
        moves = [tuple(move) for move in kept.keepsake["offsets"]]
        moved = offsets.move(to.address, name, moves, is_online=False) if moves else []
        return outcomes + [
            BrokerOutcome(one.broker, "", False, f"{one.topic} queue {one.queue}: {one.error}", status=502)
            for one in moved
            if one.error
        ]

    outcomes = change_brokers(cluster, "group.restore", name, kept.keepsake, put_all, actor=actor)
    kept.deleted_at, kept.updated_at = None, now
    kept.save(update_fields=["deleted_at", "updated_at"])
    return outcomes


def do_set_mode(
    cluster: Cluster, group: str, topic: str, mode: str, share: int, *, actor: Actor, now: datetime
) -> list[BrokerOutcome]:
    return change_brokers(
        cluster,
        "group.mode",
        group,
        {"topic": topic, "mode": mode, "share": share},
        lambda to: gateway.set_mode(to.address, group, topic, mode, share, to.expected),
        actor=actor,
    )


def do_consume_directly(
    cluster: Cluster, group: str, client_id: str, message_id: str, topic: str, *, actor: Actor, now: datetime
) -> dict[str, Any]:
    """One member runs its listener on one message now; its offsets stay where they are."""
    reached = reach(cluster)
    online = gateway.connections(reached.address, group, reached.expected)
    at = next((_broker_of(one, client_id) for one in online if _broker_of(one, client_id)), None)
    if at is None:
        raise Problem("not_online", f"{client_id} is not an online member of {group}", 409, field="client_id")
    details = {"client_id": client_id, "message_id": message_id, "topic": topic}
    with audit.attempt(
        actor, "group.consume", cluster=cluster.name, target=group, details=details
    ) as outcome:
        result = gateway.consume_directly(reached.address, group, client_id, message_id, topic, at)
        outcome.details.update(result)
        outcome.is_ok = result["result"] in ("CR_SUCCESS", "CR_COMMIT")
    return result


def refuse_system_group(name: str) -> None:
    if is_system_group(name):
        raise Problem("system_group", f"{name} belongs to the brokers themselves", 409, field="name")


# -- steps --------------------------------------------------------------------------------------------------


def _put(
    cluster: Cluster,
    action: str,
    wish: GroupWish,
    spec: dict[str, Any],
    actor: Actor,
    change: dict[str, Any] | None = None,
) -> list[BrokerOutcome]:
    return change_brokers(
        cluster,
        action,
        wish.name,
        {**(change or {"config": spec}), **wish.about},
        lambda to: gateway.put_group(to.address, wish.name, spec, (), to.expected),
        actor=actor,
    )


def _delete(to: Reach, name: str) -> list[BrokerOutcome]:
    outcomes = gateway.delete_group(to.address, name, (), to.expected, clean_offset=True)
    there = read_topic(to.address, retry_topic(name), (), to.expected)
    if any(one.read_back is not None for one in there):
        gone = delete_topic(to.address, retry_topic(name), (), to.expected)
        outcomes += [one for one in gone if not one.ok]
    return outcomes


def _keepsake(reached: Reach, name: str, found: list[BrokerOutcome]) -> dict[str, Any]:
    """Config by broker and (topic, broker, queue, offset). Without every broker's word nothing is deleted."""
    silent = next((one for one in found if not one.ok), None)
    if silent is not None:
        raise Problem(
            "incomplete",
            f"{silent.broker} does not say what it has, so it could not be restored: {silent.detail}",
            503,
        )
    try:
        positions, _ = offsets.positions(reached.address, name, (), reached.expected)
    except Problem as problem:
        if problem.code != "no_offsets":
            raise
        positions = []
    kept = {one.broker: one.read_back for one in found if one.read_back is not None}
    places = [
        [one.topic, one.broker, one.queue, one.committed] for one in positions if one.committed is not None
    ]
    return {"brokers": kept, "offsets": places}


def _broker_of(one: BrokerOutcome, client_id: str) -> str | None:
    if not one.ok or one.read_back is None:
        return None
    return one.address if any(member[0] == client_id for member in one.read_back["members"]) else None


def _planned(one: BrokerOutcome, wish: GroupWish) -> dict[str, Any]:
    then = gateway.full_spec(wish.spec, one.read_back)
    change = "none" if one.read_back == then else "update" if one.read_back else "create"
    planned = asdict(one) | {"change": change if one.ok else "unknown", "now": one.read_back, "then": then}
    return {key: planned[key] for key in ("broker", "address", "change", "now", "then", "detail")}


def _refuse_existing(wish: GroupWish, found: list[BrokerOutcome], there: list[BrokerOutcome]) -> None:
    spec = gateway.full_spec(wish.spec)
    other = [one for one in there if one.read_back != spec]
    if other:
        text = f"{other[0].broker} has {wish.name} with another config: change it instead"
        raise Problem("exists", text, 409, field="name")
    if there and len(there) == len(found):
        raise Problem("exists", f"the group {wish.name} is there already", 409, field="name")


def _keep(cluster: Cluster, wish: GroupWish, spec: dict[str, Any], now: datetime) -> None:
    with transaction.atomic():
        row = _row(cluster, wish.name, now)
        row.config = (row.config or {}) | spec
        row.updated_at, row.deleted_at, row.keepsake = now, None, None
        say(row, wish.about)
        row.save()


def _describe(cluster: Cluster, wish: GroupWish, actor: Actor, now: datetime) -> None:
    with transaction.atomic():
        row = _row(cluster, wish.name, now)
        details = say(row, wish.about)
        row.updated_at = now
        row.save()
        audit.record(
            actor, "group.describe", cluster=cluster.name, target=wish.name, details=details, now=now
        )


def _bury(cluster: Cluster, name: str, keepsake: dict[str, Any], now: datetime) -> None:
    with transaction.atomic():
        row = _row(cluster, name, now)
        row.deleted_at, row.keepsake = now, keepsake
        row.save()


def _row(cluster: Cluster, name: str, now: datetime) -> ConsumerGroup:
    fresh = {"created_at": now, "updated_at": now}
    return ConsumerGroup.objects.get_or_create(cluster=cluster, name=name, defaults=fresh)[0]
