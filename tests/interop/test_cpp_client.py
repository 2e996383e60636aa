"""Apache's C++ client (inside the Python package ``rocketmq``): sends, push and orderly push, pull.

It signs with an empty key, puts numbers and "0" for "false" into its headers, and enums as integers.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .clusters import Cluster
from .java_client import JavaClient
from .received import bodies, body, numbered, read_all
from .remoting import create_topic

HERE = Path(__file__).parent / "cpp"
LIBRARY = HERE.parents[2] / "build" / "cpp-client"
"""Outside of the tests, which are searched for Python that is ours."""
COUNT = 10
KINDS = ("sync", "large", "orderly", "oneway", "async")
RUN_TIMEOUT_S = 150
Event = dict[str, Any]
Fresh = Callable[[str], str]


@pytest.fixture(scope="session", autouse=True)
def library() -> None:
    if not (LIBRARY / "rocketmq" / "librocketmq.so").exists():
        installer = [str(Path(sys.executable).with_name("uv")), "pip", "install", "--target", str(LIBRARY)]
        done = subprocess.run(
            [*installer, "--require-hashes", "--no-deps", "-r", str(HERE / "requirements.txt")],
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stdout + done.stderr


def run(cluster: Cluster, home: Path, errand: str, topic: str, group: str, *words: str) -> list[Event]:
    """Does one errand and tells its events; its logs go into a home of its own."""
    command = [sys.executable, str(HERE / "interop.py"), errand, cluster.name_server, topic, group]
    done = subprocess.run(
        [*command, *words],
        env={**os.environ, "HOME": str(home), "PYTHONPATH": str(LIBRARY)},
        cwd=home,
        capture_output=True,
        text=True,
        timeout=RUN_TIMEOUT_S,
    )
    events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert done.returncode == 0 and events[-1]["event"] == "done", done.stdout + done.stderr
    return events[:-1]


@pytest.fixture
def client(cluster: Cluster, tmp_path: Path) -> Callable[..., list[Event]]:
    def errand(name: str, topic: str, group: str, count: int, *words: str) -> list[Event]:
        return run(cluster, tmp_path, name, topic, group, str(count), *words)

    return errand


def everything(count: int = COUNT) -> list[str]:
    return sorted(text for kind in KINDS for text in numbered(kind, count))


def test_everything_that_it_sends_is_stored(
    client: Callable[..., list[Event]], java_5: JavaClient, cluster: Cluster, fresh: Fresh
) -> None:
    topic = fresh("cpp")
    create_topic(cluster.broker, topic)
    sent = client("send", topic, fresh("cpp-producers"), COUNT)
    assert {event["status"] for event in sent} == {"OK"}
    stored = read_all(java_5, topic, len(KINDS) * COUNT)
    assert sorted(text.rstrip(".") for text in bodies(stored)) == everything()
    places = {message["msgId"]: message["queueOffset"] for message in stored}
    assert len(sent) == (len(KINDS) - 1) * COUNT
    assert all(places[event["msgId"]] == event["queueOffset"] for event in sent)
    orderly = [message for message in stored if message["properties"]["TAGS"] == "orderly"]
    assert [body(message) for message in orderly] == [f"orderly-{n}" for n in range(COUNT)]
    assert {message["queueId"] for message in orderly} == {2}
    assert {message["properties"]["KEYS"] for message in stored} == {f"key-{text}" for text in everything()}


def test_it_may_send_to_a_topic_that_is_not_there_yet(
    client: Callable[..., list[Event]], java_5: JavaClient, fresh: Fresh
) -> None:
    topic = fresh("cpp-new")
    client("send", topic, fresh("cpp-producers"), 2)
    assert sorted(text.rstrip(".") for text in bodies(read_all(java_5, topic, 10))) == everything(2)


def test_its_batch_is_one_message_as_on_apache(
    client: Callable[..., list[Event]], java_5: JavaClient, fresh: Fresh
) -> None:
    """This old client marks a batch by "1"; RocketMQ knows only "true" and stores the bytes as they come."""
    topic = fresh("cpp-batch")
    (sent,) = client("batch", topic, fresh("cpp-producers"), COUNT)
    (stored,) = read_all(java_5, topic, 1)
    assert (sent["status"], sent["queueOffset"]) == ("OK", stored["queueOffset"])
    assert all(f"batch-{n}" in body(stored) for n in range(COUNT))


@pytest.mark.parametrize("listener", ["concurrent", "orderly"])
def test_it_consumes_what_it_and_java_sent(
    client: Callable[..., list[Event]], java_5: JavaClient, fresh: Fresh, listener: str
) -> None:
    topic, group = fresh("cpp-push"), fresh("cpp-group")
    java_5.do("send-sync", topic=topic, count=COUNT, tag="java", prefix="java")
    client("send", topic, fresh("cpp-producers"), COUNT)
    expected = sorted([*everything(), *numbered("java", COUNT)])
    received = client("push", topic, group, len(expected), listener)
    assert sorted(event["body"] for event in received) == expected
    assert all(event["key"] == f"key-{event['body']}" for event in received)
    assert all(event["n"] == event["body"].rsplit("-", 1)[1] for event in received)
    if listener == "orderly":
        for queue in range(4):
            offsets = [event["queueOffset"] for event in received if event["queueId"] == queue]
            assert offsets == sorted(offsets)


def test_it_goes_on_where_its_group_was(
    client: Callable[..., list[Event]], java_5: JavaClient, fresh: Fresh
) -> None:
    topic, group = fresh("cpp-resume"), fresh("cpp-group")
    java_5.do("send-sync", topic=topic, count=COUNT, tag="t", prefix="old")
    assert len(client("push", topic, group, COUNT)) == COUNT
    java_5.do("send-sync", topic=topic, count=COUNT, tag="t", prefix="new")
    received = client("push", topic, group, COUNT)
    assert sorted(event["body"] for event in received) == numbered("new", COUNT)


def test_its_tag_subscription_is_obeyed(client: Callable[..., list[Event]], fresh: Fresh) -> None:
    topic = fresh("cpp-tags")
    client("send", topic, fresh("cpp-producers"), COUNT)
    received = client("push", topic, fresh("cpp-group"), 2 * COUNT, "tags=sync || async")
    assert sorted(event["body"] for event in received) == sorted(
        numbered("sync", COUNT) + numbered("async", COUNT)
    )


def test_what_it_refuses_comes_again_later(
    client: Callable[..., list[Event]], java_5: JavaClient, fresh: Fresh
) -> None:
    topic = fresh("cpp-retry")
    java_5.do("send-sync", topic=topic, count=2, tag="t")
    received = client("push", topic, fresh("cpp-group"), 2, "fail-first")
    again = [event for event in received if event["reconsumeTimes"] > 0]
    assert sorted(event["body"] for event in again) == numbered("body", 2)
    assert len(received) == 4


def test_it_pulls_the_whole_topic(
    client: Callable[..., list[Event]], java_5: JavaClient, fresh: Fresh
) -> None:
    topic = fresh("cpp-pull")
    java_5.do("send-sync", topic=topic, count=40, tag="t")
    received = client("pull", topic, fresh("cpp-group"), 0)
    assert sorted(event["body"] for event in received) == numbered("body", 40)
