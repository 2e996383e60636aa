"""Queries over two brokers: by id, by key, by time, at the limit, and for what is not there.

Apache's QueryMsgByIdIT, QueryMsgByIdExceptionIT and QueryMsgByKeyIT.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from .java_client import JavaClient, JavaError
from .pairs import BROKER_NAMES, Pair
from .received import Message, bodies, body, numbered, places, wait_until
from .subscribed import subscribed
from .test_java_reads import eventually

pytestmark = pytest.mark.needs_maven
Fresh = Callable[[str], str]
LIMIT = 64
"""What a broker gives at most (defaultQueryMaxNum)."""
AROUND_MS = 15_000


def now_ms() -> int:
    return int(time.time() * 1000)


def found_by_key(java: JavaClient, topic: str, key: str, count: int, **options: object) -> list[Message]:
    """All found once there are ``count``: the index follows the log by a moment."""
    found: list[Message] = []

    def are_enough() -> bool:
        found[:] = eventually(java, "read-key", topic=topic, key=key, max=1000, **options)
        return len(found) >= count

    wait_until(are_enough)
    return found


def test_what_a_consumer_got_is_found_by_its_offset_id(
    pair: Pair, pair_java: JavaClient, fresh: Fresh
) -> None:
    topic = pair.create_topic(fresh("by-id"))
    with subscribed(pair_java, topic, fresh) as consumer:
        pair_java.do("send-sync", topic=topic, count=20)
        received = consumer.settled(20)
    assert bodies(received) == numbered("body", 20)
    for message in received:
        found = pair_java.do("read-id", topic=topic, msgId=message["offsetMsgId"])
        assert (body(found), found["queueOffset"]) == (body(message), message["queueOffset"])


@pytest.mark.parametrize("message_id", ["errorMsgId", "null", "0" * 32, "7F000001" + "00002A9F" + "0" * 16])
def test_an_id_of_nothing_finds_nothing(
    pair: Pair, pair_java: JavaClient, fresh: Fresh, message_id: str
) -> None:
    topic = pair.create_topic(fresh("no-id"))
    pair_java.do("send-sync", topic=topic, count=20)
    options = {} if message_id == "null" else {"msgId": message_id}
    with pytest.raises(JavaError, match="Exception"):
        pair_java.do("read-id", topic=topic, **options)


def test_all_messages_of_a_key_are_found_on_both_brokers(
    pair: Pair, pair_java: JavaClient, fresh: Fresh
) -> None:
    topic, begin = pair.create_topic(fresh("by-key")), now_ms()
    pair_java.do("send-sync", topic=topic, count=20, key="wanted")
    pair_java.do("send-sync", topic=topic, count=20, key="other", prefix="other")
    found = found_by_key(pair_java, topic, "wanted", 20, begin=begin - AROUND_MS, end=now_ms() + AROUND_MS)
    assert bodies(found) == numbered("body", 20)
    assert {message["brokerName"] for message in found} <= {*BROKER_NAMES, None}


def test_a_broker_gives_sixty_four_at_most(pair: Pair, pair_java: JavaClient, fresh: Fresh) -> None:
    topic, begin = pair.create_topic(fresh("many")), now_ms()
    results = pair_java.do("send-async", topic=topic, count=500, key="same")
    assert {name for name, _ in places(results)} == set(BROKER_NAMES)
    found = found_by_key(
        pair_java, topic, "same", 2 * LIMIT, begin=begin - AROUND_MS, end=now_ms() + AROUND_MS
    )
    assert len(found) == 2 * LIMIT
    assert len({body(message) for message in found}) == 2 * LIMIT


def test_only_the_time_asked_for_is_searched(pair: Pair, pair_java: JavaClient, fresh: Fresh) -> None:
    topic = pair.create_topic(fresh("by-time"))
    pair_java.do("send-sync", topic=topic, count=4, key="k", prefix="early")
    time.sleep(2.5)  # the index knows seconds
    pair_java.do("send-sync", topic=topic, count=4, key="k", prefix="late")
    found = found_by_key(pair_java, topic, "k", 8)
    assert bodies(found) == sorted(numbered("early", 4) + numbered("late", 4))
    last_early = max(message["storeTimestamp"] for message in found if body(message).startswith("early"))
    first_late = min(message["storeTimestamp"] for message in found if body(message).startswith("late"))
    late = found_by_key(pair_java, topic, "k", 4, begin=first_late - 1000, end=now_ms() + AROUND_MS)
    assert bodies(late) == numbered("late", 4)
    early = found_by_key(pair_java, topic, "k", 4, begin=0, end=last_early + 1000)
    assert bodies(early) == numbered("early", 4)
    with pytest.raises(JavaError, match="no message"):
        pair_java.do("read-key", topic=topic, key="k", begin=0, end=last_early - AROUND_MS)


def test_a_key_with_the_same_hash_in_another_topic_finds_nothing(
    pair: Pair, pair_java: JavaClient, fresh: Fresh
) -> None:
    """ "AaTopic" and "BBTopic" with keys "Aa" and "BB": topic and key are told apart where hashes are not."""
    number = fresh("x")
    first, second = pair.create_topic(f"AaTopic{number}"), pair.create_topic(f"BBTopic{number}")
    pair_java.do("send-sync", topic=first, key="Aa")
    pair_java.do("send-sync", topic=second, key="BB")
    assert len(found_by_key(pair_java, first, "Aa", 1)) == 1
    assert len(found_by_key(pair_java, second, "BB", 1)) == 1
    with pytest.raises(JavaError, match="MQClientException"):
        pair_java.do("read-key", topic=first, key="BB")


def test_one_key_in_two_topics_with_the_same_hash_finds_the_right_one(
    pair: Pair, pair_java: JavaClient, fresh: Fresh
) -> None:
    number = fresh("x")
    first, second = pair.create_topic(f"AaAaTopic{number}"), pair.create_topic(f"BBBBTopic{number}")
    pair_java.do("send-sync", topic=first, key="Aa", prefix="first")
    pair_java.do("send-sync", topic=second, key="Aa", prefix="second")
    assert bodies(found_by_key(pair_java, second, "Aa", 1)) == ["second-0"]
    assert bodies(found_by_key(pair_java, first, "Aa", 1)) == ["first-0"]
