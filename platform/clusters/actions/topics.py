"""Making, changing, deleting and restoring topics on brokers, and saying whose they are."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction

from clusters.actions.broker_changes import as_change, change_brokers, is_complete, reach
from clusters.actions.describing import say
from clusters.gateway import topics as gateway
from clusters.gateway.writes import BrokerOutcome
from clusters.models import Cluster, Favourite, Topic
from console.core import audit
from console.core.actors import Actor
from console.core.problems import Problem, not_found
from engine.protocol.names import DLQ_PREFIX, RETRY_PREFIX, is_system_topic


@dataclass(frozen=True, slots=True)
class TopicWish:
    """What is to be: of `spec` and `about` only what was said."""

    name: str
    spec: dict[str, Any] = field(default_factory=dict)
    brokers: tuple[str, ...] = ()
    about: dict[str, Any] = field(default_factory=dict)


def plan_topic(cluster: Cluster, wish: TopicWish, *, is_new: bool) -> list[dict[str, Any]]:
    """What each broker has, and what it is to have. A broker that does not answer is in it, with why."""
    refuse_system_topic(cluster, wish.name, is_new=is_new)
    reached = reach(cluster)
    found = gateway.read_topic(reached.address, wish.name, wish.brokers, reached.expected)
    if is_new:
        refuse_existing(wish, found)
    elif not wish.brokers:
        # A change is for those that have it; where it never was, it is not made by the way.
        if all(one.ok and one.read_back is None for one in found):
            raise not_found("topic", wish.name)
        found = [one for one in found if not one.ok or one.read_back is not None]
    return [_planned(one, wish) for one in found]


def read_topic_config(cluster: Cluster, name: str) -> list[BrokerOutcome]:
    """What every broker has; None where it has no such topic."""
    reached = reach(cluster)
    found = gateway.read_topic(reached.address, name, (), reached.expected)
    if all(one.ok and one.read_back is None for one in found):
        raise not_found("topic", name)
    return found


def do_create_topic(cluster: Cluster, wish: TopicWish, *, actor: Actor, now: datetime) -> list[BrokerOutcome]:
    plan_topic(cluster, wish, is_new=True)
    spec = gateway.full_spec(wish.spec)
    outcomes = change_brokers(
        cluster,
        "topic.create",
        wish.name,
        {"config": spec, "brokers": list(wish.brokers), **wish.about},
        lambda to: gateway.put_topic(to.address, wish.name, spec, wish.brokers, to.expected),
        actor=actor,
    )
    _keep(cluster, wish, spec, now)
    return outcomes


def do_change_topic(cluster: Cluster, wish: TopicWish, *, actor: Actor, now: datetime) -> list[BrokerOutcome]:
    """Without a spec only what is said about it changes, and no broker is asked."""
    if not wish.spec:
        _describe(cluster, wish, actor, now)
        return []
    planned = plan_topic(cluster, wish, is_new=False)
    brokers = tuple(row["broker"] for row in planned)
    outcomes = change_brokers(
        cluster,
        "topic.update",
        wish.name,
        as_change(planned) | wish.about,
        lambda to: gateway.put_topic(to.address, wish.name, wish.spec, brokers, to.expected),
        actor=actor,
    )
    _keep(cluster, wish, wish.spec, now)
    return outcomes


def do_put_topic(cluster: Cluster, wish: TopicWish, *, actor: Actor, now: datetime) -> list[BrokerOutcome]:
    """Made where it is missing, changed where it is otherwise: what a document says."""
    refuse_system_topic(cluster, wish.name, is_new=True)
    outcomes = change_brokers(
        cluster,
        "topic.apply",
        wish.name,
        {"config": wish.spec, "brokers": list(wish.brokers), **wish.about},
        lambda to: gateway.put_topic(to.address, wish.name, wish.spec, wish.brokers, to.expected),
        actor=actor,
    )
    _keep(cluster, wish, wish.spec, now)
    return outcomes


def do_delete_topic(
    cluster: Cluster, name: str, *, confirm: str, actor: Actor, now: datetime
) -> list[BrokerOutcome]:
    refuse_system_topic(cluster, name, is_new=False)
    refuse_unconfirmed(name, confirm)
    reached = reach(cluster)
    found = gateway.read_topic(reached.address, name, (), reached.expected)
    if all(one.ok and one.read_back is None for one in found):
        raise not_found("topic", name)
    kept = {one.broker: one.read_back for one in found if one.ok and one.read_back is not None}
    # Before the first broker forgets it: what is not stored yet cannot be restored.
    _bury(cluster, name, {"brokers": kept}, now)
    try:
        outcomes = change_brokers(
            cluster,
            "topic.delete",
            name,
            {"config": kept},
            lambda to: gateway.delete_topic(to.address, name, (), to.expected),
            actor=actor,
        )
    except Problem:
        Topic.objects.filter(cluster=cluster, name=name).update(deleted_at=None)
        raise
    if not is_complete(outcomes):
        Topic.objects.filter(cluster=cluster, name=name).update(deleted_at=None)
    return outcomes


def do_restore_topic(cluster: Cluster, name: str, *, actor: Actor, now: datetime) -> list[BrokerOutcome]:
    """The config that it had, on the brokers that had it. Its messages are gone."""
    kept = buried_topic(cluster, name)
    outcomes: list[BrokerOutcome] = []

    def put_all(to: Any) -> list[BrokerOutcome]:
        for broker, spec in kept.keepsake["brokers"].items():
            outcomes.extend(gateway.put_topic(to.address, name, spec, (broker,), to.expected))
        return outcomes

    change_brokers(cluster, "topic.restore", name, {"config": kept.keepsake}, put_all, actor=actor)
    kept.deleted_at, kept.updated_at = None, now
    kept.save(update_fields=["deleted_at", "updated_at"])
    return outcomes


def buried_topic(cluster: Cluster, name: str) -> Topic:
    kept = Topic.objects.filter(cluster=cluster, name=name).exclude(deleted_at=None).first()
    if kept is None or not kept.keepsake:
        raise not_found("deleted topic", name)
    return kept


def do_set_favourite(
    cluster: Cluster, kind: str, name: str, is_wanted: bool, *, actor: Actor, now: datetime
) -> None:
    """A person's own list; a part of the platform has none."""
    if actor.user_id is None:
        raise Problem("no_person", "only people have favourites", 409)
    with transaction.atomic():
        row = {"user_id": actor.user_id, "cluster": cluster, "kind": kind, "name": name}
        if is_wanted:
            Favourite.objects.get_or_create(**row)
        else:
            Favourite.objects.filter(**row).delete()
        details = {"is_wanted": is_wanted}
        audit.record(actor, f"{kind}.favourite", cluster=cluster.name, target=name, details=details, now=now)


# -- refusals -----------------------------------------------------------------------------------------------


def refuse_system_topic(cluster: Cluster, name: str, *, is_new: bool) -> None:
    is_own = is_system_topic(name, cluster.broker_cluster_name, "")
    if is_own or name in reach(cluster).expected:
        raise Problem("system_topic", f"{name} belongs to the brokers themselves", 409, field="name")
    if is_new and name.startswith((RETRY_PREFIX, DLQ_PREFIX)):
        raise Problem(
            "system_topic", "brokers make retry and dead-letter topics themselves", 409, field="name"
        )


def refuse_existing(wish: TopicWish, found: list[BrokerOutcome]) -> None:
    """A retry of a half-done creation is fine; another config, or one that is there everywhere, is not."""
    spec = gateway.full_spec(wish.spec)
    there = [one for one in found if one.ok and one.read_back is not None]
    other = [one for one in there if one.read_back != spec]
    if other:
        raise Problem(
            "exists",
            f"{other[0].broker} has {wish.name} with another config: change it instead",
            409,
            field="name",
        )
    if there and len(there) == len(found):
        raise Problem("exists", f"the topic {wish.name} is there already", 409, field="name")


def refuse_unconfirmed(name: str, confirm: str) -> None:
    if confirm != name:
        raise Problem("confirm", f"type the name to confirm: ?confirm={name}", 400, field="confirm")


# -- rows ---------------------------------------------------------------------------------------------------


def _planned(one: BrokerOutcome, wish: TopicWish) -> dict[str, Any]:
    then = gateway.full_spec(wish.spec, one.read_back)
    change = "none" if one.read_back == then else "update" if one.read_back else "create"
    return {
        "broker": one.broker,
        "address": one.address,
        "change": change if one.ok else "unknown",
        "now": one.read_back,
        "then": then,
        "detail": one.detail,
    }


def _keep(cluster: Cluster, wish: TopicWish, spec: dict[str, Any], now: datetime) -> None:
    with transaction.atomic():
        row, _ = Topic.objects.get_or_create(
            cluster=cluster, name=wish.name, defaults={"created_at": now, "updated_at": now}
        )
        row.config = (row.config or {}) | spec
        row.updated_at, row.deleted_at, row.keepsake = now, None, None
        row.brokers = sorted(wish.brokers) or row.brokers
        say(row, wish.about)
        row.save()


def _describe(cluster: Cluster, wish: TopicWish, actor: Actor, now: datetime) -> None:
    with transaction.atomic():
        row, _ = Topic.objects.get_or_create(
            cluster=cluster, name=wish.name, defaults={"created_at": now, "updated_at": now}
        )
        details = say(row, wish.about)
        row.updated_at = now
        row.save()
        audit.record(
            actor, "topic.describe", cluster=cluster.name, target=wish.name, details=details, now=now
        )


def _bury(cluster: Cluster, name: str, keepsake: dict[str, Any], now: datetime) -> None:
    with transaction.atomic():
        row, _ = Topic.objects.get_or_create(
            cluster=cluster, name=name, defaults={"created_at": now, "updated_at": now}
        )
        row.deleted_at, row.keepsake = now, keepsake
        row.save()
