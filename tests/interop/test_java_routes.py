"""Routes of topics over two brokers: there at once, on both, and gone where a broker no longer has one.

Apache's CreateAndUpdateTopicIT.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .clusters import BROKER_NAME, chosen_targets
from .java_client import JavaClient
from .pairs import BROKER_NAMES, SECOND_NAME, Pair, routed_to, running_pair
from .received import places, wait_until
from .remoting import call, create_topic

pytestmark = pytest.mark.needs_maven
Fresh = Callable[[str], str]
DELETE_TOPIC_IN_BROKER = 215
UPDATE_NAMESRV_CONFIG = 318
REGISTRATION_S = 30
"""Brokers register from time to time whether there is news or not: every 10 s is the shortest."""


@pytest.fixture
def strict(tmp_path: Path) -> Iterator[Pair]:
    """What a registration leaves out is deleted; changes are therefore told topic by topic."""
    settings = {"enableSingleTopicRegister": "true", "registerNameServerPeriod": "10000"}
    with running_pair(chosen_targets()[0], tmp_path, settings) as pair:
        line = b"deleteTopicWithBrokerRegistration=true\n"
        assert call(pair.name_server, UPDATE_NAMESRV_CONFIG, {}, line).code == 0
        yield pair


def test_a_created_topic_is_routed_to_every_broker_at_once(
    pair: Pair, pair_java: JavaClient, fresh: Fresh
) -> None:
    for topic in [fresh("routed") for _ in range(10)]:
        pair_java.do("admin-create", topic=topic, queues=8)
        wait_until(lambda topic=topic: routed_to(pair.name_server, topic) == set(BROKER_NAMES), 3)
        queues = pair_java.do("read-queues", topic=topic)
        assert sorted(places(queues)) == [(name, queue) for name in BROKER_NAMES for queue in range(8)]


def test_a_topic_deleted_on_one_broker_is_routed_to_the_other(strict: Pair, fresh: Fresh) -> None:
    kept, deleted = strict.create_topic(fresh("kept")), strict.create_topic(fresh("deleted"))
    assert call(strict.first.broker, DELETE_TOPIC_IN_BROKER, {"topic": deleted}).code == 0
    wait_until(lambda: routed_to(strict.name_server, deleted) == {SECOND_NAME}, REGISTRATION_S)
    assert routed_to(strict.name_server, kept) == set(BROKER_NAMES)


def test_a_changed_topic_is_routed_as_it_is_now(pair: Pair, pair_java: JavaClient, fresh: Fresh) -> None:
    topic = pair.create_topic(fresh("changed"))
    create_topic(pair.first.broker, topic, queues=6)

    def queues() -> list[int]:
        found = pair_java.do("read-queues", topic=topic)
        return sorted(queue for name, queue in places(found) if name == BROKER_NAME)

    wait_until(lambda: queues() == list(range(6)), 3)
