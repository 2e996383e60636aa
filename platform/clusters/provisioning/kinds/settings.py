"""Steps that change settings: overrides and release in rows, what needs no restart by request."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from clusters.gateway import broker_groups
from clusters.gateway.addressing import address_of
from clusters.models import Broker, BrokerGroup, Cluster
from clusters.provisioning.inventory import find_process
from clusters.provisioning.kinds.brokers import actor_of
from clusters.provisioning.registry import Registry, StepContext, StepFailed
from console.core import audit


def register(kinds: Registry) -> None:
    kinds.add("set_overrides", set_overrides, reset_overrides)
    kinds.add("set_release", set_release, reset_release)
    kinds.add("apply_live", apply_live, unapply_live)
    kinds.add("read_back", read_back)


def _scope(ctx: StepContext) -> Cluster | BrokerGroup | Broker:
    scope = ctx.arguments["scope"]
    if "process" in scope:
        process = find_process(ctx.cluster, scope["process"])
        assert isinstance(process, Broker)
        return process
    if "group" in scope:
        return BrokerGroup.objects.get(cluster=ctx.cluster, name=scope["group"])
    return Cluster.objects.get(pk=ctx.cluster.pk)


def set_overrides(ctx: StepContext) -> None:
    """`changes`: a key to its value, or to None, which takes it away."""
    with transaction.atomic():
        row = _scope(ctx)
        if "before" not in ctx.result:
            ctx.keep(before=row.overrides)
        after = dict(ctx.result["before"])
        for key, value in ctx.arguments["changes"].items():
            if value is None:
                after.pop(key, None)
            else:
                after[key] = value
        type(row).objects.filter(pk=row.pk).update(overrides=after)


def reset_overrides(ctx: StepContext) -> None:
    before = _undone_result(ctx).get("before")
    if before is not None:
        row = _scope(ctx)
        type(row).objects.filter(pk=row.pk).update(overrides=before)


def set_release(ctx: StepContext) -> None:
    with transaction.atomic():
        if "before" not in ctx.result:
            ctx.keep(before=ctx.cluster.release)
        Cluster.objects.filter(pk=ctx.cluster.pk).update(release=ctx.arguments["release"])


def reset_release(ctx: StepContext) -> None:
    before = _undone_result(ctx).get("before")
    if before:
        Cluster.objects.filter(pk=ctx.cluster.pk).update(release=before)


def _undone_result(ctx: StepContext) -> dict[str, Any]:
    return ctx.operation.steps.get(pk=ctx.arguments["undoes"]).result


def apply_live(ctx: StepContext) -> dict[str, Any]:
    """Settings that need no restart, by request, with what the broker says after it."""
    broker = find_process(ctx.cluster, ctx.arguments["process"])
    address = address_of(ctx.cluster)
    if "before" not in ctx.result:
        now = broker_groups.configs(address, [broker.address])[broker.address]
        if not isinstance(now, dict):
            raise StepFailed(f"{broker.label} does not answer: {now.text}")
        ctx.keep(before={key: now.get(key) for key in ctx.arguments["changes"]})
    return {"read_back": _tell(ctx, broker, ctx.arguments["changes"])}


def unapply_live(ctx: StepContext) -> dict[str, Any]:
    before = _undone_result(ctx).get("before") or {}
    broker = find_process(ctx.cluster, ctx.arguments["process"])
    known = {key: value for key, value in before.items() if value is not None}
    return {"read_back": _tell(ctx, broker, known) if known else {}}


def _tell(ctx: StepContext, broker: Any, changes: dict[str, str]) -> dict[str, str | None]:
    ctx.check(at_once=True)
    with audit.attempt(
        actor_of(ctx),
        "broker.configure",
        cluster=ctx.cluster.name,
        target=broker.label,
        details=dict(changes),
    ) as outcome:
        after = broker_groups.update_config(address_of(ctx.cluster), broker.address, changes)
        said = {key: after.get(key) for key in changes}
        outcome.details = {"read_back": said}
    _compare(broker.label, changes, said)
    ctx.log(f"{broker.label} says " + ", ".join(f"{key}={value}" for key, value in said.items()))
    return said


def read_back(ctx: StepContext) -> dict[str, Any]:
    """After a restart: what the broker itself says of the settings that were to change."""
    broker, changes = find_process(ctx.cluster, ctx.arguments["process"]), ctx.arguments["changes"]
    now = broker_groups.configs(address_of(ctx.cluster), [broker.address])[broker.address]
    if not isinstance(now, dict):
        raise StepFailed(f"{broker.label} does not answer: {now.text}")
    said = {key: now.get(key) for key in changes}
    _compare(broker.label, {key: value for key, value in changes.items() if value is not None}, said)
    ctx.log(f"{broker.label} says " + ", ".join(f"{key}={value}" for key, value in said.items()))
    return {"read_back": said}


def _compare(label: str, wanted: dict[str, Any], said: dict[str, Any]) -> None:
    different = [f"{key}={said.get(key)}" for key, value in wanted.items() if said.get(key) != value]
    if different:
        raise StepFailed(f"{label} says {', '.join(different)} after the change")
