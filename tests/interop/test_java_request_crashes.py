"""Requests to a queue and by a selector, and with an asker or an answerer that is killed.

Apache's test module has no scenario of request and reply; these are the ways of its client's interface.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from .clusters import BROKER_NAME, Cluster
from .java_client import JavaClient, JavaError
from .received import body, read_all, wait_until

pytestmark = pytest.mark.needs_maven
Fresh = Callable[[str], str]
LONG_MS = 90_000


@pytest.fixture
def doomed(
    cluster: Cluster, java: JavaClient, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[JavaClient]:
    """A second JVM of the same version, to be killed."""
    client = JavaClient(java.version, cluster.name_server, tmp_path_factory.mktemp("doomed"))
    yield client
    client.kill()


@pytest.mark.parametrize("by", ["queue", "selector"])
def test_a_request_goes_to_its_queue_and_is_answered(java: JavaClient, fresh: Fresh, by: str) -> None:
    topic, name, asker = fresh("questions"), fresh("answerer"), fresh("askers")
    java.do("send-sync", topic=topic, prefix="first")
    java.do("ask-answer", name=name, group=fresh("answerers"), topic=topic)
    for queue in range(4):
        options = {"topic": topic, "by": by, "broker": BROKER_NAME, "queue": queue}
        assert java.do("ask-request", group=asker, body=f"q{queue}", **options) == f"q{queue}!"
    java.do("ask-stop", name=name)
    asked = [message for message in read_all(java, topic, 5) if body(message).startswith("q")]
    assert sorted((body(message), message["queueId"]) for message in asked) == [
        (f"q{n}", n) for n in range(4)
    ]


def test_an_answer_to_a_killed_asker_harms_nobody(java: JavaClient, doomed: JavaClient, fresh: Fresh) -> None:
    topic, name = fresh("questions"), fresh("answerer")
    java.do("send-sync", topic=topic, prefix="first")
    doomed.begin("ask-request", group=fresh("askers"), topic=topic, body="from the dead", timeoutMs=LONG_MS)
    wait_until(lambda: any(body(message) == "from the dead" for message in read_all(java, topic, 2)))
    doomed.kill()
    java.do("ask-answer", name=name, group=fresh("answerers"), topic=topic)
    assert java.do("ask-request", group=fresh("askers"), topic=topic, body="alive") == "alive!"
    # Its answerer is told that the asker is gone.
    wait_until(lambda: "from the dead" in java.do("ask-failed", name=name), 30)
    java.do("ask-stop", name=name)


def test_a_killed_answerers_question_is_answered_by_its_colleague(
    java: JavaClient, doomed: JavaClient, fresh: Fresh
) -> None:
    topic, group, name, asker = fresh("questions"), fresh("answerers"), fresh("answerer"), fresh("askers")
    java.do("send-sync", topic=topic, prefix="first")
    doomed.do("ask-answer", name=fresh("silent"), group=group, topic=topic, silent="true")
    question = java.begin("ask-request", group=asker, topic=topic, body="anybody", timeoutMs=LONG_MS)
    wait_until(lambda: "anybody" in doomed.do("ask-heard"), 40)
    doomed.kill()
    java.do("ask-answer", name=name, group=group, topic=topic)
    assert java.finish(question) == "anybody!"
    java.do("ask-stop", name=name)


def test_a_late_answer_is_not_taken_for_the_next_one(java: JavaClient, fresh: Fresh) -> None:
    topic, name, asker = fresh("questions"), fresh("answerer"), fresh("askers")
    with pytest.raises(JavaError, match=r"(?i)timeout|time out"):
        java.do("ask-request", group=asker, topic=topic, body="too late", timeoutMs=1_000)
    java.do("ask-answer", name=name, group=fresh("answerers"), topic=topic)
    assert java.do("ask-request", group=asker, topic=topic, body="in time") == "in time!"
    java.do("ask-stop", name=name)
