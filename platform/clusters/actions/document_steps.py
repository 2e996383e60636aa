"""One step per object of a document: put as it says, or deleted. A second run finds it done and is harmless.

What each broker had before is kept in the step's result, so that a roll-back puts it back.
"""

from __future__ import annotations

from typing import Any

from clusters.actions import acl, groups, topics
from clusters.actions.broker_changes import reach
from clusters.actions.document_plans import ABOUT_FIELDS, DELETE, TOPIC_FIELDS
from clusters.gateway import groups as group_gateway
from clusters.gateway import topics as topic_gateway
from clusters.gateway.writes import BrokerOutcome
from clusters.models import AclUser
from clusters.provisioning.kinds import kinds
from clusters.provisioning.kinds.brokers import actor_of
from clusters.provisioning.registry import StepContext, StepFailed
from console.core.problems import Problem
from console.core.sealing import unseal

STEP = "apply_object"


def apply_object(ctx: StepContext) -> dict[str, Any]:
    kind, name = ctx.arguments["object"], ctx.arguments["name"]
    if "before" not in ctx.result:
        ctx.keep(before=_before(ctx, kind, name))
    ctx.check(at_once=True)
    outcomes = _delete(ctx, kind, name) if ctx.arguments["change"] == DELETE else _put(ctx, kind, name)
    failed = [one for one in outcomes if not one.ok]
    if failed:
        raise StepFailed("; ".join(f"{one.broker}: {one.detail}" for one in failed))
    ctx.log(f"{kind} {name}: {', '.join(one.broker for one in outcomes)}")
    return {"brokers": [one.broker for one in outcomes]}


def _put(ctx: StepContext, kind: str, name: str) -> list[BrokerOutcome]:
    wish, who = ctx.arguments["wish"], {"actor": actor_of(ctx), "now": ctx.now()}
    about = {key: wish[key] for key in ABOUT_FIELDS if key in wish} | {"document": ctx.arguments["document"]}
    if kind == "topic":
        spec = {key: wish[key] for key in TOPIC_FIELDS if key in wish}
        asked = topics.TopicWish(name, spec, tuple(wish.get("brokers", ())), about)
        return topics.do_put_topic(ctx.cluster, asked, **who)
    if kind == "group":
        spec = {key: wish[key] for key in group_gateway.FIELDS if key in wish}
        return groups.do_put_group(ctx.cluster, groups.GroupWish(name, spec, about), **who)
    if kind == "user":
        flat = {"kind": wish["kind"], "status": wish["status"]}
        secret = _shared_secret(wish["secret"])
        return acl.do_put_user(ctx.cluster, name, flat, secret, document=ctx.arguments["document"], **who)
    return acl.do_put_policies(ctx.cluster, name, wish["policies"], **who)


def _delete(ctx: StepContext, kind: str, name: str) -> list[BrokerOutcome]:
    who = {"confirm": name, "actor": actor_of(ctx), "now": ctx.now()}
    try:
        if kind == "topic":
            return topics.do_delete_topic(ctx.cluster, name, **who)
        if kind == "group":
            return groups.do_delete_group(ctx.cluster, name, **who)
        return acl.do_delete_user(ctx.cluster, name, **who)
    except Problem as problem:
        if problem.code == "not_found":
            return []
        raise


def _shared_secret(reference: Any) -> str | None:
    """The secret of the user that the document names; None: made, or kept."""
    if not isinstance(reference, dict):
        return None
    row = AclUser.objects.filter(
        cluster__name=reference["cluster"], cluster__deleted_at=None, name=reference["user"]
    ).first()
    if row is None or not row.sealed_secret:
        raise StepFailed(f"no secret is known of {reference['user']} of {reference['cluster']}")
    return unseal(row.sealed_secret)


# -- rolling back -------------------------------------------------------------------------------------------


def _before(ctx: StepContext, kind: str, name: str) -> dict[str, Any]:
    """By broker; None where it is missing."""
    reached = reach(ctx.cluster)
    if kind == "topic":
        found = topic_gateway.read_topic(reached.address, name, (), reached.expected)
    elif kind == "group":
        found = group_gateway.read_group(reached.address, name, (), reached.expected)
    else:
        found = acl.read_access(ctx.cluster, name)
        return {one.broker: one.read_back.get(name) for one in found if one.ok}
    return {one.broker: one.read_back for one in found if one.ok}


def put_back(ctx: StepContext) -> None:
    """What the step made goes, what it changed is as it was; what it deleted is restored."""
    undone = ctx.operation.steps.get(pk=ctx.arguments["undoes"])
    kind, name, before = ctx.arguments["object"], ctx.arguments["name"], undone.result.get("before", {})
    who = {"actor": actor_of(ctx), "now": ctx.now()}
    was_there = any(view is not None for view in before.values())
    if kind in ("user", "policies"):
        _put_access_back(ctx, kind, name, before, was_there)
    elif not was_there:
        _delete(ctx, kind, name)
    elif ctx.arguments["change"] == DELETE:
        restore = topics.do_restore_topic if kind == "topic" else groups.do_restore_group
        restore(ctx.cluster, name, **who)
    else:
        _put_specs_back(ctx, kind, name, before)


def _put_specs_back(ctx: StepContext, kind: str, name: str, before: dict[str, Any]) -> None:
    reached = reach(ctx.cluster)
    put = topic_gateway.put_topic if kind == "topic" else group_gateway.put_group
    for broker, spec in before.items():
        if spec is not None:
            for one in put(reached.address, name, spec, (broker,), reached.expected):
                if not one.ok:
                    raise StepFailed(f"{one.broker}: {one.detail}")


def _put_access_back(ctx: StepContext, kind: str, name: str, before: dict[str, Any], was_there: bool) -> None:
    if kind == "user" and not was_there:
        _delete(ctx, kind, name)
        return
    kept = next((view for view in before.values() if view is not None), None)
    if kept is not None and kind == "policies":
        acl.do_put_policies(ctx.cluster, name, kept["policies"], actor=actor_of(ctx), now=ctx.now())


kinds.add(STEP, apply_object, put_back)
