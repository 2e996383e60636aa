"""Hosts: invited by a token, joined by their agent, cordoned, removed."""

from __future__ import annotations

import ipaddress
import secrets
import socket
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction

from clusters.models import Broker, Host, JoinToken, NameServer
from clusters.provisioning.names import check_host_name
from console.core import audit
from console.core.actors import Actor
from console.core.problems import Problem
from console.core.tokens import digest

MARK = "sbj_"
LIFETIME = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Ranges:
    port_low: int = 10909
    port_high: int = 11908
    namesrv_port_low: int = 9876
    namesrv_port_high: int = 9975


def do_invite_host(name: str, *, actor: Actor, now: datetime, lifetime: timedelta = LIFETIME) -> str:
    """A token that lets one agent join as that host, once."""
    check_host_name(name)
    secret = MARK + secrets.token_urlsafe(32)
    with transaction.atomic():
        if Host.objects.filter(name=name, removed_at=None).exists():
            raise Problem("exists", f"there is a host {name} already", 409, field="name")
        JoinToken.objects.filter(host_name=name, used_at=None).delete()
        JoinToken.objects.create(
            host_name=name,
            digest=digest(secret),
            created_by=actor.name,
            created_at=now,
            expires_at=now + min(lifetime, timedelta(days=30)),
        )
        audit.record(actor, "host.invite", target=name, now=now)
    return secret


def do_join_host(
    token: str, address: str, data_root: str, public_key: str, ranges: Ranges, *, version: str, now: datetime
) -> Host:
    """By the agent itself. The token says which host it is."""
    check_address(address)
    with transaction.atomic():
        row = JoinToken.objects.select_for_update().filter(digest=digest(token)).first()
        if row is None or row.used_at is not None or row.expires_at <= now:
            raise Problem("join_token", "the token is unknown, used or expired: ask for a new one", 403)
        host = add_host(row.host_name, address, data_root, public_key, ranges, version=version, now=now)
        JoinToken.objects.filter(pk=row.pk).update(used_at=now)
        actor = Actor(f"agent:{host.name}")
        audit.record(actor, "host.join", target=host.name, details={"address": address}, now=now)
    return host


def add_host(
    name: str, address: str, data_root: str, public_key: str, ranges: Ranges, *, version: str, now: datetime
) -> Host:
    """In the caller's transaction. A removed host of that name comes back with a new key."""
    values = {
        "address": address,
        "data_root": data_root,
        "public_key": public_key,
        "agent_version": version,
        "joined_at": now,
        "heartbeat_at": now,
        "is_cordoned": False,
        "removed_at": None,
        "port_low": ranges.port_low,
        "port_high": ranges.port_high,
        "namesrv_port_low": ranges.namesrv_port_low,
        "namesrv_port_high": ranges.namesrv_port_high,
    }
    _check_ranges(ranges)
    existing = Host.objects.select_for_update().filter(name=name).first()
    if existing is not None and existing.removed_at is None:
        raise Problem("exists", f"there is a host {name} already", 409, field="name")
    host, _ = Host.objects.update_or_create(name=check_host_name(name), defaults=values)
    return host


def _check_ranges(ranges: Ranges) -> None:
    for low, high, field in (
        (ranges.port_low, ranges.port_high, "port_low"),
        (ranges.namesrv_port_low, ranges.namesrv_port_high, "namesrv_port_low"),
    ):
        if not 1024 <= low <= high <= 65535:
            raise Problem("invalid", f"{low} to {high} is no range of ports", 400, field=field)
    if ranges.port_low <= ranges.namesrv_port_high and ranges.namesrv_port_low <= ranges.port_high:
        raise Problem("invalid", "the two ranges of ports overlap", 400, field="namesrv_port_low")


def check_address(address: str) -> None:
    """What others can dial: one address, not all of them."""
    try:
        found = {info[4][0] for info in socket.getaddrinfo(address, None, type=socket.SOCK_STREAM)}
    except OSError:
        raise Problem("invalid", f"{address!r} cannot be looked up", 400, field="address") from None
    numeric = [ipaddress.ip_address(each.split("%")[0]) for each in found]
    if any(each.is_unspecified or each.is_multicast for each in numeric):
        raise Problem("invalid", f"{address} is not an address that others can dial", 400, field="address")


def do_cordon_host(host: Host, is_cordoned: bool, *, actor: Actor, now: datetime) -> Host:
    with transaction.atomic():
        Host.objects.filter(pk=host.pk).update(is_cordoned=is_cordoned)
        audit.record(actor, "host.cordon" if is_cordoned else "host.uncordon", target=host.name, now=now)
    host.refresh_from_db()
    return host


def refuse_used(host: Host) -> None:
    labels = [f"{row.group.cluster.name}/{row.label}" for row in _brokers(host)]
    labels += [f"{row.cluster.name}/{row.label}" for row in _name_servers(host)]
    if labels:
        raise Problem("in_use", f"{host.name} runs {', '.join(labels[:10])}: move or delete them first", 409)


def do_remove_host(host: Host, *, actor: Actor, now: datetime) -> None:
    with transaction.atomic():
        refuse_used(host)
        Host.objects.filter(pk=host.pk).update(removed_at=now)
        audit.record(actor, "host.remove", target=host.name, now=now)


def _brokers(host: Host) -> list[Broker]:
    rows = Broker.objects.filter(host=host, group__cluster__deleted_at=None)
    return list(rows.select_related("group__cluster"))


def _name_servers(host: Host) -> list[NameServer]:
    return list(NameServer.objects.filter(host=host, cluster__deleted_at=None).select_related("cluster"))
