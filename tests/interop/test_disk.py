"""Stores change hands: one make of broker writes, another opens the same directory, and nothing may differ.

Ports stay the same, so for clients (and for ids, which hold the broker's address) a handover is a restart.
Commit-log files are small here, so that the log spans several of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from .clusters import APACHE_TARGETS, Cluster, chosen_targets
from .java_client import JavaClient
from .received import bodies, numbered, read_all

pytestmark = pytest.mark.needs_maven

SEGMENT_BYTES = 1024 * 1024
SMALL_FILES = {"mappedFileSizeCommitLog": str(SEGMENT_BYTES), "maxMessageSize": str(SEGMENT_BYTES // 2)}
TOPICS = ("disk-plain", "disk-batch", "disk-large", "disk-shard")
# What write() leaves in each topic, after one call and after two.
ONCE = [40, 360, 5, 7]
TWICE = [2 * count for count in ONCE]
GROUP = "disk-group"
HANDOVERS = [
    pair
    for subject in chosen_targets()
    for peer in APACHE_TARGETS
    if peer != subject
    for pair in ((peer, subject), (subject, peer))
]
Contents = dict[str, list[dict[str, Any]]]


@pytest.fixture(params=HANDOVERS, ids=lambda pair: f"{pair[0]}-to-{pair[1]}")
def handover(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Cluster, str, JavaClient]]:
    """A started cluster of the first make, the name of the second, and a client."""
    first, second = request.param
    cluster = Cluster(first, tmp_path / "cluster", SMALL_FILES)
    try:
        cluster.start()
        client = JavaClient("5", cluster.name_server, tmp_path / "client")
        yield cluster, second, client
        client.close()
    finally:
        cluster.kill()


def write(java: JavaClient, stage: str) -> None:
    """Tags, keys, batches over several files, compressed bodies, chosen queues."""
    for tag in ("red", "blue"):
        java.do("send-sync", topic="disk-plain", count=20, tag=tag, prefix=f"{stage}-{tag}")
    for number in range(12):
        java.do("send-batch", topic="disk-batch", count=30, size=3_000, prefix=f"{stage}-{number}")
    java.do("send-sync", topic="disk-large", count=5, size=100_000, prefix=stage)
    java.do("send-selector", topic="disk-shard", count=7, shard=2, prefix=stage)


def read(java: JavaClient, counts: Sequence[int]) -> Contents:
    """Every message with every field that a client can see, less the thread that looked."""
    contents = {topic: read_all(java, topic, count) for topic, count in zip(TOPICS, counts, strict=True)}
    for message in (message for messages in contents.values() for message in messages):
        del message["thread"]
    return contents


def drain(java: JavaClient, count: int) -> list[str]:
    """What the group, starting where it left off, is given."""
    java.do("push-start", name="disk-consumer", topic="disk-plain", group=GROUP)
    try:
        return bodies(java.do("push-wait", name="disk-consumer", count=count, timeoutMs=60_000))
    finally:
        java.do("push-stop", name="disk-consumer")


def is_prefix_of(before: Contents, after: Contents) -> bool:
    """Whether every message of before is in after, unchanged but for the queue's end that a pull reports."""
    for topic, messages in before.items():
        later = {message["offsetMsgId"]: message for message in after[topic]}
        for message in messages:
            found = later[message["offsetMsgId"]]
            end = {"MAX_OFFSET": message["properties"]["MAX_OFFSET"]}
            if {**found, "properties": {**found["properties"], **end}} != message:
                return False
    return True


def test_store_opens_message_for_message_and_goes_back(handover: tuple[Cluster, str, JavaClient]) -> None:
    cluster, second, java = handover
    first = cluster.target
    write(java, "one")
    assert len(drain(java, 40)) == 40
    before = read(java, ONCE)
    assert [len(before[topic]) for topic in TOPICS] == ONCE
    assert max(m["commitLogOffset"] for messages in before.values() for m in messages) > SEGMENT_BYTES
    assert cluster.stop() in (0, 143)

    cluster.become(second)
    assert read(java, ONCE) == before
    wanted = before["disk-plain"][7]
    (by_key,) = java.do("read-key", topic="disk-plain", key=wanted["properties"]["KEYS"])
    assert by_key["offsetMsgId"] == wanted["offsetMsgId"]
    by_id = java.do("read-id", topic="disk-large", msgId=before["disk-large"][3]["msgId"])
    assert by_id["body"] == before["disk-large"][3]["body"]
    write(java, "two")
    assert drain(java, 40) == sorted(numbered("two-red", 20) + numbered("two-blue", 20))
    both = read(java, TWICE)
    assert [len(both[topic]) for topic in TOPICS] == TWICE
    assert is_prefix_of(before, both)
    assert cluster.stop() in (0, 143)

    cluster.become(first)
    assert read(java, TWICE) == both
    java.do("send-sync", topic="disk-plain", count=4, prefix="three")
    assert drain(java, 4) == numbered("three", 4)


def test_store_of_a_killed_broker_opens_with_all_that_was_acknowledged(
    handover: tuple[Cluster, str, JavaClient],
) -> None:
    cluster, second, java = handover
    write(java, "one")
    before = read(java, ONCE)
    java.do("send-sync", topic="disk-plain", count=50, prefix="last")
    cluster.kill()  # what was acknowledged is in the page cache, which outlives the process
    assert (cluster.store / "abort").exists()

    cluster.become(second)
    after = read(java, [90, *ONCE[1:]])
    assert is_prefix_of(before, after)
    assert bodies(after["disk-plain"]) == sorted(bodies(before["disk-plain"]) + numbered("last", 50))
    write(java, "two")
    assert is_prefix_of(after, read(java, [130, *TWICE[1:]]))
