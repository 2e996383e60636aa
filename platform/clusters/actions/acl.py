"""Users and policies on every master, equal on all of them. Secrets are sealed at once and shown once."""

from __future__ import annotations

import secrets
from datetime import datetime
from typing import Any

from django.db import transaction

from clusters.actions.broker_changes import change_brokers, reach
from clusters.actions.topics import refuse_unconfirmed
from clusters.gateway import acl as gateway
from clusters.gateway.writes import BrokerOutcome
from clusters.models import AclUser, Cluster
from console.core.actors import Actor
from console.core.problems import Problem, not_found
from console.core.sealing import seal, unseal

_SECRET_BYTES = 32


def new_secret() -> str:
    return secrets.token_urlsafe(_SECRET_BYTES)


def read_access(cluster: Cluster, name: str | None = None) -> list[BrokerOutcome]:
    reached = reach(cluster)
    return gateway.read_access(reached.address, reached.expected, name)


def do_create_user(
    cluster: Cluster,
    name: str,
    wish: dict[str, str],
    secret: str,
    *,
    labels: dict[str, str] | None = None,
    document: str = "",
    actor: Actor,
    now: datetime,
) -> list[BrokerOutcome]:
    found = read_access(cluster, name)
    if found and all(one.ok and name in one.read_back for one in found):
        raise Problem("exists", f"the user {name} is there already", 409, field="name")
    outcomes = _put_user(cluster, "acl.user.create", name, wish, secret, actor)
    with transaction.atomic():
        row = _row(cluster, name, now)
        row.kind, row.status = wish.get("kind", row.kind), wish.get("status", row.status)
        row.sealed_secret, row.updated_at = seal(secret), now
        row.labels, row.document = labels or row.labels, document or row.document
        row.save()
    return outcomes


def do_change_user(
    cluster: Cluster, name: str, wish: dict[str, str], secret: str | None, *, actor: Actor, now: datetime
) -> list[BrokerOutcome]:
    """What is not in the wish stays. Where a broker misses the user it is made, if the secret is known."""
    found = read_access(cluster, name)
    _refuse_unknown_user(found, name)
    row = AclUser.objects.filter(cluster=cluster, name=name).first()
    if secret is None and any(one.ok and name not in one.read_back for one in found):
        if row is None or not row.sealed_secret:
            raise Problem(
                "secret", "a broker misses this user, and its secret is not known here", 409, field="secret"
            )
        secret = unseal(row.sealed_secret)
        wish = {"kind": row.kind, "status": row.status} | wish
    outcomes = _put_user(cluster, "acl.user.update", name, wish, secret, actor)
    with transaction.atomic():
        row = _row(cluster, name, now)
        row.kind, row.status = wish.get("kind", row.kind), wish.get("status", row.status)
        row.sealed_secret = row.sealed_secret if secret is None else seal(secret)
        row.updated_at = now
        row.save()
    return outcomes


def do_put_user(
    cluster: Cluster,
    name: str,
    wish: dict[str, str],
    secret: str | None,
    *,
    document: str,
    actor: Actor,
    now: datetime,
) -> list[BrokerOutcome]:
    """What a document says. Where it is missing it gets `secret`, the known one, or a new one."""
    row = AclUser.objects.filter(cluster=cluster, name=name).first()
    missing = any(one.ok and name not in one.read_back for one in read_access(cluster, name))
    if missing and secret is None:
        secret = unseal(row.sealed_secret) if row is not None and row.sealed_secret else new_secret()
    outcomes = _put_user(cluster, "acl.user.apply", name, wish, secret if missing else None, actor)
    with transaction.atomic():
        row = _row(cluster, name, now)
        row.kind, row.status, row.document, row.updated_at = wish["kind"], wish["status"], document, now
        row.sealed_secret = seal(secret) if missing and secret is not None else row.sealed_secret
        row.save()
    return outcomes


def do_delete_user(
    cluster: Cluster, name: str, *, confirm: str, actor: Actor, now: datetime
) -> list[BrokerOutcome]:
    refuse_unconfirmed(name, confirm)
    if name == cluster.access_key:
        raise Problem("own_user", "the console itself signs with this user", 409, field="confirm")
    _refuse_unknown_user(read_access(cluster, name), name)
    outcomes = change_brokers(
        cluster,
        "acl.user.delete",
        name,
        {},
        lambda to: gateway.delete_user(to.address, name, to.expected),
        actor=actor,
    )
    if all(one.ok for one in outcomes):
        AclUser.objects.filter(cluster=cluster, name=name).delete()
    return outcomes


def do_put_policies(
    cluster: Cluster, name: str, entries: list[dict[str, Any]], *, actor: Actor, now: datetime
) -> list[BrokerOutcome]:
    """The user's policies become these, on every master."""
    found = read_access(cluster, name)
    _refuse_unknown_user(found, name)
    before = {
        one.broker: one.read_back[name]["policies"] for one in found if one.ok and name in one.read_back
    }
    outcomes = change_brokers(
        cluster,
        "acl.policies.update",
        name,
        {"before": before, "after": dict.fromkeys(before, entries)},
        lambda to: gateway.put_policies(to.address, name, entries, to.expected),
        actor=actor,
    )
    with transaction.atomic():
        row = _row(cluster, name, now)
        row.policies, row.updated_at = entries, now
        row.save()
    return outcomes


def merged(outcomes: list[BrokerOutcome], declared: dict[str, AclUser]) -> list[dict[str, Any]]:
    """Users of all brokers as one list, each with what differs where. Pure."""
    heard = [one for one in outcomes if one.ok]
    names = {name for one in heard for name in one.read_back} | declared.keys()
    return [_merged_user(name, heard, declared.get(name)) for name in sorted(names)]


def _merged_user(name: str, heard: list[BrokerOutcome], said: AclUser | None) -> dict[str, Any]:
    views = {one.broker: one.read_back.get(name) for one in heard}
    wanted = next((view for view in views.values() if view is not None), None)
    if said is not None:
        wanted = {"kind": said.kind, "status": said.status, "policies": said.policies}
    assert wanted is not None
    return {
        "name": name,
        **wanted,
        "labels": said.labels if said else {},
        "is_declared": said is not None,
        "has_known_secret": bool(said and said.sealed_secret),
        "brokers": [broker for broker, view in views.items() if view is not None],
        "drift": [row for broker, view in views.items() for row in differences(broker, wanted, view)],
    }


def differences(broker: str, wanted: dict[str, Any], view: dict[str, Any] | None) -> list[dict[str, Any]]:
    if view is None:
        return [{"broker": broker, "field": "", "declared": "there", "live": "missing"}]
    rows = [
        {"broker": broker, "field": key, "declared": wanted[key], "live": view[key]}
        for key in ("kind", "status")
        if wanted[key] != view[key]
    ]
    if not gateway.same_entries(wanted["policies"], view["policies"]):
        rows.append(
            {
                "broker": broker,
                "field": "policies",
                "declared": _texts(wanted["policies"]),
                "live": _texts(view["policies"]),
            }
        )
    return rows


def _texts(entries: list[dict[str, Any]]) -> str:
    return "; ".join(
        f"{entry['decision']} {','.join(entry['actions'])} on {entry['resource']}"
        + (f" from {','.join(entry['source_ips'])}" if entry["source_ips"] else "")
        for entry in sorted(entries, key=gateway.entry_key)
    )


def _put_user(
    cluster: Cluster, action: str, name: str, wish: dict[str, str], secret: str | None, actor: Actor
) -> list[BrokerOutcome]:
    details = {**wish, "secret": "changed" if secret is not None else "kept"}
    return change_brokers(
        cluster,
        action,
        name,
        details,
        lambda to: gateway.put_user(to.address, name, wish, secret, to.expected),
        actor=actor,
    )


def _refuse_unknown_user(found: list[BrokerOutcome], name: str) -> None:
    if found and all(one.ok and name not in one.read_back for one in found):
        raise not_found("user", name)


def _row(cluster: Cluster, name: str, now: datetime) -> AclUser:
    fresh = {"created_at": now, "updated_at": now}
    return AclUser.objects.get_or_create(cluster=cluster, name=name, defaults=fresh)[0]
