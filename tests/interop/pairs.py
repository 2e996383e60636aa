"""A name server with two brokers, as Apache's own suites have several: topics spread over both.

Each scenario takes a topic of its own, made on both brokers with as many queues each as Apache's suites use.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .clusters import BROKER_NAME, Cluster, running
from .received import wait_until
from .remoting import call, create_topic

GET_ROUTE = 105
SECOND_NAME = "interop-b"
BROKER_NAMES = (BROKER_NAME, SECOND_NAME)
QUEUES = 4
"""Of each broker."""
ALL_QUEUES = tuple((name, queue) for name in BROKER_NAMES for queue in range(QUEUES))


@dataclass(frozen=True, slots=True)
class Pair:
    first: Cluster
    second: Cluster

    @property
    def name_server(self) -> str:
        return self.first.name_server

    @property
    def target(self) -> str:
        return self.first.target

    def create_topic(self, topic: str) -> str:
        """On both brokers; returns when the route names both."""
        for cluster in (self.first, self.second):
            create_topic(cluster.broker, topic, QUEUES)
        wait_until(lambda: routed_to(self.name_server, topic) == set(BROKER_NAMES))
        return topic


def routed_to(name_server: str, topic: str) -> set[str]:
    """Which brokers the route of a topic names."""
    answer = call(name_server, GET_ROUTE, {"topic": topic})
    if answer.code != 0:
        return set()
    return {data["brokerName"] for data in json.loads(answer.body)["queueDatas"]}


@contextmanager
def running_pair(target: str, home: Path, overrides: Mapping[str, str] | None = None) -> Iterator[Pair]:
    with running(target, home / "a", overrides) as first:
        own = {**(overrides or {}), "brokerName": SECOND_NAME}
        second = Cluster(target, home / "b", own, name_server_port=first.name_server_port)
        second.home.mkdir(parents=True)
        try:
            second.start_broker()
            yield Pair(first, second)
            if target == "signalbox":
                assert second.stop_broker() == 0, "the second broker did not stop cleanly"
        finally:
            second.kill()
