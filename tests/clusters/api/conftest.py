"""What tests of topics, groups and offsets share: real topics with messages, real members."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from rest_framework.test import APIClient

from clusters.models import Cluster
from engine.client import ConsumeFromWhere, ConsumerOptions, Message, MessageQueue, blocking
from engine.protocol.bodies.groups import SubscriptionGroupConfig
from engine.protocol.bodies.topics import TopicConfig
from tests.engine.client.servers import Cluster as EngineCluster

HERE = "/api/v1/clusters/attached/"
FIRST = ConsumerOptions(from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET, threads=2)


@pytest.fixture
def admin(engine: EngineCluster) -> Iterator[blocking.Admin]:
    with blocking.Admin(namesrv=engine.namesrv) as admin:
        yield admin


@pytest.fixture
def made(admin: blocking.Admin, engine: EngineCluster, fresh: Callable[[str], str]) -> Callable[..., str]:
    """A topic with so many messages on each of its queues, made as an application would."""

    def make(messages: int = 0, queues: int = 2) -> str:
        topic = fresh("topic")
        admin.topics.create(engine.broker, TopicConfig(topic, queues, queues))
        with blocking.Producer("maker", namesrv=engine.namesrv) as producer:
            for number in range(messages):
                for queue in range(queues):
                    place = MessageQueue(topic, engine.broker_name, queue)
                    producer.send(Message(topic, b"%d" % number), queue=place)
        return topic

    return make


@pytest.fixture
def group(admin: blocking.Admin, engine: EngineCluster, fresh: Callable[[str], str]) -> str:
    name = fresh("group")
    admin.groups.create(engine.broker, SubscriptionGroupConfig(name))
    return name


@pytest.fixture
def member(engine: EngineCluster) -> Iterator[Callable[..., list[Any]]]:
    """A consumer that is online until the test ends; what it has got."""
    running: list[blocking.PushConsumer] = []

    def start(
        group: str, topic: str, listener: Callable[[Any], Any] | None = None, expression: str = "*"
    ) -> list[Any]:
        got: list[Any] = []

        def listen(message: Any) -> None:
            got.append(message)
            if listener is not None:
                listener(message)

        consumer = blocking.PushConsumer(group, listen, namesrv=engine.namesrv, options=FIRST)
        consumer.subscribe(topic, expression)
        consumer.start()
        running.append(consumer)
        return got

    yield start
    for consumer in running:
        consumer.close()


@pytest.fixture
def post(api: APIClient, attached: Cluster) -> Callable[..., Any]:
    return lambda path, body=None: api.post(HERE + path, body or {}, format="json")


def until(is_true: Callable[[], Any], timeout_s: float = 20.0) -> Any:
    """What it gives once it gives something: real members and brokers take their moment."""
    deadline = time.monotonic() + timeout_s
    while not (found := is_true()):
        assert time.monotonic() < deadline, "it did not come about in time"
        time.sleep(0.02)
    return found
