"""The metrics port lets others run while it collects."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from engine.daemon.metrics_port import MetricsPort


class Watched(Collector):
    """Says at which turn of another task each family was taken."""

    def __init__(self) -> None:
        self.turn = 0

    async def count_turns(self) -> None:
        while True:
            self.turn += 1
            await asyncio.sleep(0)

    def collect(self) -> Iterator[Metric]:
        for number in range(5):
            yield GaugeMetricFamily(f"family_{number}", "when it was taken", value=self.turn)


async def scrape(watched: Watched) -> str:
    registry = CollectorRegistry()
    registry.register(watched)
    port = MetricsPort(registry)
    where = await port.start("127.0.0.1", 0)
    counting = asyncio.create_task(watched.count_turns())
    reader, writer = await asyncio.open_connection("127.0.0.1", where)
    writer.write(b"GET /metrics HTTP/1.0\r\n\r\n")
    text = (await reader.read()).decode()
    counting.cancel()
    writer.close()
    await port.stop()
    return text


class InPieces(Watched):
    def collect(self) -> Iterator[Metric]:
        for number in range(5):
            piece = GaugeMetricFamily("family", "when its pieces were taken", labels=["number"])
            piece.add_metric([str(number)], self.turn)
            yield piece


async def test_the_pieces_of_a_family_are_taken_in_turns_and_shown_as_one() -> None:
    lines = (await scrape(InPieces())).splitlines()
    assert sum(line.startswith("# TYPE family ") for line in lines) == 1
    samples = dict(line.split() for line in lines if line.startswith("family{"))
    assert list(samples) == [f'family{{number="{number}"}}' for number in range(5)]
    assert len(set(samples.values())) == 5


async def test_one_family_is_taken_per_turn_of_the_loop() -> None:
    text = await scrape(Watched())
    turns = [float(line.split()[1]) for line in text.splitlines() if line.startswith("family_")]
    assert len(set(turns)) == 5
