"""Hosts and what they run."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, QuerySet

from clusters.models import Broker, Host, NameServer
from console.core.problems import not_found

ORDERINGS = ("name", "heartbeat_at", "joined_at")


def living() -> QuerySet[Host]:
    return Host.objects.filter(removed_at=None)


def get_host(name: str) -> Host:
    host = living().filter(name=name).first()
    if host is None:
        raise not_found("host", name)
    return host


def loads(hosts: list[Host]) -> dict[int, dict[str, int]]:
    """Per host: how many brokers, masters and name servers are placed there. Three queries for any number."""
    found: dict[int, dict[str, int]] = {
        host.pk: {"brokers": 0, "masters": 0, "name_servers": 0} for host in hosts
    }
    rows = Broker.objects.filter(host__in=hosts, group__cluster__deleted_at=None).select_related("group")
    for broker in rows:
        found[broker.host_id]["brokers"] += 1
        found[broker.host_id]["masters"] += int(broker.is_master)
    servers: Any = NameServer.objects.filter(host__in=hosts, cluster__deleted_at=None)
    for host_id, count in servers.values_list("host_id").annotate(Count("pk")).order_by():
        found[host_id]["name_servers"] = count
    return found
