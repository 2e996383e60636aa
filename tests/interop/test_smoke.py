"""The few scenarios that every change runs: the 5.x client, also with credentials; mqadmin looks around."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from .clusters import BROKER_NAME, CLUSTER_NAME, Cluster
from .guarded import STRANGER, WORKER, running_guarded, signed
from .java_client import JavaClient, JavaError
from .mqadmin import AdminShell
from .received import bodies, numbered

pytestmark = [pytest.mark.needs_maven, pytest.mark.interop_smoke]


def test_java_sends_and_receives(java_5: JavaClient, fresh: Callable[[str], str]) -> None:
    topic, pusher, poller = fresh("smoke"), fresh("pusher"), fresh("poller")
    java_5.do("send-sync", topic=topic, count=8, prefix="single")
    java_5.do("push-start", name=pusher, topic=topic, group=fresh("group"))
    java_5.do("send-batch", topic=topic, count=8, prefix="batch")
    java_5.do("lite-subscribe", name=poller, topic=topic, group=fresh("group"))
    everything = sorted(numbered("single", 8) + numbered("batch", 8))
    assert bodies(java_5.do("push-wait", name=pusher, count=16, timeoutMs=60_000)) == everything
    assert bodies(java_5.do("lite-poll", name=poller, count=16, timeoutMs=60_000)) == everything
    java_5.do("push-stop", name=pusher)
    java_5.do("lite-stop", name=poller)


def test_java_with_credentials(java_5: JavaClient, tmp_path: Path, fresh: Callable[[str], str]) -> None:
    topic = fresh("a-topic")
    with running_guarded(tmp_path) as guarded:
        there = {"nameServer": guarded.name_server, "topic": topic}
        assert java_5.do("acl-send", body="mine", **there, **signed(WORKER)) == "SEND_OK"
        assert java_5.do("acl-pull", group=fresh("a-group"), **there, **signed(WORKER)) == "mine"
        with pytest.raises(JavaError, match="CODE: 16"):
            java_5.do("acl-pull", group=fresh("b-group"), **there, **signed(STRANGER))


@pytest.mark.parametrize("mqadmin", ["5"], indirect=True)
def test_mqadmin_sees_the_cluster(mqadmin: AdminShell, cluster: Cluster) -> None:
    assert f"{CLUSTER_NAME} " in (shown := mqadmin.run("clusterList")) and cluster.broker in shown
    routed = mqadmin.run("topicRoute", "-t", "TBW102")
    assert BROKER_NAME in routed and cluster.broker in routed
