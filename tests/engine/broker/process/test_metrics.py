"""Metrics as Prometheus would read them, from a real port."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families

from engine.broker.process import metrics
from engine.net.requester import Requester
from engine.net.tls import TlsOptions
from engine.protocol.codes import ResponseCode
from tests.certificates import Authority
from tests.engine.broker.conftest import StartBroker
from tests.engine.broker.peers import Peer, RunningBroker, eventually

Labels = frozenset[tuple[str, str]]


async def scrape(broker: RunningBroker) -> dict[tuple[str, Labels], float]:
    assert broker.inner.net.metrics.port is not None
    reader, writer = await asyncio.open_connection("127.0.0.1", broker.inner.net.metrics.port)
    writer.write(b"GET /metrics HTTP/1.0\r\n\r\n")
    text = (await reader.read()).split(b"\r\n\r\n", 1)[1].decode()
    writer.close()
    ours = {"cluster", "node_type", "node_id", "broker"}
    return {
        (sample.name, frozenset(item for item in sample.labels.items() if item[0] not in ours)): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def labels(**values: str) -> Labels:
    return frozenset(values.items())


async def test_traffic_and_lag_are_exported(start_broker: StartBroker) -> None:
    broker = await start_broker(metricsExporterType="PROM", metricsPromExporterPort="0")
    peer = Peer(broker.address)
    await peer.heartbeat("billing", "orders")
    await peer.send_batch("orders", [b"x"] * 5)
    await eventually(lambda: broker.inner.core.store.queues.max_offset("orders", 0) == 5)
    await peer.pull("orders", 0, consumer_group="billing", max_msg_nums=3)
    broker.inner.core.tables.offsets.commit("orders", "billing", 0, 3)
    found = await scrape(broker)
    await peer.close()

    assert found["rocketmq_messages_in_total", labels(topic="orders")] == 5
    assert found["rocketmq_throughput_in_total", labels(topic="orders")] > 5 * 91
    pair = labels(topic="orders", consumer_group="billing")
    assert found["rocketmq_messages_out_total", pair] == 3
    assert found["rocketmq_throughput_out_total", pair] > 3 * 91
    assert found["rocketmq_consumer_lag_messages", pair] == 2
    assert found["rocketmq_consumer_connections", labels(consumer_group="billing")] == 1
    assert found["rocketmq_producer_connections", labels()] == 1
    assert found["rocketmq_broker_permission", labels()] == 6
    assert found["rocketmq_storage_size", labels()] > 0
    assert found["rocketmq_storage_flush_behind_bytes", labels()] >= 0
    assert found["rocketmq_storage_dispatch_behind_bytes", labels()] == 0
    assert found["signalbox_connections", labels()] == 1
    assert found["process_resident_memory_bytes", labels()] > 1 << 20


async def test_there_is_no_port_unless_asked_for(broker: RunningBroker) -> None:
    assert broker.inner.net.metrics.port is None


async def test_the_number_of_series_is_bounded_and_the_busiest_stay(
    start_broker: StartBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metrics, "MAX_SERIES", 2)
    broker = await start_broker(metricsExporterType="PROM", metricsPromExporterPort="0")
    for number in range(5):
        broker.inner.core.figures.traffic.put(f"topic-{number}", number, 1)
    found = await scrape(broker)
    shown = {key[1] for key in found if key[0] == "rocketmq_messages_in_total"}
    assert shown == {labels(topic="topic-4"), labels(topic="topic-3")}
    assert found["signalbox_metrics_series_dropped", labels()] == 3


async def test_quotas_and_tls_are_exported(start_broker: StartBroker, tmp_path: Path) -> None:
    authority = Authority(tmp_path / "ca")
    issued = authority.issue("server")
    broker = await start_broker(
        metricsExporterType="PROM",
        metricsPromExporterPort="0",
        signalboxTopicRequestsPerSecond="5",
        **{"tls.server.certPath": issued.cert, "tls.server.keyPath": issued.key},
    )
    peer = Peer(broker.address)
    secret = Requester(lambda request, client: None, tls=TlsOptions(authority.ca))
    await secret.connect(broker.address)
    answers = await asyncio.gather(*(peer.send("orders") for _ in range(30)))
    refused = sum(answer.code == ResponseCode.SYSTEM_BUSY for answer in answers)
    shown = await scrape(broker)
    assert 0 < refused < 25
    assert shown["signalbox_over_quota_requests_total", labels(outcome="refused")] == refused
    assert shown["signalbox_over_quota_requests_total", labels(outcome="held")] == 30 - 5 - refused
    assert shown["signalbox_connections", labels()] == 2
    assert shown["signalbox_tls_connections", labels()] == 1
    await peer.close()
    await secret.close()


async def test_no_piece_of_a_family_is_long_and_none_of_it_is_missing(
    start_broker: StartBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    pieces: list[int] = []
    real = metrics.BrokerCollector.collect

    def noting(self: metrics.BrokerCollector) -> Iterator[Metric]:
        for piece in real(self):
            pieces.append(len(piece.samples))
            yield piece

    monkeypatch.setattr(metrics.BrokerCollector, "collect", noting)
    broker = await start_broker(metricsExporterType="PROM", metricsPromExporterPort="0")
    topics = {f"topic-{number}" for number in range(2 * metrics.PIECE)}
    for topic in topics:
        broker.inner.core.figures.traffic.put(topic, 1, 1)
    found = await scrape(broker)
    shown = {dict(key[1])["topic"] for key in found if key[0] == "rocketmq_messages_in_total"}
    assert shown == topics
    assert max(pieces) == metrics.PIECE
