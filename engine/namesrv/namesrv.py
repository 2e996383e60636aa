"""Builds, wires, starts and stops a name server, and shows its figures to Prometheus when asked."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from engine.daemon.logs import set_level
from engine.daemon.metrics_port import MetricsPort
from engine.durable_file import read_durable, write_durable
from engine.errors import BadInput
from engine.namesrv.access_control import NamesrvAccess
from engine.namesrv.handlers import KV_FILE, NamesrvHandlers
from engine.namesrv.kv import KVConfig, decode_kv
from engine.namesrv.options import NamesrvOptions
from engine.namesrv.routes import RouteTable
from engine.net.arrivals import parse_networks
from engine.net.connection import Connection
from engine.net.flow import ConnectionLimits
from engine.net.server import Server, listen
from engine.net.serving import Serving
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


log = logging.getLogger(__name__)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


class Namesrv:
    """`await start()`, `await stop()`; `address` is where it listens."""

    def __init__(self, options: NamesrvOptions) -> None:
        self._options = options
        self._loop = asyncio.get_running_loop()
        self._kv = _load_kv(Path(options.kv_config_path).expanduser())
        self._routes = RouteTable(
            options.default_broker_timeout,
            drops_unregistered=options.delete_topic_with_broker_registration,
        )
        self._handlers = NamesrvHandlers(
            self._routes, self._kv, options, _now_ms, on_options=self._options_changed
        )
        waits = NamesrvWaits(self._loop, Path(options.kv_config_path).expanduser(), self._kv)
        routes = self._handlers.routes()
        self._access = NamesrvAccess(options.access)
        self._serving = Serving(routes, waits, self._loop, self._access.gate(routes.keys()))
        limits = ConnectionLimits(
            idle_s=float(options.server_channel_max_idle_time_seconds),
            max_connections_per_ip=options.signalbox_max_connections_per_ip,
            memory=options.memory,
        )
        proxies = parse_networks(options.signalbox_trusted_proxies)
        tls = options.tls.open_server()
        self._server = Server(self._loop, self._serving, limits, tls, proxies)
        self._metrics = MetricsPort(namesrv_registry(self._routes, self._server, tls))
        self._scanner: asyncio.TimerHandle | None = None
        self.address: tuple[str, int] = ("", 0)
        self.metrics_port: int | None = None

    async def start(self) -> str:
        options = self._options
        try:
            sock = listen(options.listen_host, options.listen_port, backlog=1024)
        except OSError as error:
            where = f"{options.listen_host}:{options.listen_port}"
            raise BadInput(f"cannot listen on {where}: {error.strerror}") from None
        self.address = self._server.add_listener(sock)
        if options.metrics_prom_exporter_port >= 0:
            try:
                self.metrics_port = await self._metrics.start(
                    options.listen_host, options.metrics_prom_exporter_port
                )
            except BadInput:
                await self.stop()
                raise
        self._access.start(self._loop)
        self._scan()
        return f"name server ready on {self.address[0]}:{self.address[1]}"

    async def stop(self) -> None:
        if self._scanner is not None:
            self._scanner.cancel()
        self._access.stop()
        self._server.stop_accepting()
        self._serving.is_draining = True
        deadline = self._loop.time() + 2.0
        while self._serving.in_flight and self._loop.time() < deadline:
            await asyncio.sleep(0.01)
        await self._metrics.stop()
        await self._server.close()

    def _scan(self) -> None:
        for cluster, address, live in self._routes.expired(_now_ms()):
            log.warning("broker %s (%s) has not registered for %d ms", address, live.group, live.timeout_ms)
            self._routes.unregister(cluster, address, live.group, live.broker_id)
            if isinstance(live.channel, Connection):
                live.channel.abort()
        self._scanner = self._loop.call_later(
            self._options.scan_not_active_broker_interval / 1000.0, self._scan
        )

    def _options_changed(self, options: NamesrvOptions) -> None:
        set_level(options.log_level)
        self._routes.drops_unregistered = options.delete_topic_with_broker_registration
        self._options = replace(options, listen_port=self._options.listen_port)


class NamesrvWaits:
    """The only wait here is for the KV file; writes happen one after the other, in a thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop, path: Path, kv: KVConfig) -> None:
        self._loop = loop
        self._path = path
        self._kv = kv
        self._tail: asyncio.Task[None] | None = None

    def when_persisted(self, file: str, done: Callable[[OSError | None], None]) -> None:
        self._tail = self._loop.create_task(self._write(self._tail, done))

    async def _write(self, before: asyncio.Task[None] | None, done: Callable[[OSError | None], None]) -> None:
        if before is not None:
            await before
        data = self._kv.encode()
        try:
            await self._loop.run_in_executor(None, write_durable, self._path, data)
        except OSError as error:
            log.error("%s could not be written: %s", KV_FILE, error)
            done(error)
        else:
            done(None)


def _load_kv(path: Path) -> KVConfig:
    kv, damage = read_durable(path, decode_kv)
    if damage is not None:
        log.warning("KV configuration: %s", damage)
    if kv is None and damage is not None:
        raise BadInput(f"{path} and its .bak cannot be read ({damage}); move them away to start empty")
    return kv or KVConfig()
