"""Batches: one after the other on a named queue, pulled from the middle; each item found, with all it has.

Apache's BatchSendIT.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .clusters import BROKER_NAME
from .java_client import JavaClient
from .pairs import SECOND_NAME, Pair
from .received import body, numbered
from .test_java_reads import eventually

pytestmark = pytest.mark.needs_maven
Fresh = Callable[[str], str]
BATCHES, ITEMS, FROM = 10, 10, 5


def hides_unique_ids(pair: Pair, java: JavaClient) -> bool:
    """Apache up to 5.3.3 appends the UNIQ_KEY of a 5.x client's batch to every item; it hides their own."""
    return java.version == "5" and pair.target != "signalbox"


def test_every_item_of_a_batch_is_found_by_both_of_its_ids(
    pair: Pair, pair_java: JavaClient, fresh: Fresh
) -> None:
    topic = pair.create_topic(fresh("batch"))
    (result,) = pair_java.do("send-batch", topic=topic, count=100)
    offset_ids, unique_ids = result["offsetMsgId"].split(","), result["msgId"].split(",")
    assert (result["status"], len(offset_ids), len(unique_ids)) == ("SEND_OK", 100, 100)
    for number in (0, 1, 50, 99):
        by_offset = eventually(pair_java, "read-id", topic=topic, msgId=offset_ids[number])
        assert body(by_offset) == f"body-{number}"
        if not hides_unique_ids(pair, pair_java):
            by_key = eventually(pair_java, "read-id", topic=topic, msgId=unique_ids[number])
            assert (body(by_key), by_key["queueOffset"]) == (f"body-{number}", by_offset["queueOffset"])


@pytest.mark.parametrize("broker", [BROKER_NAME, SECOND_NAME])
def test_batches_follow_each_other_and_are_pulled_from_the_middle(
    pair: Pair, pair_java: JavaClient, fresh: Fresh, broker: str
) -> None:
    topic = pair.create_topic(fresh("batch"))
    for batch in range(BATCHES):
        (result,) = pair_java.do(
            "send-queue", topic=topic, broker=broker, queue=2, count=ITEMS, prefix=f"b{batch}"
        )
        assert (result["status"], result["queueId"]) == ("SEND_OK", 2)
        assert result["queueOffset"] == batch * ITEMS
        assert len(result["msgId"].split(",")) == ITEMS
    total = BATCHES * ITEMS
    pulled = eventually(pair_java, "read-pull", topic=topic, broker=broker, queue=2, offset=FROM, max=total)
    # A pull may give less than it was asked for, never something in between.
    messages = pulled["messages"]
    assert (pulled["status"], pulled["min"], pulled["max"]) == ("FOUND", 0, total)
    while len(messages) < total - FROM:
        pulled = pair_java.do(
            "read-pull", topic=topic, broker=broker, queue=2, offset=pulled["next"], max=total
        )
        messages += pulled["messages"]
    expected = [text for batch in range(BATCHES) for text in numbered(f"b{batch}", ITEMS)]
    assert [message["queueOffset"] for message in messages] == list(range(FROM, total))
    assert [body(message) for message in messages] == expected[FROM:]
    assert {(message["topic"], message["queueId"]) for message in messages} == {(topic, 2)}


def test_an_item_of_a_batch_keeps_everything_that_it_has(
    pair: Pair, pair_java: JavaClient, fresh: Fresh
) -> None:
    topic = pair.create_topic(fresh("batch"))
    (result,) = pair_java.do("send-batch-full", topic=topic, key="keys123", tag="tags123")
    ids = [result["offsetMsgId"]]
    if not hides_unique_ids(pair, pair_java):
        ids.append(result["msgId"])
    for message_id in ids:
        found = eventually(pair_java, "read-id", topic=topic, msgId=message_id)
        assert (found["topic"], body(found), found["flag"]) == (topic, "body-0", 123)
        wanted = {"KEYS": "keys123", "TAGS": "tags123", "WAIT": "false", "BUYER_ID": "buyerid123"}
        assert found["properties"].items() >= wanted.items()
