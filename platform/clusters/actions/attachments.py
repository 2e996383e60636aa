"""Clusters that somebody else runs: attached by their name servers' addresses, detached again.

What may be dialled is settled here: the name servers that an administrator named, which must be addresses
that a broker can have, and the broker addresses that those told then, which the plan shows. Later ones
are taken only by asking again (`do_refresh_addresses`).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction

from clusters.gateway import discovery
from clusters.gateway.addressing import ClusterAddress, address_of
from clusters.gateway.dialing import checked_ip
from clusters.models import Cluster
from clusters.provisioning.names import check_cluster_name
from console.core import audit
from console.core.actors import Actor
from console.core.problems import Problem
from console.core.sealing import seal
from engine.errors import PeerUnreachable
from engine.protocol.signing import Credentials

MOST_NAME_SERVERS = 16
# However it failed: who may name an address must not learn by it what else listens in the console's networks.
_NOBODY_ANSWERS = ("unreachable", "timeout", "deadline", "engine")
_ADDRESS = re.compile(r"(\[[0-9a-fA-F:]{2,45}\]|[A-Za-z0-9._-]{1,253}):([0-9]{1,5})")


@dataclass(frozen=True, slots=True)
class AttachRequest:
    name: str
    name_servers: Sequence[str]
    broker_cluster_name: str = ""
    access_key: str = ""
    secret_key: str = ""
    uses_tls: bool = False
    labels: dict[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Attachment:
    """What was found, before anything is stored."""

    found: discovery.Found
    flavour: str

    def sentences(self, name: str) -> list[str]:
        lines = [f"Attach {self.found.broker_cluster_name} as {name}; its brokers are {self.flavour}'s."]
        for broker, members in self.found.brokers.items():
            listed = ", ".join(f"{number}: {at}" for number, at in members.items())
            lines.append(f"The console will dial {broker} at {listed}.")
        if self.found.other_clusters:
            lines.append(f"The same name servers know {', '.join(self.found.other_clusters)}, not attached.")
        return lines


def plan_attach(request: AttachRequest) -> Attachment:
    check_cluster_name(request.name)
    if Cluster.objects.filter(name=request.name, deleted_at=None).exists():
        raise Problem("exists", f"there is a cluster {request.name} already", 409, field="name")
    if bool(request.access_key) != bool(request.secret_key):
        raise Problem("invalid", "credentials are an access key and a secret key", 400, field="secret_key")
    check_addresses(request.name_servers)
    address = _address(request)
    found = _found(address)
    check_addresses(found.addresses, "brokers")
    asked = replace(address, brokers=frozenset(found.addresses))
    return Attachment(found, _flavour(asked, found))


def _address(request: AttachRequest) -> ClusterAddress:
    credentials = Credentials(request.access_key, request.secret_key) if request.access_key else None
    return ClusterAddress(
        request.name,
        tuple(request.name_servers),
        frozenset(),
        credentials,
        request.uses_tls,
        request.broker_cluster_name,
    )


def _found(address: ClusterAddress) -> discovery.Found:
    try:
        return discovery.discover(address)
    except Problem as problem:
        if problem.code not in _NOBODY_ANSWERS:
            raise
        listed = ", ".join(address.name_servers)
        raise Problem(
            "unreachable", f"no name server answers at {listed}", 503, field="name_servers"
        ) from None


def _flavour(address: ClusterAddress, found: discovery.Found) -> str:
    for broker in found.addresses:
        try:
            return discovery.flavour(address, broker)
        except Problem as problem:
            if problem.code == "not_permitted":
                raise Problem("not_permitted", problem.detail, 409, field="access_key") from None
    return discovery.UNKNOWN


def check_addresses(addresses: Sequence[str], field: str = "name_servers") -> None:
    if not 1 <= len(addresses) <= MOST_NAME_SERVERS * (1 if field == "name_servers" else 64):
        raise Problem("invalid", f"1 to {MOST_NAME_SERVERS} addresses are expected", 400, field=field)
    for address in addresses:
        found = _ADDRESS.fullmatch(address)
        if found is None or not 0 < int(found[2]) < 65536:
            raise Problem("invalid", f"{address[:80]!r} is not HOST:PORT", 400, field=field)
        try:
            asyncio.run(checked_ip(found[1].strip("[]"), int(found[2])))
        except PeerUnreachable as error:
            raise Problem("address_refused", error.text, 400, field=field) from None


def do_attach_cluster(
    request: AttachRequest, attachment: Attachment, *, actor: Actor, now: datetime
) -> Cluster:
    found = attachment.found
    cluster = Cluster(
        name=request.name,
        broker_cluster_name=found.broker_cluster_name,
        kind=Cluster.Kind.ATTACHED,
        flavour=attachment.flavour,
        name_server_addresses=list(request.name_servers),
        broker_addresses=found.addresses,
        access_key=request.access_key,
        sealed_secret_key=seal(request.secret_key) if request.secret_key else "",
        uses_tls=request.uses_tls,
        has_access_control=bool(request.access_key),
        labels=request.labels or {},
        created_at=now,
    )
    details: dict[str, Any] = {"name_servers": list(request.name_servers), "brokers": found.addresses}
    try:
        with transaction.atomic():
            cluster.save()
            audit.record(
                actor, "cluster.attach", cluster=cluster.name, target=cluster.name, details=details, now=now
            )
    except IntegrityError:
        raise Problem("exists", f"there is a cluster {request.name} already", 409, field="name") from None
    return cluster


def do_refresh_addresses(cluster: Cluster, *, actor: Actor, now: datetime) -> Cluster:
    """Brokers that came or went since it was attached, as its name servers say now."""
    if cluster.kind != Cluster.Kind.ATTACHED:
        raise Problem("managed", f"{cluster.name} is not attached: its addresses are its rows", 409)
    found = _found(replace(address_of(cluster), brokers=frozenset()))
    check_addresses(found.addresses, "brokers")
    details = {"before": cluster.broker_addresses, "after": found.addresses}
    with transaction.atomic():
        Cluster.objects.filter(pk=cluster.pk).update(broker_addresses=found.addresses)
        audit.record(
            actor, "cluster.refresh", cluster=cluster.name, target=cluster.name, details=details, now=now
        )
    cluster.refresh_from_db()
    return cluster


def refuse_unconfirmed(cluster: Cluster, confirm: str) -> None:
    if confirm != cluster.name:
        raise Problem("confirm", "type the cluster's name to confirm", 400, field="confirm")


def do_detach_cluster(cluster: Cluster, *, actor: Actor, now: datetime) -> None:
    """Nothing happens to its processes."""
    with transaction.atomic():
        Cluster.objects.filter(pk=cluster.pk).update(deleted_at=now)
        audit.record(actor, "cluster.detach", cluster=cluster.name, target=cluster.name, now=now)
