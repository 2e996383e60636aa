"""What a broker shows to Prometheus, under the names of RocketMQ 5's own exporter; read when asked.

Counters come from `traffic`, lags from the offsets and queue ends. A series per topic and per (topic, group)
is what dashboards draw, so the number of series is bounded here: the busiest stay, the rest is left out and
counted in `signalbox_metrics_series_dropped`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from heapq import nlargest
from itertools import islice
from typing import TypeVar

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from engine.broker.process.core import Core
from engine.broker.process.tasks import Tasks
from engine.broker.quotas.handlers_gate import QuotaGate
from engine.broker.stats.traffic import Count
from engine.net.server import Server
from engine.net.shares import CLOSED, CLOSED_TEXT, closings, share_gauges
from engine.net.tls import NOT_AFTER_HELP, NOT_AFTER_METRIC

MAX_SERIES = 2_000
"""Of each kind."""
PIECE = 250
"""Series that are read in one turn of the loop: a millisecond or two. The port puts pieces together."""

_K = TypeVar("_K")
_Row = tuple[list[str], int]
_Family = CounterMetricFamily | GaugeMetricFamily


class BrokerCollector(Collector):
    def __init__(
        self, labels: Mapping[str, str], core: Core, tasks: Tasks, server: Server, quotas: QuotaGate
    ) -> None:
        self._names = list(labels)
        self._values = list(labels.values())
        self._core = core
        self._figures = core.figures
        self._tasks = tasks
        self._server = server
        self._gate = quotas

    def collect(self) -> Iterator[Metric]:
        yield from self._messages()
        yield from self._groups()
        for name, text, value in (*self._loads(), *self._storage()):
            yield self._gauge(name, text, value)
        for name, text, label, counts in self._totals():
            rows = (([key] if label else [], count) for key, count in counts)
            yield from self._counter(name, text, [label] if label else [], rows)

    def _messages(self) -> Iterator[Metric]:
        traffic = self._figures.traffic
        puts = _busiest(traffic.put_by_topic)
        gets = _busiest(traffic.got_by_pair)
        yield from self._counter(
            "rocketmq_messages_in", "Messages stored", ["topic"], (([t], c.messages) for t, c in puts)
        )
        yield from self._counter(
            "rocketmq_throughput_in", "Bytes stored", ["topic"], (([t], c.size_bytes) for t, c in puts)
        )
        pair = ["topic", "consumer_group"]
        yield from self._counter(
            "rocketmq_messages_out", "Messages pulled", pair, (([t, g], c.messages) for (t, g), c in gets)
        )
        yield from self._counter(
            "rocketmq_throughput_out", "Bytes pulled", pair, (([t, g], c.size_bytes) for (t, g), c in gets)
        )
        dropped = len(traffic.put_by_topic) + len(traffic.got_by_pair) - len(puts) - len(gets)
        yield self._gauge("signalbox_metrics_series_dropped", "Topics and pairs left out", dropped)

    def _groups(self) -> Iterator[Metric]:
        lags = islice(self._figures.progress.lags(), MAX_SERIES)
        yield from self._gauges(
            "rocketmq_consumer_lag_messages",
            "Messages not consumed yet",
            ["consumer_group", "topic"],
            (([group, topic], lag) for group, topic, lag in lags),
        )
        consumers = self._core.clients.consumers
        groups = [group for name in consumers.names() if (group := consumers.group(name)) is not None]
        yield from self._gauges(
            "rocketmq_consumer_connections",
            "Consumers online",
            ["consumer_group"],
            (([group.name], len(group.clients)) for group in groups[:MAX_SERIES]),
        )

    def _loads(self) -> Iterator[tuple[str, str, float]]:
        """Gauges of clients, memory and the process."""
        producers, connections = self._core.clients.producers, self._server.connections
        count = sum(len(producers.clients(name)) for name in producers.names())
        encrypted = sum(connection.is_encrypted for connection in connections)
        yield "rocketmq_producer_connections", "Producers online", count
        yield "signalbox_connections", "Open connections", len(connections)
        yield "signalbox_tls_connections", "Those of them that speak TLS", encrypted
        if (not_after_ms := self._core.runtime.tls.not_after_ms) is not None:
            yield NOT_AFTER_METRIC, NOT_AFTER_HELP, not_after_ms / 1000
        yield "signalbox_long_polls", "Requests parked for a message", len(self._tasks.waits.holds)
        yield from share_gauges(self._server.shares)
        yield "signalbox_loop_lag_milliseconds", "Lateness of the loop", self._figures.lag.lag_ms
        for name, value in process_memory().items():
            yield f"process_{name}_memory_bytes", f"Memory of the process, {name}", value

    def _storage(self) -> Iterator[tuple[str, str, float]]:
        """Gauges of the store."""
        store, usage = self._core.store, self._figures.disk.usage_ratio
        end, dispatched = store.log.max_offset, store.queues.dispatched_offset
        may_delete = int(store.front.rules.clean_file_forcibly_enable)
        unrepaired = self._tasks.damage.records.known_count()
        yield "rocketmq_storage_size", "Bytes of the commit log in use", end - store.log.min_offset
        yield "rocketmq_storage_flush_behind_bytes", "Bytes not on disk yet", end - store.log.flushed_offset
        yield "rocketmq_storage_dispatch_behind_bytes", "Bytes not in a queue yet", end - dispatched
        yield "rocketmq_storage_disk_ratio", "Used part of the disk, 0 to 1", usage
        yield "rocketmq_broker_permission", "2 write, 4 read", self._core.options.live.broker_permission
        yield "signalbox_store_fenced", "1 when a sync has failed", int(store.log.is_fenced)
        yield "signalbox_may_delete_unexpired", "1 when a full disk costs unexpired messages", may_delete
        yield "signalbox_damaged_records_known", "Not repaired yet", unrepaired

    def _totals(self) -> Iterator[tuple[str, str, str, Iterable[tuple[str, int]]]]:
        """Counters, each with the name of its label and its values by that label; "" for none."""
        yield CLOSED, CLOSED_TEXT, "budget", closings(self._server.shares)
        outcomes = ("held", self._gate.held), ("refused", self._gate.refused)
        yield "signalbox_over_quota_requests", "What became of them", "outcome", outcomes
        deleted = self._core.store.front.deleted_unexpired
        name, text = "signalbox_deleted_unexpired", "deleted before their time"
        yield f"{name}_segments", f"Segments {text}", "", [("", deleted.segments)]
        yield f"{name}_bytes", f"Bytes of the commit log {text}", "", [("", deleted.size_bytes)]
        records, scrub = self._tasks.damage.records, self._tasks.damage.scrub
        ends = ("skipped", records.skipped_since_start), ("repaired", records.repaired_since_start)
        text = "Damaged records that a group skipped, or that were repaired"
        yield "signalbox_damaged_records", text, "outcome", ends
        yield "signalbox_scrubbed_bytes", "Checked in the background", "", [("", scrub.byte_count)]
        yield "signalbox_scrub_rounds", "Whole logs checked", "", [("", scrub.rounds)]

    # -- families -------------------------------------------------------------------------------------------

    def _counter(self, name: str, text: str, labels: list[str], rows: Iterable[_Row]) -> Iterator[Metric]:
        return self._pieces(lambda names: CounterMetricFamily(name, text, labels=names), labels, rows)

    def _gauges(self, name: str, text: str, labels: list[str], rows: Iterable[_Row]) -> Iterator[Metric]:
        return self._pieces(lambda names: GaugeMetricFamily(name, text, labels=names), labels, rows)

    def _pieces(
        self, make: Callable[[list[str]], _Family], labels: list[str], rows: Iterable[_Row]
    ) -> Iterator[Metric]:
        """One family, a piece at a time, each read when it is asked for; at least one."""
        left = iter(rows)
        while True:
            family = make([*self._names, *labels])
            for values, value in islice(left, PIECE):
                family.add_metric([*self._values, *values], value)
            yield family
            if len(family.samples) < PIECE:
                return

    def _gauge(self, name: str, text: str, value: float) -> GaugeMetricFamily:
        family = GaugeMetricFamily(name, text, labels=self._names)
        family.add_metric(self._values, value)
        return family


def _busiest(counts: Mapping[_K, Count]) -> list[tuple[_K, Count]]:
    if len(counts) <= MAX_SERIES:
        return list(counts.items())
    return nlargest(MAX_SERIES, counts.items(), key=lambda item: item[1].messages)


def process_memory() -> dict[str, int]:
    """Resident and anonymous-ish (resident minus file pages) memory, from /proc; empty elsewhere."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            resident, shared = (int(number) for number in file.read().split()[1:3])
    except (OSError, ValueError):
        return {}
    page = os.sysconf("SC_PAGE_SIZE")
    return {"resident": resident * page, "anonymous": (resident - shared) * page}


def broker_registry(core: Core, tasks: Tasks, server: Server, quotas: QuotaGate) -> CollectorRegistry:
    who = core.identity
    labels = {"cluster": who.cluster, "node_type": "broker", "node_id": who.address, "broker": who.name}
    registry = CollectorRegistry(auto_describe=False)
    registry.register(BrokerCollector(labels, core, tasks, server, quotas))
    return registry
