"""Steps that ask brokers: health gates, promotion, write permission, waiting for consumption, keepsakes.

They run where the console's key is (no host). Changes are in the audit chain under the operation's creator.
"""

from __future__ import annotations

from typing import Any

from clusters.gateway import broker_groups, keepsakes
from clusters.gateway.addressing import address_of
from clusters.models import BrokerGroup, Cluster
from clusters.provisioning.confs import PERMISSION_ALL, PERMISSION_READ
from clusters.provisioning.registry import Later, Registry, StepContext, StepFailed
from clusters.provisioning.undoing import Undone
from console.core import audit
from console.core.actors import Actor
from console.core.problems import Problem

GATE_S = 120.0
FOLLOW_S = 30.0
_LOOK_S = 0.5


def register(kinds: Registry) -> None:
    kinds.add("gate", gate, gate, undone=Undone.BEHIND)
    kinds.add("promote", promote, promote_back, undone=Undone.LAST)
    kinds.add("write_permission", write_permission, restore_permission)
    kinds.add("await_consumption", await_consumption)
    kinds.add("take_keepsake", take_keepsake)
    kinds.add("put_back_objects", put_back_objects)


def _group(ctx: StepContext) -> BrokerGroup:
    group = BrokerGroup.objects.filter(cluster=ctx.cluster, name=ctx.arguments["group"]).first()
    if group is None:
        raise StepFailed(f"there is no broker group {ctx.arguments['group']}")
    return group


def _members(group: BrokerGroup) -> dict[int, str]:
    return {broker.member: broker.address for broker in group.brokers.select_related("host")}


def _master_address(group: BrokerGroup) -> str:
    return _members(group)[group.master_member]


def actor_of(ctx: StepContext) -> Actor:
    return Actor(ctx.operation.created_by, user_id=ctx.operation.created_by_id)


def gate(ctx: StepContext) -> None:
    """Goes on when every broker of the group answers and all are in sync; fails after two minutes."""
    waited = 0.0
    trouble = "nobody was asked yet"
    while waited < GATE_S:
        ctx.check()
        group = _group(ctx)
        try:
            health = broker_groups.group_health(address_of(ctx.cluster), _members(group))
            trouble = health.trouble
        except Problem as problem:
            trouble = problem.detail
        if not trouble:
            return
        ctx.progress(trouble)
        ctx.wait(_LOOK_S)
        waited += _LOOK_S
    raise StepFailed(f"{ctx.arguments['group']} is not whole after {GATE_S:g} s: {trouble}")


def promote(ctx: StepContext) -> dict[str, Any]:
    """Desired state follows in this very step, so that healing never brings the old master back as one."""
    group, wanted = _group(ctx), ctx.arguments.get("member")
    if "before" not in ctx.result:
        ctx.keep(before=group.master_member)
    return _promote(ctx, group, wanted, unclean=bool(ctx.arguments.get("unclean")))


def promote_back(ctx: StepContext) -> dict[str, Any] | None:
    undone = ctx.operation.steps.get(pk=ctx.arguments["undoes"])
    before, group = undone.result.get("before"), _group(ctx)
    if before is None or before == group.master_member:
        return None
    return _promote(ctx, group, before, unclean=False)


def _promote(ctx: StepContext, group: BrokerGroup, wanted: int | None, *, unclean: bool) -> dict[str, Any]:
    members = _members(group)
    current, in_sync = _current_master(ctx, members)
    before = ctx.result.get("before")
    if current is not None and (current == wanted or (wanted is None and current != before)):
        # A run before this one got as far as here and was killed.
        _follow(group, current)
        return {"master": current}
    if wanted is None and current is not None:
        # It answers, so its own log is the longest: but a slave was asked for.
        wanted = next((member for member in in_sync if member != current), None)
    broker = members[wanted] if wanted is not None else _any_slave(group, members)
    ctx.check(at_once=True)
    details = {"group": group.name, "wanted": wanted, "unclean": unclean}
    with audit.attempt(
        actor_of(ctx), "broker_group.promote", cluster=ctx.cluster.name, target=group.name, details=details
    ) as outcome:
        promoted = _handed_over(ctx, broker, wanted, unclean=unclean)
        outcome.details |= {"master": promoted.member, "may_be_lost": promoted.may_be_lost}
    _follow(group, promoted.member)
    ctx.log(f"member {promoted.member} is master of {group.name}, epoch {promoted.epoch}")
    if promoted.may_be_lost:
        ctx.log(f"may be lost: {promoted.may_be_lost}")
    return {"master": promoted.member, "may_be_lost": promoted.may_be_lost}


def _handed_over(
    ctx: StepContext, broker: str, wanted: int | None, *, unclean: bool
) -> broker_groups.Promoted:
    """A slave that was restarted a moment ago may count as in sync before it follows again."""
    waited = 0.0
    while True:
        try:
            return broker_groups.promote(address_of(ctx.cluster), broker, wanted=wanted, unclean=unclean)
        except Problem as problem:
            if "does not follow this master" not in problem.detail or waited >= FOLLOW_S:
                raise
            ctx.progress(problem.detail)
        ctx.wait(_LOOK_S)
        waited += _LOOK_S


def _current_master(ctx: StepContext, members: dict[int, str]) -> tuple[int | None, tuple[int, ...]]:
    """And who is in sync with it, if all of them answer."""
    try:
        health = broker_groups.group_health(address_of(ctx.cluster), members, wants_in_sync=False)
    except Problem:
        return None, ()
    return health.master, health.in_sync


def _any_slave(group: BrokerGroup, members: dict[int, str]) -> str:
    slaves = [member for member in sorted(members) if member != group.master_member]
    if not slaves:
        raise StepFailed(f"{group.name} has no slave that could become master")
    return members[slaves[0]]


def _follow(group: BrokerGroup, member: int) -> None:
    BrokerGroup.objects.filter(pk=group.pk).update(master_member=member)


def write_permission(ctx: StepContext) -> dict[str, Any]:
    is_on = bool(ctx.arguments["is_on"])
    return {"read_back": set_permission(ctx, is_on=is_on)}


def restore_permission(ctx: StepContext) -> dict[str, Any]:
    return {"read_back": set_permission(ctx, is_on=not ctx.arguments["is_on"])}


def set_permission(ctx: StepContext, *, is_on: bool) -> str:
    group = _group(ctx)
    wanted = PERMISSION_ALL if is_on else PERMISSION_READ
    ctx.check(at_once=True)
    action = "broker_group.allow_writes" if is_on else "broker_group.refuse_writes"
    with audit.attempt(
        actor_of(ctx), action, cluster=ctx.cluster.name, target=group.name, details={"permission": wanted}
    ) as outcome:
        changes = {"brokerPermission": wanted}
        after = broker_groups.update_config(address_of(ctx.cluster), _master_address(group), changes)
        outcome.details["read_back"] = after.get("brokerPermission")
    if after.get("brokerPermission") != wanted:
        raise StepFailed(f"the master of {group.name} says brokerPermission={after.get('brokerPermission')}")
    ctx.log(f"{group.name} {'takes' if is_on else 'refuses'} writes")
    return wanted


def await_consumption(ctx: StepContext) -> None:
    """Until no group has anything unread there, but for groups that the request says to leave behind."""
    group = _group(ctx)
    left = broker_groups.unread(address_of(ctx.cluster), _master_address(group))
    ignored = set(ctx.arguments.get("ignore_groups", []))
    waiting = [name for name in left.groups if name not in ignored]
    if waiting:
        named = ", ".join(waiting[:5]) + (" …" if len(waiting) > 5 else "")
        raise Later(3, f"{left.messages} messages of {group.name} are unread by {named}")
    ctx.log(f"every message of {group.name} is consumed" + (f" (but for {ignored})" if ignored else ""))


def take_keepsake(ctx: StepContext) -> None:
    """What a restore makes the cluster from again. Its rows as they are; its objects if brokers answer."""
    cluster = ctx.cluster
    kept: dict[str, Any] = {"layout": layout_of(cluster), "objects": {}, "missing": []}
    for group in cluster.groups.all():
        masters = {group.name: _master_address(group)}
        try:
            kept["objects"] |= keepsakes.take(address_of(cluster), masters)
        except Problem as problem:
            kept["missing"].append(group.name)
            ctx.log(f"topics, groups and offsets of {group.name} are not kept: {problem.detail}")
    kept["is_data_kept"] = bool(ctx.arguments["keep_data"])
    Cluster.objects.filter(pk=cluster.pk).update(keepsake=kept)
    counts = [len(part["topics"]) for part in kept["objects"].values()]
    ctx.log(f"kept the layout, and {sum(counts)} topics of {len(counts)} groups")


def layout_of(cluster: Cluster) -> dict[str, Any]:
    return {
        "name_servers": [
            {"number": row.number, "host": row.host.name, "port": row.port}
            for row in cluster.name_servers.select_related("host")
        ],
        "groups": [
            {
                "name": group.name,
                "master": group.master_member,
                "overrides": group.overrides,
                "members": [
                    {
                        "member": row.member,
                        "host": row.host.name,
                        "port": row.port,
                        "overrides": row.overrides,
                    }
                    for row in group.brokers.select_related("host")
                ],
            }
            for group in cluster.groups.all()
        ],
    }


def put_back_objects(ctx: StepContext) -> None:
    kept = (ctx.cluster.keepsake or {}).get("objects", {})
    for name, objects in kept.items():
        group = BrokerGroup.objects.filter(cluster=ctx.cluster, name=name).first()
        if group is None:
            continue
        ctx.check(at_once=True)
        with audit.attempt(
            actor_of(ctx), "cluster.restore_objects", cluster=ctx.cluster.name, target=name
        ) as outcome:
            keepsakes.put_back(address_of(ctx.cluster), _master_address(group), objects)
            outcome.details = {"topics": len(objects["topics"]), "groups": len(objects["groups"])}
        ctx.log(f"{name}: {len(objects['topics'])} topics and {len(objects['groups'])} groups are back")
