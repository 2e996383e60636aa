"""Order over two brokers: every queue, one queue, some queues; with tags; shared by two and by four members.

Apache's OrderMsgIT, OrderMsgWithTagIT and OrderMsgRebalanceIT. Crashes are in ``test_java_order_crashes.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack

import pytest

from .java_client import JavaClient
from .orders import histories, send_to, wait_for_shares
from .pairs import ALL_QUEUES, Pair
from .received import Place, bodies, numbered
from .subscribed import subscribed

pytestmark = pytest.mark.needs_maven
Fresh = Callable[[str], str]


def texts(prefix: str, queues: Iterable[Place], count: int) -> list[str]:
    return sorted(text for broker, queue in queues for text in numbered(f"{prefix}-{broker}-{queue}", count))


@pytest.mark.parametrize(
    ("queues", "count"),
    [(ALL_QUEUES, 10), (ALL_QUEUES[:1], 20), ((*ALL_QUEUES[:2], ALL_QUEUES[-1]), 10)],
    ids=["all-queues", "one-queue", "some-queues"],
)
def test_each_queue_is_consumed_in_the_order_of_its_sends(
    pair: Pair, pair_java: JavaClient, fresh: Fresh, queues: tuple[Place, ...], count: int
) -> None:
    topic = pair.create_topic(fresh("order"))
    with subscribed(pair_java, topic, fresh, listener="orderly") as consumer:
        send_to(pair_java, topic, queues, count, "m")
        received = consumer.settled(count * len(queues))
    assert bodies(received) == texts("m", queues, count)
    assert histories(received) == {place: list(range(count)) for place in queues}


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [("*", ("red", "blue")), ("red", ("red",)), ("blue", ("blue",)), ("red||blue", ("red", "blue"))],
    ids=["all", "first-tag", "second-tag", "both-tags"],
)
def test_tags_do_not_disturb_the_order(
    pair: Pair, pair_java: JavaClient, fresh: Fresh, expression: str, wanted: tuple[str, ...]
) -> None:
    """Both tags lie in every queue, five of the one and five of the other in turn."""
    topic = pair.create_topic(fresh("order-tags"))
    with subscribed(pair_java, topic, fresh, listener="orderly", expression=expression) as consumer:
        for part in range(2):
            for tag in ("red", "blue"):
                send_to(pair_java, topic, ALL_QUEUES, 5, f"{tag}{part}", tag=tag)
        received = consumer.settled(10 * len(ALL_QUEUES) * len(wanted))
    sent = [f"{tag}{part}" for tag in wanted for part in range(2)]
    assert bodies(received) == sorted(text for prefix in sent for text in texts(prefix, ALL_QUEUES, 5))
    offsets = {"red": [*range(5), *range(10, 15)], "blue": [*range(5, 10), *range(15, 20)]}
    expected = sorted(offset for tag in wanted for offset in offsets[tag])
    assert histories(received) == dict.fromkeys(ALL_QUEUES, expected)


def test_two_groups_take_one_tag_each(pair: Pair, pair_java: JavaClient, fresh: Fresh) -> None:
    topic = pair.create_topic(fresh("order-tags"))
    with (
        subscribed(pair_java, topic, fresh, listener="orderly", expression="red") as red,
        subscribed(pair_java, topic, fresh, listener="orderly", expression="blue") as blue,
    ):
        for tag in ("red", "blue"):
            send_to(pair_java, topic, ALL_QUEUES, 10, tag, tag=tag)
        received = {"red": red.settled(80), "blue": blue.settled(80)}
    for tag, first in (("red", 0), ("blue", 10)):
        assert bodies(received[tag]) == texts(tag, ALL_QUEUES, 10)
        assert histories(received[tag]) == {place: list(range(first, first + 10)) for place in ALL_QUEUES}


@pytest.mark.parametrize("count", [2, 4])
def test_members_of_an_orderly_group_share_the_queues_evenly(
    pair: Pair, pair_java: JavaClient, fresh: Fresh, count: int
) -> None:
    topic, group = pair.create_topic(fresh("order-shared")), fresh("group")
    with ExitStack() as started:
        members = [
            started.enter_context(subscribed(pair_java, topic, fresh, group=group, listener="orderly"))
            for _ in range(count)
        ]
        wait_for_shares(pair_java, topic, members, {len(ALL_QUEUES) // count})
        before = [len(member.received()) for member in members]
        send_to(pair_java, topic, ALL_QUEUES, 20, "even")
        shares = [
            member.settled(known + 20 * len(ALL_QUEUES) // count)[known:]
            for member, known in zip(members, before, strict=True)
        ]
    assert [len(share) for share in shares] == [20 * len(ALL_QUEUES) // count] * count
    assert bodies(message for share in shares for message in share) == texts("even", ALL_QUEUES, 20)
    for share in shares:
        for offsets in histories(share).values():
            assert offsets == list(range(offsets[0], offsets[0] + 20))
