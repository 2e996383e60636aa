"""The client without await."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

import pytest

from engine.client import Message, ReceivedMessage, SendStatus, blocking
from engine.errors import BadInput
from engine.protocol.bodies.topics import TopicConfig
from tests.engine.client.servers import Cluster

Fresh = Callable[[str], str]


def test_send_receive_and_administer_without_a_loop(cluster: Cluster, fresh: Fresh) -> None:
    topic = fresh("blocking")
    arrived: queue.Queue[ReceivedMessage] = queue.Queue()
    with (
        blocking.Admin(namesrv=cluster.namesrv) as admin,
        blocking.Producer("shop", namesrv=cluster.namesrv) as producer,
    ):
        admin.topics.create(cluster.broker, TopicConfig(topic, 2, 2))
        consumer = blocking.PushConsumer(fresh("group"), arrived.put, namesrv=cluster.namesrv)
        consumer.subscribe(topic)
        assert producer.send(Message(topic, b"one")).status is SendStatus.SEND_OK
        with consumer:
            assert arrived.get(timeout=30).body == b"one"
            futures = [producer.send_async(Message(topic, b"more")) for _ in range(50)]
            assert all(future.result(10).status is SendStatus.SEND_OK for future in futures)
            assert [arrived.get(timeout=30).body for _ in range(50)] == [b"more"] * 50
            assert len(consumer.assignment()) >= 2
        assert sum(o.max_offset for o in admin.topics.stats(topic).offset_table.values()) == 51


def test_lite_pull_without_a_loop(cluster: Cluster, fresh: Fresh) -> None:
    topic = fresh("blocking")
    with blocking.Producer("shop", namesrv=cluster.namesrv) as producer:
        results = producer.send_batch([Message(topic, b"a"), Message(topic, b"b")])
    with blocking.LitePullConsumer(fresh("group"), namesrv=cluster.namesrv) as consumer:
        consumer.assign([results[0].queue])
        consumer.seek_to_begin(results[0].queue)
        assert [message.body for message in consumer.poll(timeout_ms=10_000)] == [b"a", b"b"]
        consumer.commit()
        assert consumer.committed(results[0].queue) == 2


def test_clients_may_share_a_loop_and_threads_a_client(cluster: Cluster, fresh: Fresh) -> None:
    topic, loop = fresh("blocking"), blocking.LoopThread()
    with blocking.Producer("shop", namesrv=cluster.namesrv, loop=loop) as producer:
        threads = [threading.Thread(target=producer.send, args=(Message(topic, b"x"),)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with blocking.Admin(namesrv=cluster.namesrv, loop=loop) as admin:
            assert sum(o.max_offset for o in admin.topics.stats(topic).offset_table.values()) == 8
    loop.close()


def test_a_closed_client_says_so(cluster: Cluster) -> None:
    producer = blocking.Producer("shop", namesrv=cluster.namesrv)
    with producer:
        pass
    with pytest.raises(BadInput, match="closed"):
        producer.send(Message("t", b"x"))
