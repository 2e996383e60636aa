"""Gauges that are read from the database when Prometheus asks: few queries, nothing kept between two scrapes.

What is not known is left out, never 0. Age is told as a time (seconds since 1970), so that the reader's clock
and not ours says how old it is.
"""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import Count, Min, Q
from prometheus_client.core import GaugeMetricFamily, Metric

from clusters.models import Broker, Cluster, Host, LiveBroker, NameServer, Operation
from console.core.models import AuditHead, User


class StateCollector:
    def collect(self) -> Iterator[Metric]:
        yield from (_clusters(), _hosts(), _processes(), _operations(), _freshness(), _unreachable())
        head = AuditHead.objects.first()
        yield _plain("signalbox_audit_rows", "Rows of the audit chain.", head.last_id if head else 0)
        active = User.objects.filter(is_active=True).count()
        yield _plain("signalbox_users_active", "People who may sign in.", active)

    def describe(self) -> list[Metric]:
        """Registering must not read the database."""
        return []


def _plain(name: str, text: str, value: float) -> Metric:
    gauge = GaugeMetricFamily(name, text)
    gauge.add_metric([], value)
    return gauge


def _clusters() -> Metric:
    gauge = GaugeMetricFamily("signalbox_clusters", "Clusters by kind.", labels=["kind"])
    rows = Cluster.objects.filter(deleted_at=None).values_list("kind").annotate(count=Count("pk")).order_by()
    for kind, count in rows:
        gauge.add_metric([kind], count)
    return gauge


def _hosts() -> Metric:
    gauge = GaugeMetricFamily(
        "signalbox_host_heartbeat_timestamp_seconds", "When the host's agent last spoke.", labels=["host"]
    )
    for name, at in Host.objects.exclude(heartbeat_at=None).values_list("name", "heartbeat_at"):
        gauge.add_metric([name], at.timestamp())
    return gauge


def _processes() -> Metric:
    gauge = GaugeMetricFamily(
        "signalbox_processes", "Engine processes as last seen.", labels=["cluster", "kind", "observed"]
    )
    for kind, model, cluster in (
        ("broker", Broker, "group__cluster__name"),
        ("namesrv", NameServer, "cluster__name"),
    ):
        rows = model.objects.values_list(cluster, "observed").annotate(count=Count("pk")).order_by()
        for name, observed, count in rows:
            gauge.add_metric([name, kind, observed], count)
    return gauge


def _operations() -> Metric:
    gauge = GaugeMetricFamily(
        "signalbox_operations_open", "Operations that have not ended.", labels=["state"]
    )
    counts = dict(
        Operation.objects.filter(state__in=Operation.OPEN)
        .values_list("state")
        .annotate(count=Count("pk"))
        .order_by()
    )
    for state in Operation.OPEN:
        gauge.add_metric([str(state)], counts.get(str(state), 0))
    return gauge


def _freshness() -> Metric:
    gauge = GaugeMetricFamily(
        "signalbox_sampled_timestamp_seconds",
        "When the broker of a cluster that was asked longest ago was asked.",
        labels=["cluster"],
    )
    rows = LiveBroker.objects.values_list("cluster__name").annotate(oldest=Min("sampled_at")).order_by()
    for name, oldest in rows:
        if oldest is not None:
            gauge.add_metric([name], oldest.timestamp())
    return gauge


def _unreachable() -> Metric:
    gauge = GaugeMetricFamily(
        "signalbox_brokers_unreachable", "Brokers that did not answer when last asked.", labels=["cluster"]
    )
    silent = Count("pk", filter=Q(is_reachable=False))
    for name, count in LiveBroker.objects.values_list("cluster__name").annotate(count=silent).order_by():
        gauge.add_metric([name], count)
    return gauge
