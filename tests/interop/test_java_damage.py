"""A damaged byte of the commit log under the official Java clients: every other message is delivered."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.protocol.message_ids import parse_offset_msg_id

from .clusters import Cluster, running
from .damaged_log import damage
from .jars import CLIENT_VERSIONS
from .java_client import JavaClient
from .received import bodies, numbered
from .remoting import create_topic

pytestmark = pytest.mark.needs_maven
TOPIC, COUNT, VICTIM = "damaged", 60, 25
OTHERS = sorted(set(numbered("m", COUNT)) - {f"m-{VICTIM}"})


@pytest.fixture(scope="module", params=CLIENT_VERSIONS)
def damaged(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Cluster, JavaClient]]:
    """A stopped broker's old segment got one wrong bit in the body of a message."""
    home = tmp_path_factory.mktemp("damage")
    with running("signalbox", home / "cluster") as cluster:
        java = JavaClient(request.param, cluster.name_server, home / "client")
        try:
            create_topic(cluster.broker, TOPIC, queues=1)
            results = java.do("send-sync", topic=TOPIC, count=COUNT, prefix="m")
            damage(cluster, parse_offset_msg_id(results[VICTIM]["offsetMsgId"])[1])
            yield cluster, java
        finally:
            java.close()


@pytest.mark.parametrize("listener", ["concurrent", "orderly"])
def test_push_consumers_go_on_behind_it(damaged: tuple[Cluster, JavaClient], listener: str) -> None:
    _, java = damaged
    java.do("push-start", name=listener, group=f"push-{listener}", topic=TOPIC, listener=listener)
    assert bodies(java.do("push-wait", name=listener, count=COUNT - 1)) == OTHERS
    java.do("push-stop", name=listener)


def test_lite_pull_consumers_go_on_behind_it(damaged: tuple[Cluster, JavaClient]) -> None:
    _, java = damaged
    java.do("lite-assign", name="lite", group="lite", topic=TOPIC)
    java.do("lite-seek", name="lite", topic=TOPIC, offset=0)
    assert bodies(java.do("lite-poll", name="lite", count=COUNT - 1)) == OTHERS
    java.do("lite-stop", name="lite")


def test_pop_consumers_go_on_behind_it(damaged: tuple[Cluster, JavaClient]) -> None:
    _, java = damaged
    if java.version != "5":
        return  # 4.9 does not pop
    java.do("pop-start", name="pop", group="pop", topic=TOPIC)
    assert bodies(java.do("pop-wait", name="pop", count=COUNT - 1)) == OTHERS
    java.do("pop-stop", name="pop")


def test_the_broker_says_which_groups_skipped_it(damaged: tuple[Cluster, JavaClient]) -> None:
    cluster, java = damaged
    java.do("push-start", name="told", group="told", topic=TOPIC, listener="concurrent")
    java.do("push-wait", name="told", count=COUNT - 1)
    java.do("push-stop", name="told")
    line = "group told skips the damaged record at commit-log offset"
    logs = list((cluster.store.parent / "logs").glob("*/broker.log"))
    assert any(line in path.read_text() for path in logs)
