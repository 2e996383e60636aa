"""Apache's C++ client, by the library inside the Python package ``rocketmq``: one errand, told line by line.

    python interop.py send     <name server> <topic> <group> <count>
    python interop.py push     <name server> <topic> <group> <count> [orderly] [fail-first] [expression]
    python interop.py batch    <name server> <topic> <group> <count>
    python interop.py pull     <name server> <topic> <group> <count>

A process of its own, because the library has its own threads and whatever it does must not end the tests. It
is left by ``_exit`` after a clean shutdown: its static destructors are not safe under Python.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import Any

from rocketmq.client import Message, Producer, PullConsumer, PushConsumer

RECEIVE_TIMEOUT_S = 60
QUIET_S = 0.5
_PRINTING = threading.Lock()


def tell(event: str, **details: object) -> None:
    with _PRINTING:
        print(json.dumps({"event": event, **details}), flush=True)


def made(topic: str, kind: str, number: int) -> Any:
    message = Message(topic)
    message.set_keys(f"key-{kind}-{number}")
    message.set_tags(kind)
    message.set_property("n", str(number))
    message.set_body(f"{kind}-{number}" if kind != "large" else f"{kind}-{number}".ljust(50_000, "."))
    return message


def started(name_server: str, group: str) -> Any:
    producer = Producer(group, timeout=10_000)
    producer.set_namesrv_addr(name_server)
    producer.start()
    return producer


def batch(name_server: str, topic: str, group: str, count: int) -> None:
    producer = started(name_server, group)
    told("batch", producer.send_batch([made(topic, "batch", number) for number in range(count)]))
    producer.shutdown()


def send(name_server: str, topic: str, group: str, count: int) -> None:
    producer = started(name_server, group)
    for kind in ("sync", "large"):
        for number in range(count):
            told(kind, producer.send_sync(made(topic, kind, number)))
    for number in range(count):
        told("orderly", producer.send_orderly(made(topic, "orderly", number), 2))
        producer.send_oneway(made(topic, "oneway", number))
    send_async(producer, [made(topic, "async", number) for number in range(count)])
    producer.shutdown()


def send_async(producer: Any, messages: list[Any]) -> None:
    left = threading.Semaphore(0)

    def succeeded(result: Any) -> None:
        told("async", result)
        left.release()

    def failed(error: Exception) -> None:
        tell("failed", kind="async", error=str(error))
        left.release()

    for message in messages:
        producer.send_async(message, succeeded, failed)
    for _ in messages:
        assert left.acquire(timeout=RECEIVE_TIMEOUT_S)


def told(kind: str, result: Any) -> None:
    tell("sent", kind=kind, status=result.status.name, msgId=result.msg_id, queueOffset=result.offset)


def got(message: Any) -> None:
    tell(
        "received",
        body=message.body.decode().rstrip("."),
        tag=message.tags.decode(),
        key=message.keys.decode(),
        n=message.get_property("n").decode(),
        msgId=message.id,
        queueId=message.queue_id,
        queueOffset=message.queue_offset,
        reconsumeTimes=message.reconsume_times,
    )


def push(name_server: str, topic: str, group: str, count: int, *words: str) -> None:
    arrived = threading.Semaphore(0)
    refused: set[str] = set()

    def listen(message: Any) -> None:
        got(message)
        if "fail-first" in words and message.id not in refused:
            refused.add(message.id)
            raise ValueError("later")
        arrived.release()

    expression = next((word.split("=", 1)[1] for word in words if word.startswith("tags=")), "*")
    consumer = PushConsumer(group, orderly="orderly" in words)
    consumer.set_namesrv_addr(name_server)
    consumer.set_instance_name(group)
    consumer.subscribe(topic, listen, expression)
    consumer.start()
    deadline = time.monotonic() + RECEIVE_TIMEOUT_S
    for _ in range(count):
        if not arrived.acquire(timeout=max(0.0, deadline - time.monotonic())):
            break
    time.sleep(QUIET_S)
    consumer.shutdown()


def pull(name_server: str, topic: str, group: str, count: int) -> None:
    consumer = PullConsumer(group)
    consumer.set_namesrv_addr(name_server)
    consumer.start()
    for message in consumer.pull(topic):
        got(message)
    consumer.shutdown()


if __name__ == "__main__":
    errand = {"send": send, "batch": batch, "push": push, "pull": pull}[sys.argv[1]]
    errand(*sys.argv[2:5], int(sys.argv[5]), *sys.argv[6:])
    tell("done")
    os._exit(0)
