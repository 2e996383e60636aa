"""What a name server shows to Prometheus; read from its tables when asked."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from engine.namesrv.routes import RouteTable
from engine.net.server import Server
from engine.net.shares import CLOSED, CLOSED_TEXT, closings, share_gauges
from engine.net.tls import NOT_AFTER_HELP, NOT_AFTER_METRIC, ServerTls


class _NamesrvCollector(Collector):
    def __init__(self, routes: RouteTable, server: Server, tls: ServerTls) -> None:
        self._routes = routes
        self._server = server
        self._tls = tls

    def collect(self) -> Iterator[Metric]:
        info = self._routes.cluster_info()
        brokers = sum(len(group.broker_addrs) for group in info.broker_addr_table.values())
        yield _gauge("rocketmq_namesrv_brokers", "Brokers alive", brokers)
        yield _gauge("rocketmq_namesrv_broker_groups", "Broker groups alive", len(info.broker_addr_table))
        yield _gauge("rocketmq_namesrv_topics", "Topics with a route", len(self._routes.topics()))
        yield _gauge("rocketmq_namesrv_connections", "Open connections", len(self._server.connections))
        if self._tls.not_after_ms is not None:
            yield _gauge(NOT_AFTER_METRIC, NOT_AFTER_HELP, self._tls.not_after_ms / 1000)
        for name, text, value in share_gauges(self._server.shares):
            yield _gauge(name, text, value)
        closed = CounterMetricFamily(CLOSED, CLOSED_TEXT, labels=["budget"])
        for budget, count in closings(self._server.shares):
            closed.add_metric([budget], count)
        yield closed


def _gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, text, value=value)


def namesrv_registry(routes: RouteTable, server: Server, tls: ServerTls) -> CollectorRegistry:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_NamesrvCollector(routes, server, tls))
    return registry
